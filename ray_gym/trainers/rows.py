"""Makes rows of groups: the token sequences that a trainer may train on, each with its advantage.

A row is a trainable sample of a completed episode that has at least one generated token. Bridges turn rows into the
types of their trainers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ray_gym.advantages import Baseline, Forks, group_normalised
from ray_gym.stream import Group


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """A row is a token sequence that a trainer may train on. Its arrays have one entry a token."""

    group: int
    """Number of the group in its stream."""
    episode_id: str
    participant: str
    fork: int
    """Number of the row among those of its participant in the episode, from 0. Rows from 1 on are forks, or further
    threads."""
    fork_reason: str | None
    token_ids: NDArray[np.int64]
    loss_mask: NDArray[np.int64]
    """1 for generated tokens, 0 for others."""
    logprobs: NDArray[np.float32]
    """Recorded logprobs of generated tokens, 0 for others."""
    versions: NDArray[np.int64]
    """Version of the weights that each generated token came from, -1 for others."""
    reward: float | None
    advantage: float

    @property
    def begins_at(self) -> int:
        """Returns the number of tokens before the first generated one."""
        return int(self.loss_mask.argmax())

    @property
    def generated(self) -> int:
        """Returns the number of generated tokens."""
        return int(self.loss_mask.sum())

    @property
    def version(self) -> int:
        """Returns the oldest version of the weights that a generated token came from."""
        return int(self.versions[self.loss_mask == 1].min())


def rows_of(group: Group, baseline: Baseline = group_normalised, forks: Forks = "copied") -> list[Row]:
    """Returns the rows of a group, in the order of its samples. `baseline` and `forks` are those of
    `Group.advantages`.
    """
    rows, seen = list[Row](), Counter[tuple[str, str]]()
    for sample, advantage in zip(group.samples.to_pylist(), group.advantages(baseline, forks), strict=True):
        if not sample["trainable"] or 1 not in sample["loss_mask"]:
            continue
        of = (sample["episode_id"], sample["participant"])
        rows.append(_row(group.number, sample, seen[of], float(advantage)))
        seen[of] += 1
    return rows


def _row(group: int, sample: dict[str, Any], fork: int, advantage: float) -> Row:
    versions: NDArray[np.int64] = np.full(len(sample["token_ids"]), -1, np.int64)
    for span in sample["versions"]:
        versions[span["start"] : span["end"]] = span["version"]
    loss_mask = np.array(sample["loss_mask"], np.int64)
    versions[loss_mask == 0] = -1
    return Row(
        group=group,
        episode_id=sample["episode_id"],
        participant=sample["participant"],
        fork=fork,
        fork_reason=sample["fork_reason"],
        token_ids=np.array(sample["token_ids"], np.int64),
        loss_mask=loss_mask,
        logprobs=np.array(sample["logprobs"], np.float32),
        versions=versions,
        reward=sample["reward"],
        advantage=advantage,
    )


def without_longer(rows: Iterable[Row], longest: int | None) -> tuple[list[Row], int]:
    """Leaves out rows of more than `longest` tokens (None: no limit), and returns the others with the number of those
    left out. No row is ever cut.
    """
    given = list(rows)
    kept = [row for row in given if longest is None or len(row.token_ids) <= longest]
    return kept, len(given) - len(kept)


def why_nothing_trains(groups: Sequence[Group]) -> str:
    """Describes groups without a row: how many episodes failed, by what mostly, how many had no trainable token, and how
    many had some in samples that are longer than the trainer takes.
    """
    columns = ["episode_id", "status", "failure"]
    episodes = [row for group in groups for row in group.episodes.select(columns).to_pylist()]
    trainable = {
        sample["episode_id"]
        for group in groups
        for sample in group.samples.select(["episode_id", "trainable"]).to_pylist()
        if sample["trainable"]
    }
    failed = [row for row in episodes if row["status"] == "failed"]
    completed = [row for row in episodes if row["status"] == "completed"]
    said = f"{len(failed)} of {len(episodes)} episodes failed"
    causes = Counter(f"{row['failure']['where']}: {row['failure']['message']}" for row in failed if row["failure"])
    if causes:
        [(cause, count)] = causes.most_common(1)
        said += f" ({count} times: {cause[:300]})"
    too_long = sum(row["episode_id"] in trainable for row in completed)
    if too_long:
        said += f"; {too_long} were completed with samples that are longer than the trainer takes"
    if silent := len(completed) - too_long:
        said += f"; {silent} were completed without a trainable token (models that give no token ids have none)"
    return said
