"""Keeps on disk which tasks a sampler has chosen, so that a group plays the same task after any restart.

Tasks are chosen in rounds of ROUND groups. A round is one small file, `rounds/<number>.json`, written before the first
of its groups begins: the index and the pool of each group's task, and what was measured since the round before. What was
measured since the last round is in `rounds/pending.json`, before anybody gets the groups. A stream that is opened again
reads them all, from which the sampler is what it was.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from ray_gym.run.directory.storage import Storage
from ray_gym.stream.sampler import Sampler

ROUND = 32
"""Number of groups whose tasks are chosen together. What is measured counts from the next round on."""
FOLDER = "rounds"
PENDING = f"{FOLDER}/pending.json"


@dataclass(slots=True)
class Rounds:
    """Chooses the tasks of groups by number. Its methods may be called by several threads, and block."""

    storage: Storage
    """Storage of the stream's run directory."""
    sampler: Sampler
    _tasks: list[int] = field(default_factory=list)
    """Index of each group's task, by the number of the group."""
    _measured: dict[int, float] = field(default_factory=dict)
    """Mean rewards of the groups that were measured since the last round, by number."""
    _lost: list[int] = field(default_factory=list)
    """Numbers of the groups that were dropped as stale since the last round."""
    _kept: int = 0
    """Number of those that `PENDING` holds."""
    _known_measured: set[int] = field(default_factory=set)
    _known_lost: set[int] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def read(self) -> None:
        """Reads the rounds that were chosen before, and what was measured since. Errors: OSError; ValueError for a
        damaged file.
        """
        stems = [PurePath(name).stem for name in self.storage.names(FOLDER)]
        for number in sorted(int(stem) for stem in stems if stem.isdigit()):
            self._apply(json.loads(self.storage.read(_file(number))))
        if PurePath(PENDING).stem in stems:
            pending = json.loads(self.storage.read(PENDING))
            for number, reward in pending["measured"]:
                self.measure(number, reward)
            for number in pending["lost"]:
                self.lose(number)

    def index_of(self, number: int) -> int:
        """Returns the index of a group's task, which is chosen now if it was not. Errors: OSError; UserError."""
        with self._lock:
            while len(self._tasks) <= number:
                self._choose_round()
            return self._tasks[number]

    def measure(self, number: int, reward: float | None) -> None:
        """Notes the mean reward of a finished group; None if it has none. It counts once, from the next round on."""
        with self._lock:
            if reward is not None and number not in self._known_measured:
                self._known_measured.add(number)
                self._measured[number] = reward

    def lose(self, number: int) -> None:
        """Notes that a group was dropped as stale. It counts once, from the next round on."""
        with self._lock:
            if number not in self._known_lost:
                self._known_lost.add(number)
                self._lost.append(number)

    def keep(self) -> None:
        """Writes what was measured and lost since the last round, if there is more than was written. Errors: OSError."""
        with self._lock:
            noted = len(self._measured) + len(self._lost)
            if noted != self._kept:
                record = {"measured": sorted(self._measured.items()), "lost": self._lost}
                self.storage.write(PENDING, json.dumps(record).encode())
                self._kept = noted

    def status(self) -> dict[str, Any]:
        """Returns the sampler's pools (`Sampler.status`)."""
        with self._lock:
            return {"pools": self.sampler.status()}

    def _choose_round(self) -> None:
        """Chooses the tasks of the next round, and writes it before anybody learns of them."""
        measured, lost = sorted(self._measured.items()), self._lost
        self._measured, self._lost, self._kept = {}, [], 0
        self._learn(measured, lost)
        chosen = [self.sampler.choose() for _ in range(ROUND)]
        record = {"measured": measured, "lost": lost, "chosen": chosen}
        self.storage.write(_file(len(self._tasks) // ROUND), json.dumps(record).encode())
        self._tasks += [index for index, _ in chosen]

    def _apply(self, record: dict[str, Any]) -> None:
        """Brings the sampler to where it was after a round."""
        self._known_measured.update(number for number, _ in record["measured"])
        self._known_lost.update(record["lost"])
        self._learn(record["measured"], record["lost"])
        for index, pool in record["chosen"]:
            self.sampler.take(index, pool)
            self._tasks.append(index)

    def _learn(self, measured: Sequence[tuple[int, float]], lost: Sequence[int]) -> None:
        for number, reward in measured:
            self.sampler.measure(self._tasks[number], reward)
        for number in lost:
            self.sampler.lose(number)


def _file(number: int) -> str:
    return f"{FOLDER}/{number}.json"
