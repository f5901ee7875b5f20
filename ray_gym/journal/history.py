"""What journals say of an episode that somebody else began to play.

A file is fenced before it is read: renamed, so that its writer can't replace it any more, to a name that says how many of its bytes
count. What a zombie appends after that is never used, by whoever reads the file and whenever.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import msgspec

from ray_gym.journal.frames import Scan
from ray_gym.journal.records import Begun, Called, Charged, Commanded, Intended, Opened, Over, Record, decode

Kept = TypeVar("Kept")

SUFFIX = ".journal"
SCORING = "score_group"
"""What is intended before a group is scored; its episodes are over again after it."""
_FENCED = re.compile(r"\.(\d+)\.fenced$")


@dataclass(slots=True)
class History:
    """The newest try of an episode: its calls in the order of their answers, without a gap."""

    try_: int = 0
    started_at: float | None = None
    causes: dict[int, str] = field(default_factory=dict)
    """Why each try after the first was opened."""
    calls: list[Called] = field(default_factory=list)
    intended: set[tuple[str, int]] = field(default_factory=set)
    commands: list[Commanded] = field(default_factory=list)


@dataclass(slots=True)
class Found:
    """What a run wants to know of an episode in a fenced file, to lease it anew."""

    attempt: int
    adopted: tuple[str, ...] = ()
    calls: int = 0
    over: bool = False
    scoring: bool = False
    """Its group was being scored."""
    charged: str | None = None

    @property
    def got_further(self) -> bool:
        """Scoring a group is no progress: it is not recorded, and may be what the worker died of."""
        return self.calls > 0 or (self.over and not self.scoring)


@dataclass(slots=True)
class FencedFile:
    name: str
    episodes: dict[str, Found] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def fence(path: Path, run_id: str) -> FencedFile:
    """Take a journal over from its writer and look through it. What is damaged in it is reported and left out. Blocks.

    Errors: FileNotFoundError.
    """
    stem = path.name.removesuffix(SUFFIX).removesuffix(".fencing")
    fencing = path.with_name(f"{stem}.fencing")
    if path != fencing:
        path.rename(fencing)
    scan = Scan(fencing.read_bytes())
    file = FencedFile("", _summarise(_records(scan), run_id, scan.problems))
    file.name = f"{stem}.{scan.end}.fenced"
    fencing.rename(path.with_name(file.name))
    file.problems = [f"{file.name}: {problem}" for problem in scan.problems]
    return file


def fence_all(folder: Path, run_id: str) -> list[FencedFile]:
    """Every journal of a folder, by age: of a run whose driver died. Files that are none are reported, and left as they are. Blocks."""
    for scratch in folder.glob("*.compacting"):
        scratch.unlink()
    files = []
    for path in sorted(folder.iterdir(), key=_age):
        if path.name.endswith((SUFFIX, ".fencing")):
            files.append(fence(path, run_id))
        elif _FENCED.search(path.name):
            scan = Scan(_counted(path))
            episodes = _summarise(_records(scan), run_id, scan.problems)
            files.append(FencedFile(path.name, episodes, [f"{path.name}: {problem}" for problem in scan.problems]))
        else:
            files.append(FencedFile(path.name, problems=[f"{path.name}: not a journal's name; left as it is"]))
    return files


def epoch_of(name: str) -> int:
    """Which driver's worker wrote a file: writers are named epoch-number."""
    return _age(Path(name))[0]


def late_bytes(path: Path) -> int:
    """How much was written to a fenced file after it was fenced, and so refused."""
    match = _FENCED.search(path.name)
    return max(0, path.stat().st_size - int(match[1])) if match else 0


class HistoryReader:
    """Reads episodes' histories out of fenced files. Remembers where in them an episode's records are."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._places: dict[str, dict[str, list[tuple[int, int]]]] = {}

    def read(self, episode: str, adopted: Iterable[str]) -> History:
        """Blocks. Errors: OSError if a file is gone."""
        return history_of(record for name in adopted for record in self._records_in(name, episode))

    def _records_in(self, name: str, episode: str) -> Iterable[Record]:
        places = self._places.get(name)
        if places is None:
            places = self._places[name] = _index(self._folder / name)
        with (self._folder / name).open("rb") as file:
            for offset, length in places.get(episode, ()):
                for _, record in _records(Scan(os.pread(file.fileno(), length, offset), headless=True)):
                    yield record


def history_of(records: Iterable[Record]) -> History:
    """Of one episode's records, those of older attempts first."""
    mine = [record for record in records if not isinstance(record, Opened | Over | Charged)]
    history = History(try_=max((record.try_ for record in mine), default=0))
    calls: dict[int, Called] = {}
    commands: dict[int, Commanded] = {}
    for record in mine:
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
    history.calls = _without_gap(calls)
    history.commands = _without_gap(commands)
    return history


def _without_gap(numbered: dict[int, Kept]) -> list[Kept]:
    kept: list[Kept] = []
    while len(kept) in numbered:
        kept.append(numbered[len(kept)])
    return kept


def _summarise(records: Iterable[tuple[int, Record]], run_id: str, problems: list[str]) -> dict[str, Found]:
    found: dict[str, Found] = {}
    for _, record in records:
        if isinstance(record, Opened):
            if record.run_id != run_id:
                problems.append(f"of another run ({record.run_id}); left out")
                return {}
            continue
        episode = found.setdefault(record.episode, Found(record.attempt))
        if isinstance(record, Begun) and not record.cause:
            episode.adopted = record.adopted
        elif isinstance(record, Called | Commanded):
            episode.calls += 1
        elif isinstance(record, Intended) and record.thread == SCORING:
            episode.scoring = True
        elif isinstance(record, Over):
            episode.over, episode.scoring = True, False
        elif isinstance(record, Charged):
            episode.charged = record.message
    return found


def _records(scan: Scan) -> Iterable[tuple[int, Record]]:
    for offset, payload in scan:
        try:
            yield offset, decode(payload)
        except msgspec.MsgspecError as error:
            scan.problems.append(f"the record at byte {offset} can't be read ({error}); left out")


def _index(path: Path) -> dict[str, list[tuple[int, int]]]:
    places: dict[str, list[tuple[int, int]]] = {}
    scan = Scan(_counted(path))
    for offset, record in _records(scan):
        if not isinstance(record, Opened):
            places.setdefault(record.episode, []).append((offset, scan.end - offset))
    return places


def _counted(path: Path) -> bytes:
    """The bytes of a fenced file that count."""
    match = _FENCED.search(path.name)
    with path.open("rb") as file:
        return file.read(int(match[1])) if match else file.read()


def _age(path: Path) -> tuple[int, int, str]:
    """Writers are named epoch-number: those of a later driver are newer."""
    match = re.match(r"(\d+)-(\d+)\.", path.name)
    return (int(match[1]), int(match[2]), path.name) if match else (-1, -1, path.name)
