"""Kills processes of a run on a schedule that is drawn from a seed."""

from __future__ import annotations

import random
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psutil  # type: ignore[import-untyped]

from benchmarks.chaos.cluster import Raylets
from benchmarks.chaos.processes import Processes, is_alive, send
from benchmarks.chaos.rollout import RolloutCommand

Kind = Literal["worker", "replica", "controller", "driver", "raylet", "cut off", "freeze"]
"""Kinds of kills. "cut off" stops a raylet, so that its node counts as dead while its workers live on, and kills it
later. "freeze" stops a worker until its episodes are leased to another.

All others kill a process by SIGKILL.
"""

SCRIPTED_KINDS: tuple[Kind, ...] = ("worker", "replica", "driver", "raylet", "controller", "cut off", "freeze")
VLLM_KINDS: tuple[Kind, ...] = ("worker", "replica", "driver", "raylet", "controller")
MORE: dict[Kind, int] = {"worker": 5, "replica": 4, "controller": 2, "driver": 2}
"""Weights of kinds among the further kills; the others come once."""
TITLES: dict[Kind, str] = {
    "worker": "ray::Worker",
    "freeze": "ray::Worker",
    "replica": "ray::ServeReplica",
    "controller": "ray::ServeController",
}

ZOMBIE_S = 3.0
"""Seconds for which workers of a cut-off raylet live on after their journals were fenced. Their watchdogs look every
second."""
CUT_OFF_S = 25.0
"""Most seconds for which workers are cut off. A driver gives up a silent worker sooner, Ray a hanging node after a
minute."""


def schedule(kills: int, seed: int, kinds: tuple[Kind, ...]) -> list[Kind]:
    """Draws a schedule of `kills` kills from a seed, and returns their kinds in order.

    Each of `kinds` comes once, as far as `kills` reaches; further kills are drawn by the weights in MORE. "cut off" is
    first or second, since it takes long.
    """
    rng = random.Random(seed)
    weights = {kind: weight for kind, weight in MORE.items() if kind in kinds}
    rest = [*kinds[:kills], *rng.choices(list(weights), list(weights.values()), k=max(0, kills - len(kinds)))]
    rng.shuffle(rest)
    if "cut off" in rest:
        rest.remove("cut off")
        rest.insert(rng.randrange(2), "cut off")
    return rest


@dataclass(slots=True)
class Frozen:
    """Holds a stopped worker, which is woken once its journals are fenced: then its episodes are leased to another."""

    process: psutil.Process
    journals: list[Path]

    def look(self) -> bool:
        """Wakes the worker if its journals are fenced, or if it is dead. Returns True if it did so."""
        if any(path.exists() for path in self.journals) and is_alive(self.process):
            return False
        send(self.process, signal.SIGCONT)
        return True


@dataclass(slots=True)
class CutOff:
    """Holds a stopped raylet, which is killed later.

    Its node soon counts as dead and its episodes are leased again, while its workers live on.
    """

    raylet: psutil.Process
    journals: list[Path]
    kill_at: float

    def look(self) -> bool:
        """Kills the raylet if it is time, and returns True if it did so.

        The time is `kill_at`, or ZOMBIE_S seconds after all journals were found fenced.
        """
        now = time.monotonic()
        if not any(path.exists() for path in self.journals):
            self.kill_at = min(self.kill_at, now + ZOMBIE_S)
        if now < self.kill_at:
            return False
        send(self.raylet, signal.SIGKILL)
        return True


class Killer:
    """Chooses victims and kills them. Later it wakes the frozen worker, and kills the cut-off raylet."""

    def __init__(self, seed: int, raylets: Raylets, processes: Processes, rollout: RolloutCommand) -> None:
        self._rng = random.Random(seed)
        self._raylets = raylets
        self._processes = processes
        self._rollout = rollout
        self.frozen: Frozen | None = None
        self.cut_off: CutOff | None = None
        self._orphans: list[psutil.Process] = []

    @property
    def is_idle(self) -> bool:
        """Says whether no process is frozen or cut off."""
        return self.frozen is None and self.cut_off is None

    def aim(self, kind: Kind) -> psutil.Process | None:
        """Chooses a victim for a kind of kill at random; None if there is none now.

        While a worker is frozen or a raylet is cut off, there is no victim for `driver`, `raylet`, `cut off` and
        `freeze`. A worker must have a journal open.
        """
        if kind == "driver":
            if not self.is_idle or not self._processes.find_processes("ray::Worker.exchange"):
                return None
            return psutil.Process(self._rollout.pid)
        victims = self._victims(kind)
        return self._rng.choice(victims) if victims else None

    def look(self) -> str | None:
        """Wakes the frozen worker or kills the cut-off raylet, if it is time. Returns a text that says so, else None.

        A raylet that was killed is replaced by another.
        """
        if self.frozen is not None and self.frozen.look():
            woken, self.frozen = self.frozen, None
            return f"woke process {woken.process.pid}"
        if self.cut_off is not None and self.cut_off.look():
            killed, self.cut_off = self.cut_off, None
            self._replace(killed.raylet)
            return f"killed process {killed.raylet.pid}, and added another raylet"
        return None

    def kill(self, kind: Kind, victim: psutil.Process) -> None:
        if kind == "driver":
            self._rollout.kill_and_resume()
        elif kind == "freeze":
            journals = journals_of(victim)
            send(victim, signal.SIGSTOP)
            self.frozen = Frozen(victim, journals)
        elif kind in ("raylet", "cut off"):
            self._orphans += self._processes.below(victim.pid)
            journals = [path for process in self._orphans for path in journals_of(process)]
            if kind == "raylet":
                send(victim, signal.SIGKILL)
                self._replace(victim)
            else:
                send(victim, signal.SIGSTOP)
                self.cut_off = CutOff(victim, journals, time.monotonic() + CUT_OFF_S)
        else:
            send(victim, signal.SIGKILL)

    def finish(self) -> None:
        """Wakes the frozen worker, and kills and replaces the cut-off raylet, at once, since the run is over."""
        if self.frozen is not None:
            send(self.frozen.process, signal.SIGCONT)
        if self.cut_off is not None:
            send(self.cut_off.raylet, signal.SIGKILL)
            self._replace(self.cut_off.raylet)

    def _replace(self, raylet: psutil.Process) -> None:
        """Waits until a raylet that was killed has ended, and adds another in its place."""
        self._raylets.take_out(raylet.pid).wait()
        self._raylets.add()

    def _victims(self, kind: Kind) -> list[psutil.Process]:
        if kind in ("raylet", "cut off"):
            if not self.is_idle:
                return []
            workers = {worker.ppid() for worker in self._processes.find_processes("ray::Worker") if journals_of(worker)}
            return [psutil.Process(pid) for pid in sorted(self._raylets.raylets() & workers)]
        if kind == "freeze" and not self.is_idle:
            return []
        found = self._processes.find_processes(TITLES[kind])
        spared = {*self._orphans, self.frozen.process if self.frozen else None}
        found = [process for process in found if process not in spared]
        return [process for process in found if journals_of(process)] if "Worker" in TITLES[kind] else found


def journals_of(worker: psutil.Process) -> list[Path]:
    """Returns the paths of the journals that a process has open; none while it starts, after it was fenced, or if it is
    gone.
    """
    try:
        links = [path.readlink() for path in Path(f"/proc/{worker.pid}/fd").iterdir()]
    except OSError:
        return []
    return [link for link in links if link.suffix == ".journal"]
