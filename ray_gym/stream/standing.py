"""Where a stream stands when it is opened at a cursor: what is finished, what is half played, and what is yet to begin. Blocks."""

from __future__ import annotations

from collections.abc import Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from ray_gym.metrics.committing import RunMetrics
from ray_gym.run.commit_order import number_of as commit_of
from ray_gym.run.commits import Commits
from ray_gym.run.directory import RunDirectory
from ray_gym.run.dispatcher import Dispatcher
from ray_gym.run.fences import Fences
from ray_gym.run.storage import EPISODES, READERS
from ray_gym.run.tally import Tally
from ray_gym.spec import EpisodeSpec
from ray_gym.stream.cursor import Cursor
from ray_gym.stream.finished import Finished, groups_of
from ray_gym.stream.source import GroupSource, number_of


@dataclass(frozen=True, slots=True)
class Standing:
    commits: Commits
    files: dict[int, list[Finished]]
    """The groups that no trainer has had, by commit; also commits without one."""
    begun: set[int]
    """Half played: pending again, to go on from the journals."""

    @property
    def finished(self) -> set[int]:
        return {group.number for groups in self.files.values() for group in groups}


def standing_at(
    directory: RunDirectory, source: GroupSource, cursor: Cursor, dropped: Set[int], metrics: RunMetrics
) -> Standing:
    """Errors: OSError, UserError from the generator."""
    settled = dropped | set(cursor.beyond)
    files = {
        commit: [group for group in groups if group.number >= cursor.next and group.number not in settled]
        for commit, groups in _files_after(cursor.commit, directory).items()
    }
    over = settled | {group.number for groups in files.values() for group in groups}
    unfinished = _Unfinished(source, cursor.next, over)
    fences = Fences(directory.journal if directory.keeps_journal else None, directory.name)
    leases = fences.begun(unfinished)
    begun = sorted({number_of(episode_id) for episode_id in leases})
    specs = [spec for number in begun for spec in source.group(number)]
    tally = Tally(len(specs))
    dispatcher = Dispatcher.of(specs, leases)
    commits = Commits(directory, dispatcher, fences, tally, lambda tally, in_flight: None, metrics=metrics)
    return Standing(commits, files, set(begun))


def _files_after(commit: int, directory: RunDirectory) -> dict[int, list[Finished]]:
    storage = directory.storage
    names = {number: name for name in storage.names(EPISODES) if (number := commit_of(name) or 0) > commit}
    with ThreadPoolExecutor(READERS) as pool:
        return dict(zip(names, pool.map(lambda name: groups_of(storage, name), names.values()), strict=True))


@dataclass(frozen=True, slots=True)
class _Unfinished:
    """The episodes that may be in journals and have no row yet, made when they are asked for."""

    source: GroupSource
    first: int
    over: Set[int]

    def get(self, episode_id: str, /) -> EpisodeSpec | None:
        try:
            number = number_of(episode_id)
        except ValueError:
            return None
        if number < self.first or number in self.over:
            return None
        return next((spec for spec in self.source.group(number) if spec.episode_id == episode_id), None)
