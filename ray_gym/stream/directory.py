"""Makes a stream's run directory, or opens it again at a cursor. Blocks.

The file `stream.json` in it holds the stream's id, a digest of its tasks, and the number of the first group whose files
were not removed.
"""

from __future__ import annotations

import json
import secrets
import shutil
import time
from collections.abc import Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from ray_gym.config.sections import RunConfig
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.errors import UserError
from ray_gym.metrics.committing import RunMetrics
from ray_gym.run.directory.commit_order import number_of as commit_of
from ray_gym.run.directory.directory import CONFIG, STREAM, RunDirectory, create, output_root, plan_directory, reopen
from ray_gym.run.directory.location import child_of, storage_at
from ray_gym.run.directory.ownership import RunIsTaken
from ray_gym.run.directory.posix_storage import PosixStorage
from ray_gym.run.directory.storage import EPISODES, Storage
from ray_gym.run.driver.commits import Commits
from ray_gym.run.driver.dispatcher import Dispatcher
from ray_gym.run.driver.fences import Fences
from ray_gym.run.driver.tally import Tally
from ray_gym.run.resume import MAY_CHANGE, meaning_diff
from ray_gym.stream.cursor import Cursor
from ray_gym.stream.group import FinishedGroup, groups_of
from ray_gym.stream.outbox import DroppedGroups
from ray_gym.stream.source import GroupSource, number_of


@dataclass(frozen=True, slots=True)
class StreamState:
    """Describes the state of a stream in which a host resumes it."""

    commits: Commits
    """Commits of the stream's run, with the unfinished episodes as pending."""
    files: dict[int, list[FinishedGroup]]
    """Finished groups that are not settled yet, by the number of their commit; some commits have none."""
    begun: set[int]
    """Numbers of the groups that are partly played. Their episodes are resumed from the journals."""

    @property
    def finished(self) -> set[int]:
        """Returns the numbers of the finished groups that are not settled yet."""
        return {group.number for groups in self.files.values() for group in groups}


def read_state(
    directory: RunDirectory, source: GroupSource, cursor: Cursor, dropped: Set[int], metrics: RunMetrics
) -> StreamState:
    """Reads the state of a stream at a cursor from its files and journals, which it takes over from an earlier host.

    `dropped`: numbers of the dropped groups. Errors: OSError; UserError for a generator that fails.
    """
    settled = dropped | set(cursor.beyond)
    files = {
        commit: [group for group in groups if group.number >= cursor.next and group.number not in settled]
        for commit, groups in _files_after(cursor.commit, directory).items()
    }
    over = settled | {group.number for groups in files.values() for group in groups}
    unfinished = _Unfinished(source, cursor.next, over)
    fences = Fences(directory.journal if directory.keeps_journal else None, directory.name)
    leases = fences.take_over(unfinished)
    begun = sorted({number_of(episode_id) for episode_id in leases})
    specs = [spec for number in begun for spec in source.make_group(number)]
    tally = Tally(len(specs))
    dispatcher = Dispatcher.of(specs, leases)
    commits = Commits(directory, dispatcher, fences, tally, lambda tally, in_flight: None, metrics=metrics)
    return StreamState(commits, files, set(begun))


def _files_after(commit: int, directory: RunDirectory) -> dict[int, list[FinishedGroup]]:
    """Reads the groups of all files after a commit, by the number of their commit. Errors: OSError."""
    storage = directory.storage
    names = {number: name for name in storage.names(EPISODES) if (number := commit_of(name) or 0) > commit}
    with ThreadPoolExecutor(storage.readers) as pool:
        return dict(zip(names, pool.map(lambda name: groups_of(storage, name), names.values()), strict=True))


@dataclass(frozen=True, slots=True)
class _Unfinished:
    """Maps the ids of episodes that may be unfinished to their specs, which are made on demand."""

    source: GroupSource
    first: int
    """Number of the first group that may be unfinished."""
    over: Set[int]
    """Numbers of the groups from `first` on that are finished or settled."""

    def get(self, episode_id: str, /) -> EpisodeSpec | None:
        """Returns the spec of an episode; None if it is over, or not of this stream.

        Errors: UserError for a generator that fails.
        """
        try:
            number = number_of(episode_id)
        except ValueError:
            return None
        if number < self.first or number in self.over:
            return None
        return next((spec for spec in self.source.make_group(number) if spec.episode_id == episode_id), None)


MAY_CHANGE_TOO = (
    *(key for key in MAY_CHANGE if key != "tasks.path"),
    "models.*.model",
    "models.*.weights_version",
    "models.*.adapter",
)
"""Keys of the config that may change when a stream is resumed. Weights are among them, since training changes them."""
TAKEOVER_S = 20.0
"""Seconds that the host of a killed trainer may take to end."""
_EMPTY = {".lock", ".staging", "epoch", EPISODES, "journal", STREAM}
"""Names in a directory whose maker was killed before it had written the config."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Identifies a stream. It is the content of `stream.json`."""

    id: str
    """Random id: 16 hexadecimal digits."""
    tasks: str
    """Digest of the tasks that are played (see `digest_of`)."""
    next: int = 0
    """Number of the first group whose files were not removed."""

    def write(self, storage: Storage) -> None:
        """Writes `stream.json`. Errors: OSError."""
        storage.write(STREAM, json.dumps(asdict(self), indent=2).encode())


def open_directory(config: RunConfig, tasks: str, saved: Cursor | None) -> tuple[RunDirectory, Identity, Cursor]:
    """Opens the directory of a stream, or makes it. Returns it, the stream's identity and the cursor to resume from.

    `tasks` is the digest of the tasks, and `saved` the trainer's cursor, None to begin. Errors: UserError for a cursor
    that is no place in this stream, and for a stream that plays something else; RunFailed, OSError.
    """
    storage = storage_at(child_of(output_root(config), str(config.run.name)))
    _remove_half_made(storage)
    if storage.exists():
        return _open_existing(storage, config, tasks, saved)
    if saved is not None:
        raise UserError(
            f"cursor: it was saved with a stream that is not at {storage.location}; look at output.dir and run.name, or begin with None"
        )
    directory = plan_directory(config, Path(str(config.run.name)))
    create(directory)
    identity = Identity(secrets.token_hex(8), tasks)
    identity.write(directory.storage)
    directory.write_config(config)
    return directory, identity, Cursor(stream=identity.id)


def _open_existing(
    storage: Storage, config: RunConfig, tasks: str, saved: Cursor | None
) -> tuple[RunDirectory, Identity, Cursor]:
    """Opens the directory of a stream that was played before.

    Returns it, the stream's identity and the cursor. Errors: UserError if something else is there, if the stream plays
    something else, if another host plays it, or if the cursor is no place in it; RunFailed, OSError.
    """
    where = storage.location
    if not (storage.exists(CONFIG) and storage.exists(STREAM)):
        raise UserError(f"run.name: there is something at {where} already that is no stream; choose another name")
    directory = _claim(where, config)
    try:
        identity = Identity(**json.loads(storage.read(STREAM)))
        if differences := meaning_diff(directory.read_config(), config, MAY_CHANGE_TOO):
            listed = "\n".join(f"  {line}" for line in differences)
            raise UserError(
                f"the stream {where} plays something else (stream -> config):\n{listed}\n"
                f"only fan-out, limits of time and weights may change ({', '.join(MAY_CHANGE_TOO)}); choose another run.name for the rest"
            )
        if identity.tasks != tasks:
            raise UserError(f"tasks: the stream {where} began with others; put those back, or choose another run.name")
        cursor = saved or Cursor(stream=identity.id)
        _check_cursor(cursor, identity, directory, saved is None)
        return directory, identity, cursor
    except BaseException:
        directory.close()
        raise


def _claim(location: str, config: RunConfig) -> RunDirectory:
    """Opens a run directory. Waits up to TAKEOVER_S seconds for an earlier host to release it.

    Errors: UserError, such as RunIsTaken if it is not released in time.
    """
    deadline = time.monotonic() + TAKEOVER_S
    while True:
        try:
            return reopen(location, config.output)
        except RunIsTaken:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def _check_cursor(cursor: Cursor, identity: Identity, directory: RunDirectory, from_the_start: bool) -> None:
    """Checks that a cursor is a place in the stream of this directory.

    `from_the_start`: True if the trainer gave no cursor. Errors: UserError for another stream's cursor, one that is
    ahead of the files, or one that needs removed files.
    """
    where = directory.location
    if cursor.stream != identity.id:
        raise UserError(
            f"cursor.stream: {cursor.stream!r}, but the stream {where} is {identity.id!r}: it is another's cursor"
        )
    if cursor.commit > directory.order.last:
        raise UserError(
            f"cursor.commit: {cursor.commit}, but {where} has {directory.order.last} commits: the cursor is ahead of what is there; "
            "was an older copy of the directory put back?"
        )
    if cursor.next < identity.next:
        asked = "None" if from_the_start else f"next {cursor.next}"
        raise UserError(
            f"cursor: {asked}, but files of groups before {identity.next} were removed from {where}; give a later cursor"
        )


def _remove_half_made(storage: Storage) -> None:
    """Deletes a local directory whose maker was killed before it had written the config. Errors: OSError."""
    if not isinstance(storage, PosixStorage) or not storage.exists() or storage.exists(CONFIG):
        return
    there = {path.name for path in storage.path.iterdir()}
    if there <= _EMPTY and not storage.names(EPISODES):
        shutil.rmtree(storage.path)


def remove_before(
    cursor: Cursor, identity: Identity, directory: RunDirectory, dropped: DroppedGroups
) -> tuple[Identity, int]:
    """Deletes the files whose groups are all settled at a cursor.

    Returns the new identity and the number of deleted files. `stream.json` is written first. The records of dropped
    groups before the cursor are deleted too. The newest file stays, since the number of the next commit comes from it.
    A cursor from before an earlier removal deletes nothing. Errors: UserError for another stream's cursor; OSError.
    """
    if cursor.stream != identity.id:
        raise UserError(f"cursor.stream: {cursor.stream!r}, but this stream is {identity.id!r}")
    if cursor.next < identity.next:
        return identity, 0
    storage, newest = directory.storage, directory.order.last
    identity = replace(identity, next=cursor.next)
    identity.write(storage)  # first, so that an older cursor is refused from now on
    old = [name for name in storage.names(EPISODES) if (commit_of(name) or newest) <= min(cursor.commit, newest - 1)]
    for name in old:
        storage.delete(f"{EPISODES}/{name}")
    dropped.forget(number for number in dropped.numbers() if number < cursor.next)
    return identity, len(old)
