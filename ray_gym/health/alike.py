"""Finds groups whose episodes are all the same, and tasks that are there several times under other ids."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from ray_gym.health.batch import Batch, numbers
from ray_gym.health.tally import EXAMPLES, Tally

FEWEST_TOKENS = 8
"""Generated tokens of an episode below which it is likely that others of its group are the same by chance."""
COPIES_OF_DRAWN = 0.95
"""Share of copies among tasks that a generator drew from which on it hardly uses its random numbers. Below, copies are
what chance gives where there are few tasks to draw, and intervals are right about them."""


@dataclass(slots=True)
class _Group:
    """Holds what is known of a group: its episodes, and whether all have generated the same tokens."""

    first: str
    signature: int
    episodes: int = 1
    are_alike: bool = True


@dataclass(slots=True)
class Alike:
    """Collects groups and tasks over the batches of a run."""

    groups: dict[str, _Group] = field(default_factory=dict)
    tasks: dict[int, dict[str, str]] = field(default_factory=dict)
    """First episode of each task id, by the digest of the task's content."""
    episodes: set[int] = field(default_factory=set)
    """Digests of the ids of all episodes."""
    twice: list[str] = field(default_factory=list)
    """Ids of episodes that are there again."""

    def look(self, batch: Batch) -> None:
        """Takes the groups and the tasks of a batch."""
        self._take_groups(batch)
        for name in batch.texts("episode_id"):
            digest = xxhash.xxh3_64_intdigest((name or "").encode())
            if digest in self.episodes:
                self.twice.append(name)
            self.episodes.add(digest)
        columns = (batch.texts(name) for name in ("task", "task_id", "episode_id"))
        for task, task_id, episode in zip(*columns, strict=True):
            if task and task_id:
                self.tasks.setdefault(xxhash.xxh3_64_intdigest(task.encode()), {}).setdefault(task_id, episode)

    def tell(self, tally: Tally, are_drawn: bool) -> None:
        """Counts the groups that are alike, and the tasks whose content another task has. What is counted is groups, and
        tasks. `are_drawn`: True for tasks that a generator drew at random.
        """
        several = [group for group in self.groups.values() if group.episodes > 1]
        tally.add("group_alike", (group.first for group in several if group.are_alike), len(several))
        tally.add("episode_twice", self.twice, len(self.episodes) + len(self.twice))
        copies = [episode for of_content in self.tasks.values() for episode in list(of_content.values())[1:]]
        of = sum(map(len, self.tasks.values()))
        if not are_drawn or len(copies) >= COPIES_OF_DRAWN * of:
            tally.add("task_twice", copies[:EXAMPLES], 0)
            tally.found["task_twice", ""] = len(copies)
            tally.of["task_twice", ""] = of

    def _take_groups(self, batch: Batch) -> None:
        ids, groups = batch.texts("episode_id"), batch.texts("group_id")
        for row, signature in _signatures(batch).items():
            group = groups[row]
            if group is None or not batch.completed[row]:
                continue
            known = self.groups.get(group)
            if known is None:
                self.groups[group] = _Group(ids[row], signature)
            else:
                known.episodes += 1
                known.are_alike = known.are_alike and known.signature == signature


def _signatures(batch: Batch) -> dict[int, int]:
    """Returns a digest of what was generated in each episode, by its row; only those of at least FEWEST_TOKENS tokens. Of
    an episode without token ids it is that of the messages. A scripted model counts no tokens.
    """
    found = _signatures_of_samples(batch)
    generated = pc.struct_field(batch.table.column("usage").combine_chunks(), "generated_tokens").to_pylist()
    without = [row for row, tokens in enumerate(generated) if (tokens or 0) >= FEWEST_TOKENS and row not in found]
    places = np.flatnonzero(batch.messages & np.isin(batch.event_rows, without))
    texts, calls = (pc.take(column, pa.array(places)).to_pylist() for column in (batch.said, batch.event("tool_calls")))
    for row, text, called in zip(batch.event_rows[places].tolist(), texts, calls, strict=True):
        said = repr((text, [(call["name"], call["arguments"]) for call in called or ()])).encode()
        found[row] = xxhash.xxh3_64_intdigest(said, seed=found.get(row, 0))
    return found


def _signatures_of_samples(batch: Batch) -> dict[int, int]:
    masks, ids = batch.sample("loss_mask"), batch.sample("token_ids")
    drawn = np.asarray(masks.flatten().to_numpy(zero_copy_only=False)) == 1
    tokens = numbers(ids.flatten())
    of_tokens = batch.sample_rows[numbers(pc.list_parent_indices(ids))]
    kept, owners = tokens[drawn].astype(np.int32), of_tokens[drawn]
    found = {}
    bounds = [*np.flatnonzero(np.diff(owners, prepend=-1)).tolist(), len(owners)]
    for start, end in pairwise(bounds):
        if end - start >= FEWEST_TOKENS:
            found[int(owners[start])] = xxhash.xxh3_64_intdigest(kept[start:end].tobytes())
    return found
