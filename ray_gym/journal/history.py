"""Reads the records of an episode that other workers have begun to play.

A file is fenced before it is read. Fencing renames it, so that its writer can't replace it any more; the new name has
the number of bytes that count, and the number of all bytes. Bytes that a lost worker appends after that are never read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import msgspec

from ray_gym.journal.frames import NO_JOURNAL, Scan
from ray_gym.journal.records import Begun, Called, Charged, Commanded, Intended, Opened, Over, Record, Tried, decode
from ray_gym.journal.stacks import SUFFIX as STACKS

Kept = TypeVar("Kept")

SUFFIX = ".journal"
"""Suffix of a journal that its worker writes."""
COMPACTING = ".compacting"
"""Suffix of the file that a writer leaves beside its journal if it dies during a compaction."""
SCORING = "score_group"
"""Thread of the `Intended` record that precedes the scoring of a group. After the scoring, its episodes are recorded as
over again."""
_FENCED = re.compile(r"\.(\d+)(?:\.(\d+))?\.fenced$")
_NAME = re.compile(r"\d+-\d+\.(journal|fencing|compacting|\d+(\.\d+)?\.fenced)")
_BEGINNING = 64 * 2**10
"""Bytes of a file that are read to find out which run it belongs to."""


@dataclass(slots=True)
class History:
    """Holds the records of an episode's newest try: its answered calls in their order, without a gap."""

    try_: int = 0
    """Number of the try, from 0."""
    started_at: float | None = None
    """Unix time in seconds at which the try began; None if that is not recorded."""
    causes: dict[int, str] = field(default_factory=dict)
    """Reasons for which later tries were begun, by the number of the try."""
    calls: list[Called] = field(default_factory=list)
    """Answered calls, in the order of their answers."""
    intended: set[tuple[str, int]] = field(default_factory=set)
    """Effects (thread and number) that were begun; those without a call in `calls` may have been made or not."""
    commands: list[Commanded] = field(default_factory=list)
    """Commands of a session, in their order."""
    survived: set[int] = field(default_factory=set)
    """Steps of a session that were carried out without killing the worker."""
    queued_at: float | None = None
    """Unix time in seconds since which the episode has waited to begin; None if it is resumed."""


@dataclass(slots=True)
class JournaledEpisode:
    """Summarises the records of an episode in a fenced file, for the driver that leases it again."""

    attempt: int
    """Attempt of the first record of the episode in the file."""
    adopted: tuple[str, ...] | None = None
    """Fenced files from which the attempt had continued; None if the record of that is damaged."""
    calls: int = 0
    """Number of records of answered calls and of commands."""
    over: bool = False
    """True if it was played to its end, even if its group was not scored."""
    scoring: bool = False
    """True if its group was being scored."""
    charged: str | None = None
    """Reason for which its worker was ended because of it; None if it was not."""
    trying: set[int] = field(default_factory=set)
    """Steps of a session that were begun and not completed."""
    survived: set[int] = field(default_factory=set)
    """Steps of a session that were completed."""


@dataclass(slots=True)
class FencedFile:
    """Describes a journal that was taken over from its writer."""

    name: str
    """Name of the file after fencing; its only name if it is foreign."""
    episodes: dict[str, JournaledEpisode] = field(default_factory=dict)
    """Summaries of the episodes in it, by id."""
    problems: list[str] = field(default_factory=list)
    """Descriptions of damage that was found."""
    foreign: bool = False
    """True if the file is not one of this run's journals. Then it was left as it is."""


def fence(path: Path, run_id: str) -> FencedFile:
    """Takes a journal over from its writer (renames it, so that later bytes don't count), and returns a summary of it.
    A journal that is fenced already is only read; a file that is not the run's is left as it is. Damaged parts are
    reported and left out. Blocks.

    Errors: FileNotFoundError; OSError.
    """
    if foreign := why_foreign(path, run_id):
        return FencedFile(path.name, problems=[f"{path.name}: {foreign}; left as it is"], foreign=True)
    if _FENCED.search(path.name):
        scan = Scan(_counted_bytes(path))
        return _file(path.name, _summarise(_records(scan)), scan)
    stem = path.name.partition(".")[0]
    fencing = path.with_name(f"{stem}.fencing")
    if path != fencing:
        path.rename(fencing)
    scan = Scan(fencing.read_bytes())
    episodes = _summarise(_records(scan))
    name = f"{stem}.{scan.end}.{len(scan.data)}.fenced"
    fencing.rename(path.with_name(name))
    return _file(name, episodes, scan)


def _file(name: str, episodes: dict[str, JournaledEpisode], scan: Scan) -> FencedFile:
    return FencedFile(name, episodes, [f"{name}: {problem}" for problem in scan.problems])


def fence_all(folder: Path, run_id: str) -> list[FencedFile]:
    """Fences all journals in the folder of a run, and returns them, the oldest first. Deletes what unfinished
    compactions and stalled workers of the run left. Files that are not the run's are reported, and left as they are. Blocks. Errors:
    OSError.
    """
    files = []
    for path in sorted(folder.iterdir(), key=_age):
        if path.suffix == STACKS:
            path.unlink(missing_ok=True)
            continue
        if path.suffix == COMPACTING and remove_scratch(path, run_id):
            continue
        files.append(fence(path, run_id))
    return files


def remove_scratch(path: Path, run_id: str) -> bool:
    """Deletes the file that an unfinished compaction left; it may be gone already. Returns False, and leaves the file,
    if it is not the run's. Errors: OSError.
    """
    own = is_own(path, run_id)
    if own:
        path.unlink(missing_ok=True)
    return own


def is_own(path: Path, run_id: str) -> bool:
    """Says whether a file is one of the run's journals. A file that vanishes meanwhile counts as one. Errors:
    OSError.
    """
    try:
        return why_foreign(path, run_id) is None
    except FileNotFoundError:
        return True


def why_foreign(path: Path, run_id: str) -> str | None:
    """Returns the reason for which a file is not one of the run's journals; None if it is, even if it is damaged.
    Errors: FileNotFoundError; OSError.
    """
    if not _NAME.fullmatch(path.name):
        return "not a journal's name"
    if path.exists() and not path.is_file():
        return "not a file"
    with path.open("rb") as file:
        scan = Scan(file.read(_BEGINNING))
        first = next(iter(_records(scan)), None)
        if first is None:
            scan = Scan(scan.data + file.read())
            first = next(iter(_records(scan)), None)
    if first is not None and isinstance(first[1], Opened) and first[1].run_id != run_id:
        return f"of another run ({first[1].run_id})"
    return NO_JOURNAL if NO_JOURNAL in scan.problems else None


def epoch_of(name: str) -> int:
    """Returns the epoch of the driver whose worker wrote a file, from the file's name; -1 if the name is no
    journal's.
    """
    return _age(Path(name))[0]


def late_bytes(path: Path) -> int:
    """Returns the number of bytes that were written to a fenced file after it was fenced, which are never read; 0 for a
    file that is not fenced. Errors: OSError.
    """
    match = _FENCED.search(path.name)
    return max(0, path.stat().st_size - int(match[2] or match[1])) if match else 0


class HistoryReader:
    """Reads histories of episodes from fenced files, and remembers where in a file each episode's records are."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._places: dict[str, dict[str, list[tuple[int, int]]]] = {}

    def read(self, episode: str, adopted: Iterable[str]) -> History:
        """Reads an episode's history from fenced files. `adopted` has their names, the oldest first. Blocks. Errors:
        FileNotFoundError if a file is gone; OSError.
        """
        return history_of(self._records_in(name, episode) for name in adopted)

    def _records_in(self, name: str, episode: str) -> Iterable[Record]:
        places = self._places.get(name)
        if places is None:
            places = self._places[name] = _index(self._folder / name)
        with (self._folder / name).open("rb") as file:
            for offset, length in places.get(episode, ()):
                for _, record in _records(Scan(os.pread(file.fileno(), length, offset), headless=True)):
                    yield record


def history_of(files: Iterable[Iterable[Record]]) -> History:
    """Makes a history of the newest try from one episode's records. `files` has the records of each attempt, the oldest
    first.

    Each attempt continued from the records before it that had no gap, so anything after a gap is left out.
    """
    history = History()
    for records in files:
        _add_records(history, [record for record in records if not isinstance(record, Opened | Over | Charged)])
    return history


def _add_records(history: History, records: list[Begun | Called | Intended | Commanded | Tried]) -> None:
    """Adds the records of one attempt to a history, in place. A newer try replaces the records of the older one."""
    try_ = max((record.try_ for record in records), default=0)
    if try_ > history.try_:
        history.try_, history.started_at = try_, None
        history.calls, history.intended, history.commands, history.survived = [], set(), [], set()
    calls: dict[int, Called] = {}
    survived: set[int] = set()
    commands: dict[int, Commanded] = {}
    for record in records:
        if isinstance(record, Begun) and record.cause:
            history.causes[record.try_] = record.cause
        if record.try_ != history.try_:
            continue
        if isinstance(record, Begun) and history.started_at is None:
            history.started_at = record.started_at
        elif isinstance(record, Called):
            calls.setdefault(record.seq, record)
        elif isinstance(record, Commanded):
            commands.setdefault(record.index, record)
        elif isinstance(record, Intended):
            history.intended.add((record.thread, record.number))
        elif isinstance(record, Tried) and record.survived:
            survived.add(record.step)
    kept = {step for step in history.survived if step < min(commands, default=len(history.commands))}
    history.calls = _without_gap(history.calls, calls)
    history.commands = _without_gap(history.commands, commands)
    history.survived = {step for step in kept | survived if step < len(history.commands)}


def _without_gap(kept: list[Kept], newer: dict[int, Kept]) -> list[Kept]:
    """Returns the items that were `kept` before the first newer one, followed by the newer ones up to a gap. `newer`
    has them by their number.
    """
    kept = kept[: min(newer, default=len(kept))]
    while len(kept) in newer:
        kept.append(newer[len(kept)])
    return kept


def _summarise(records: Iterable[tuple[int, Record]]) -> dict[str, JournaledEpisode]:
    """Returns the summaries of a file's episodes, by id. `records` has the offset of each record, which is ignored, and
    the record.
    """
    found: dict[str, JournaledEpisode] = {}
    for _, record in records:
        if isinstance(record, Opened):
            continue
        episode = found.setdefault(record.episode, JournaledEpisode(record.attempt))
        if isinstance(record, Begun) and not record.cause:
            episode.adopted = record.adopted
        elif isinstance(record, Called | Commanded):
            episode.calls += 1
        elif isinstance(record, Intended) and record.thread == SCORING:
            episode.scoring = True
        elif isinstance(record, Over):
            episode.over, episode.scoring = True, False
            episode.trying.clear()
        elif isinstance(record, Tried):
            _note_step(episode, record)
        elif isinstance(record, Charged):
            episode.charged = record.message
    return found


def _note_step(episode: JournaledEpisode, record: Tried) -> None:
    if record.survived:
        episode.trying.discard(record.step)
        episode.survived.add(record.step)
    else:
        episode.trying.add(record.step)


def _records(scan: Scan) -> Iterable[tuple[int, Record]]:
    """Yields the offset and the record of every frame that can be decoded. Others are reported in the scan's
    `problems`.
    """
    for offset, payload in scan:
        try:
            yield offset, decode(payload)
        except msgspec.MsgspecError as error:
            scan.problems.append(f"the record at byte {offset} can't be read ({error}); left out")


def _index(path: Path) -> dict[str, list[tuple[int, int]]]:
    """Returns the offset and length of each record in a file, by episode. Errors: OSError."""
    places: dict[str, list[tuple[int, int]]] = {}
    scan = Scan(_counted_bytes(path))
    for offset, record in _records(scan):
        if not isinstance(record, Opened):
            places.setdefault(record.episode, []).append((offset, scan.end - offset))
    return places


def _counted_bytes(path: Path) -> bytes:
    """Reads the bytes of a file that count: if it is fenced, those that its name says; else all of them. Errors:
    OSError.
    """
    match = _FENCED.search(path.name)
    with path.open("rb") as file:
        return file.read(int(match[1])) if match else file.read()


def _age(path: Path) -> tuple[int, int, str]:
    """Returns a key that sorts files by age: epoch of the driver, number of the worker, name. Files with names of
    another form come first.
    """
    match = re.match(r"(\d+)-(\d+)\.", path.name)
    return (int(match[1]), int(match[2]), path.name) if match else (-1, -1, path.name)
