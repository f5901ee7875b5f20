"""Reads finished groups from committed files, for a trainer."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from statistics import fmean
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow.fs import LocalFileSystem

from ray_gym.advantages import Baseline, Forks, group_normalised, sample_advantages
from ray_gym.models.versions import Versions
from ray_gym.run.directory.commit_order import number_of as commit_of
from ray_gym.run.directory.parquet import open_rows
from ray_gym.run.directory.reading import flat_samples
from ray_gym.run.directory.storage import EPISODES, Storage
from ray_gym.stream.source import number_of
from ray_gym.stream.tensors import Tensors, tensors_of
from ray_gym.stream.withholding import withhold

_SAMPLES = "samples.list.element"
_COLUMNS = [
    "group_id",
    "task_id",
    "status",
    "failure",
    "rewards",
    f"{_SAMPLES}.trainable",
    f"{_SAMPLES}.participant",
    f"{_SAMPLES}.model",
    f"{_SAMPLES}.versions.list.element.version",
]


@dataclass(frozen=True, slots=True)
class FinishedGroup:
    """Describes a group whose episodes are all over, and says where its rows are."""

    number: int
    """Number of the group in its stream, from 0."""
    group_id: str
    task_id: str
    commit: int
    """Number of the commit of the file, from 1."""
    file: str
    """Name of the committed file with the group's rows."""
    start: int
    """Number of the file's rows before those of the group."""
    rows: int
    """Number of the group's rows, one for each episode."""
    completed: int
    """Number of the completed episodes."""
    version: int | None
    """Oldest version of the weights that a trainable token of a completed episode came from; None without such tokens.
    """
    trainable: int = 0
    """Number of the trainable samples."""
    has_spread: bool = True
    """False if each trained participant has the same reward in all completed episodes; then no advantage is left."""
    mean_reward: float | None = None
    """Mean reward of the policy in the completed episodes; None without any."""
    failure: str | None = None
    """Commonest failure of its episodes; None if none has failed."""
    versions: Mapping[str, int] = field(default_factory=dict)
    """Oldest version of each model that such a token came from, by the model's name; empty without such tokens."""
    newest: Mapping[str, int] = field(default_factory=dict)
    """Newest version of each model that such a token came from."""


def groups_of(storage: Storage, file: str) -> list[FinishedGroup]:
    """Reads which groups a committed file has, and returns them in the order of their rows. Blocks.

    Errors: OSError; ValueError for a file that does not belong to a stream.
    """
    commit = commit_of(file)
    if commit is None:
        raise ValueError(f"{file} is no file of a stream's")
    with storage.open_committed(file) as opened:
        rows: list[dict[str, Any]] = opened.table(_COLUMNS).to_pylist()
    found, start = [], 0
    for group_id, members in groupby(rows, key=lambda row: str(row["group_id"])):
        group = list(members)
        usable = [row for row in group if row["status"] == "completed"]
        versions, newest = _versions(usable, min), _versions(usable, max)
        trained = [sample["participant"] for row in usable for sample in row["samples"] if sample["trainable"]]
        rewards = {name: _rewards(usable, name) for name in {*trained, "policy"}}
        found.append(
            FinishedGroup(
                number=number_of(group_id),
                group_id=group_id,
                task_id=group[0]["task_id"],
                commit=commit,
                file=file,
                start=start,
                rows=len(group),
                completed=len(usable),
                version=min(versions.values(), default=None),
                versions=versions,
                newest=newest,
                trainable=len(trained),
                has_spread=any(len(set(rewards[name])) > 1 for name in trained or ["policy"]),
                mean_reward=fmean(rewards["policy"]) if rewards["policy"] else None,
                failure=_commonest_failure(group),
            )
        )
        start += len(group)
    return found


def _versions(rows: Sequence[dict[str, Any]], choose: Callable[[int, int], int]) -> dict[str, int]:
    """Returns the version of each model that the trainable tokens of episodes came from, by its name: the oldest (`min`)
    or the newest (`max`).
    """
    found: dict[str, int] = {}
    for sample in (sample for row in rows for sample in row["samples"] if sample["trainable"]):
        for span in sample["versions"]:
            found[sample["model"]] = choose(span["version"], found.get(sample["model"], span["version"]))
    return found


def _rewards(rows: Sequence[dict[str, Any]], participant: str) -> list[float]:
    """Returns a participant's rewards in the episodes in which it has one."""
    found = ((one["participant"], one["name"], one["value"]) for row in rows for one in row["rewards"])
    return [value for of, name, value in found if (of, name) == (participant, "reward")]


def _commonest_failure(rows: Sequence[dict[str, Any]]) -> str | None:
    """Returns the commonest failure of the episodes that have no reward for it; None if there is none."""
    failures = [row["failure"] for row in rows if row["status"] != "completed" and row["failure"]]
    told = Counter("{kind} in {where}: {message}".format_map(failure) for failure in failures)
    return told.most_common(1)[0][0] if told else None


FILES_KEPT = 2
"""Number of files whose rows a reader keeps in memory, since the groups of one file come one after another."""


@dataclass(frozen=True, slots=True)
class Group:
    """A group holds the episodes of one task, all of which are over."""

    number: int
    """Number of the group in its stream, from 0."""
    group_id: str
    """Id of the group, as in its rows."""
    task_id: str
    """Id of the task that all episodes of the group play."""
    version: int | None
    """Oldest version of the weights that a trainable token of a completed episode came from; None without such tokens.
    """
    episodes: pa.Table
    """Table with one row per episode (`ray_gym.record.schema.SCHEMA`), failed episodes included."""

    oldest_kept: Versions | None = None
    """Oldest version of each model whose tokens train; older ones are withheld (`stale="withhold"`). None: all do."""
    source: str | None = None
    """Name (`run.name`) of the source that the group comes from, in a mixture; None in a stream by itself."""
    parts: tuple[Group, ...] = ()
    """Groups that were joined to this one (`joined`); empty for a group of a stream."""

    @staticmethod
    def joined(groups: Sequence[Group]) -> Group:
        """Returns the rows of several groups as one, whose advantages and withheld tokens are still those of each group
        by itself.

        Number, ids and source are those of the first, the version is the oldest. Groups of different sources may have
        the same ids. Errors: ValueError without groups.
        """
        if not groups:
            raise ValueError("no groups to join")
        first, versions = groups[0], [group.version for group in groups if group.version is not None]
        episodes = pa.concat_tables([group.episodes for group in groups])
        oldest, parts = min(versions, default=None), [part for group in groups for part in group.parts or (group,)]
        return Group(
            first.number, first.group_id, first.task_id, oldest, episodes, source=first.source, parts=tuple(parts)
        )

    @property
    def samples(self) -> pa.Table:
        """Returns a table with one row per token sequence of the completed episodes.

        It has the columns of `ray_gym.load(...).samples`, and `withheld_tokens`, the number of the generated tokens
        that are too old to train. These have a loss mask of 0 here, and keep the recorded one in `episodes`.
        """
        if self.parts:
            return pa.concat_tables([part.samples for part in self.parts])
        completed = pc.equal(self.episodes.column("status"), "completed")
        everything = pc.all(completed).as_py()  # then no rows are copied
        samples = flat_samples(self.episodes if everything else self.episodes.filter(completed))
        return withhold(samples, self.oldest_kept)

    def advantages(self, baseline: Baseline = group_normalised, forks: Forks = "copied") -> NDArray[np.float64]:
        """Returns the advantage of each row of `samples`: float64 [rows] (`ray_gym.advantages.sample_advantages`)."""
        if self.parts:
            return np.concatenate([part.advantages(baseline, forks) for part in self.parts])
        return sample_advantages(self.episodes, self.samples, baseline, forks)

    def tensors(
        self,
        baseline: Baseline = group_normalised,
        forks: Forks = "copied",
        *,
        pad: int | None = 0,
        multiple_of: int = 1,
        device: Any = None,
    ) -> Tensors:
        """Returns the trainable samples as torch tensors, with their advantages; see `ray_gym.stream.tensors`.

        `pad`: token id of padding on the right; None packs the samples into one row. Errors: UserError if no sample is
        trainable, or torch is not installed.
        """
        advantages = self.advantages(baseline, forks)
        return tensors_of(self.samples, advantages, pad=pad, multiple_of=multiple_of, device=device)


def oldest_version(episodes: pa.Table) -> int | None:
    """Returns the oldest version of the weights that a trainable token of a completed episode came from; None without
    such tokens.
    """
    rows = episodes.select(["status", "samples"]).to_pylist()
    return min(_versions([row for row in rows if row["status"] == "completed"], min).values(), default=None)


class GroupReader:
    """Reads groups from committed files, and keeps the rows of the last few files. Blocks."""

    def __init__(self, storage: Storage) -> None:
        """Takes the storage of the stream's run directory. Local files are mapped into memory."""
        self._storage = storage
        is_local = isinstance(storage.filesystem, LocalFileSystem)
        self._filesystem = LocalFileSystem(use_mmap=True) if is_local else storage.filesystem
        self._tables: OrderedDict[str, pa.Table] = OrderedDict()

    def read_group(self, found: FinishedGroup) -> Group:
        """Reads the rows of a group, as a view of the rows of its file. Errors: OSError."""
        rows = self._table(found.file).slice(found.start, found.rows)
        return Group(found.number, found.group_id, found.task_id, found.version, rows)

    def _table(self, name: str) -> pa.Table:
        if name not in self._tables:
            with open_rows(self._filesystem, self._storage.at(f"{EPISODES}/{name}")) as file:
                self._tables[name] = file.table()
            while len(self._tables) > FILES_KEPT:
                self._tables.popitem(last=False)
        return self._tables[name]
