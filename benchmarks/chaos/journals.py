"""Reads the journals of a run while it is played, and finds what zombies (fenced workers that live on) wrote."""

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
from ray_gym.run.directory.commit_order import name_when_staged
from ray_gym.run.directory.storage import EPISODES, STAGING

_FENCED = re.compile(r"^(\d+-\d+)\.(\d+)\.(\d+)\.fenced$")


@dataclass(frozen=True, slots=True)
class Recorded:
    """Holds a model's answer in a journal, and the call that it belongs to."""

    episode: str
    try_: int
    attempt: int
    thread: str
    number: int
    completion: Completion

    @property
    def nonces(self) -> list[str]:
        return NONCE.findall(self.completion.message.content)


def read_answers(folder: Path) -> list[Recorded]:
    """Reads the models' answers in all journals that are there now, up to the fence if a journal has one."""
    while True:
        try:
            return [record for path in sorted(folder.iterdir()) for record in _records_of(path)]
        except FileNotFoundError:  # renamed meanwhile: its records are in the file of the new name
            continue


def _records_of(path: Path) -> Iterator[Recorded]:
    """Yields the models' answers in a journal, up to its fence; none for a file that is no journal.

    Errors: FileNotFoundError if it is gone, or was fenced meanwhile.
    """
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
    """Remembers the content of fenced journals. `look` is called often, since a run removes journals that it does not
    need any more.
    """

    run: Path
    journal: Path
    late: dict[str, int] = field(default_factory=dict)
    """Number of bytes that were written to each file after it was fenced."""
    staged: set[str] = field(default_factory=set)
    """Names of files of rows that were staged by workers whose journals are fenced."""
    adopted: list[Recorded] = field(default_factory=list)
    """Answers that were in the journals when they were fenced, from which later attempts are answered."""
    _fenced: dict[str, int] = field(default_factory=dict)

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

    def _look_at_staged(self) -> None:
        fenced = {name.partition(".")[0] for name in self._fenced}
        for folder, _, names in os.walk(self.run / STAGING):
            for name in names:
                worker = "-".join(name.removeprefix("part-").split("-")[:2])
                if name.startswith("part-") and worker in fenced and (Path(folder) / name).exists():
                    self.staged.add(name)

    @property
    def was_refused(self) -> bool:
        return bool(self.late) or self.count_refused_files() > 0

    def count_refused_files(self) -> int:
        """Returns the number of files that were staged by fenced workers and did not become part of the run."""
        return len(self.staged - {name_when_staged(path.name) for path in (self.run / EPISODES).glob("*.parquet")})
