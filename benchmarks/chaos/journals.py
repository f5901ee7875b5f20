"""What a run's journals hold at a moment, read from outside while it goes on; and what zombies still wrote to theirs."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.chaos.players import NONCE
from ray_gym.journal.frames import Scan
from ray_gym.journal.history import late_bytes
from ray_gym.journal.records import Called, decode
from ray_gym.models import stored as answers
from ray_gym.models.base import Completion
from ray_gym.run.directory.commit_order import staged_name
from ray_gym.run.directory.storage import EPISODES, STAGING

_FENCED = re.compile(r"^(\d+-\d+)\.(\d+)\.(\d+)\.fenced$")


@dataclass(frozen=True, slots=True)
class Recorded:
    """An answer that is in a journal."""

    episode: str
    try_: int
    attempt: int
    thread: str
    number: int
    completion: Completion

    @property
    def nonces(self) -> list[str]:
        return NONCE.findall(self.completion.message.content)


def recorded_in(folder: Path) -> list[Recorded]:
    """All answers that count, of all files that are there now."""
    while True:
        try:
            return [record for path in sorted(folder.iterdir()) for record in _records_of(path)]
        except FileNotFoundError:  # renamed meanwhile: what it holds is in the file of the new name
            continue


def _records_of(path: Path) -> Iterator[Recorded]:
    """Errors: FileNotFoundError, also if the file was fenced while it was read: it may then hold more than counts."""
    if path.suffix not in (".journal", ".fencing", ".fenced"):
        return
    data = path.read_bytes()
    path.stat()
    match = _FENCED.match(path.name)
    for _, payload in Scan(data[: int(match[2])] if match else data):
        record = decode(payload)
        if isinstance(record, Called) and not record.thread.startswith("effect "):
            completion = answers.restore(record.answer)
            yield Recorded(record.episode, record.try_, record.attempt, record.thread, record.number, completion)


@dataclass(slots=True)
class Zombies:
    """Looks at fenced journals again and again: they are removed once nobody needs them."""

    run: Path
    journal: Path
    late: dict[str, int] = field(default_factory=dict)
    """By file: bytes that were written after it was fenced."""
    staged: set[str] = field(default_factory=set)
    """Files of rows that workers staged whose journals are fenced, and that were not committed."""
    adopted: list[Recorded] = field(default_factory=list)
    """What was in the journals when they were fenced: what later attempts are answered from."""
    _fenced: dict[str, int] = field(default_factory=dict)
    _before: dict[str, set[str]] = field(default_factory=dict)

    def look(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            for path in self.journal.iterdir():
                match = _FENCED.match(path.name)
                if match is None:
                    continue
                with contextlib.suppress(FileNotFoundError):
                    if path.name not in self._fenced:
                        self.adopted += _records_of(path)
                        self._fenced[path.name] = int(match[2])
                    if late := late_bytes(path):
                        self.late[path.name] = max(late, self.late.get(path.name, 0))
        self._look_at_staged()

    @property
    def fenced_workers(self) -> set[str]:
        return {name.partition(".")[0] for name in self._fenced}

    def _look_at_staged(self) -> None:
        fenced = self.fenced_workers
        for folder, _, names in os.walk(self.run / STAGING):
            for name in names:
                worker = "-".join(name.removeprefix("part-").split("-")[:2])
                if name.startswith("part-") and worker in fenced and (Path(folder) / name).exists():
                    self.staged.add(name)

    @property
    def was_refused(self) -> bool:
        return bool(self.late) or self.refused_files() > 0

    def refused_files(self) -> int:
        """Of the staged ones, those that are no part of the run."""
        return len(self.staged - {staged_name(path.name) for path in (self.run / EPISODES).glob("*.parquet")})
