"""What is killed, and when: a schedule that the seed gives, carried out as the run makes progress."""

from __future__ import annotations

import random
import signal
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psutil  # type: ignore[import-untyped]

from benchmarks.chaos.cluster import Raylets
from benchmarks.chaos.processes import Processes, is_alive, send
from benchmarks.chaos.rollout import Rollout

Kind = Literal["worker", "replica", "controller", "driver", "raylet", "freeze"]

SCRIPTED_KINDS: tuple[Kind, ...] = ("freeze", "worker", "replica", "raylet", "driver", "controller")
VLLM_KINDS: tuple[Kind, ...] = ("worker", "replica", "driver", "raylet", "controller")
MORE: dict[Kind, int] = {"worker": 5, "replica": 4, "controller": 2, "driver": 2}
"""How often each comes among the further kills. A raylet is killed and a worker frozen once."""
TITLES: dict[Kind, str] = {
    "worker": "ray::Worker",
    "freeze": "ray::Worker",
    "replica": "ray::ServeReplica",
    "controller": "ray::ServeController",
}


def schedule(kills: int, seed: int, kinds: tuple[Kind, ...]) -> list[Kind]:
    """Each kind once, as far as there are enough kills, and more of those that may come again. A worker is frozen early: it takes long."""
    rng = random.Random(seed)
    first = list(kinds[:kills])
    weights = {kind: weight for kind, weight in MORE.items() if kind in kinds}
    more = rng.choices(list(weights), list(weights.values()), k=kills - len(first))
    early, rest = first[:1], [*first[1:], *more]
    rng.shuffle(rest)
    rest.insert(min(len(rest), rng.randrange(2)), early[0])
    return rest


@dataclass(slots=True)
class Frozen:
    """A worker that does nothing until its episodes are leased to another; then it goes on, and knows nothing of that."""

    process: psutil.Process
    journal: Path

    def look(self) -> bool:
        """Whether it was woken."""
        if self.journal.exists() and is_alive(self.process):
            return False
        send(self.process, signal.SIGCONT)
        return True


class Killer:
    def __init__(self, seed: int, raylets: Raylets, processes: Processes, rollout: Rollout) -> None:
        self._rng = random.Random(seed)
        self._raylets = raylets
        self._processes = processes
        self._rollout = rollout
        self.frozen: Frozen | None = None
        self.kills: Counter[Kind] = Counter()
        self.orphans: list[psutil.Process] = []
        """Of the raylet that was killed."""

    def is_possible(self, kind: Kind) -> bool:
        """Whether there is a victim. While a worker is frozen, nothing else may be its end."""
        if kind == "driver":
            return self.frozen is None and bool(self._processes.titled("ray::Worker.exchange"))
        return bool(self._victims(kind))

    def kill(self, kind: Kind) -> str:
        """Gives who it was."""
        self.kills[kind] += 1
        if kind == "driver":
            return f"process {self._rollout.kill_and_resume()}"
        victim = self._rng.choice(self._victims(kind))
        title = " ".join(victim.cmdline())[:60]
        if kind == "freeze":
            (journal,) = journals_of(victim)
            send(victim, signal.SIGSTOP)
            self.frozen = Frozen(victim, journal)
        elif kind == "raylet":
            self.orphans = self._processes.below(victim.pid)
            self._raylets.nodes.remove(self._raylets.pids()[victim.pid])
            send(victim, signal.SIGKILL)
            self._raylets.add()
        else:
            send(victim, signal.SIGKILL)
        return f"process {victim.pid} {title}"

    def _victims(self, kind: Kind) -> list[psutil.Process]:
        if kind == "raylet":
            if self.frozen is not None:
                return []
            pids = self._raylets.pids()
            workers = {worker.ppid() for worker in self._processes.titled("ray::Worker") if journals_of(worker)}
            return [psutil.Process(pid) for pid in sorted(pids.keys() & workers)]
        if kind == "freeze" and self.frozen is not None:
            return []
        found = self._processes.titled(TITLES[kind])
        raylets = {node.pid for node in self._processes.titled(RAYLET)}
        spared = self.frozen.process if self.frozen else None
        found = [process for process in found if process != spared and process.ppid() in raylets]
        return [process for process in found if journals_of(process)] if "Worker" in TITLES[kind] else found


def journals_of(worker: psutil.Process) -> list[Path]:
    """The journal that a process writes; none while it starts, or when it was fenced."""
    try:
        links = [path.readlink() for path in Path(f"/proc/{worker.pid}/fd").iterdir()]
    except OSError:
        return []
    return [link for link in links if link.suffix == ".journal"]
