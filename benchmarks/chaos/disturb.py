"""Plays a run to its end, undisturbed or with kills on a schedule."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import psutil  # type: ignore[import-untyped]

from benchmarks.chaos.journals import Zombies, read_answers
from benchmarks.chaos.kills import Killer, Kind
from benchmarks.chaos.processes import Processes, describe
from benchmarks.chaos.report import Disturbed
from benchmarks.chaos.rollout import ChaosFailed, RolloutCommand

LOOK_S = 0.05
STUCK_S = 90.0
"""Seconds without progress after which a run is stuck."""
SPREAD = 0.85
"""Share of a run's calls within which all kills are made."""

EXTRA_FREEZES = 5
"""Most workers that are frozen after the last kill, one after the other, until one of them writes something when it is
woken. A woken worker ends itself within milliseconds, when it finds that it was fenced. About half of them write
something before that."""

Progress = Callable[[], int]
"""Function that returns the number of distinct calls that are done."""


@dataclass(slots=True)
class StallDetector:
    """Watches the progress of a run. `look` raises ChaosFailed if there was none for STUCK_S seconds."""

    rollout: RolloutCommand
    waited_for: str = "the first call"
    _reached: int = -1
    _moved_at: float = 0.0

    def look(self, progress: int) -> None:
        now = time.monotonic()
        if progress > self._reached:
            self._reached, self._moved_at = progress, now
        elif now - self._moved_at > STUCK_S:
            said = self.rollout.log.read_text()[-3000:]
            raise ChaosFailed(f"no progress for {STUCK_S:g} s, waiting for {self.waited_for}; the driver said:\n{said}")


def play(rollout: RolloutCommand, config: dict[str, Any], progress: Progress) -> float:
    """Plays a run undisturbed, and returns how many seconds it took.

    `progress` returns the number of calls that are done. Errors: ChaosFailed if the run fails or gets stuck.
    """
    began, stalls = time.monotonic(), StallDetector(rollout, "its end")
    rollout.start(config)
    while not rollout.has_ended():
        stalls.look(progress())
        time.sleep(LOOK_S)
    return time.monotonic() - began


def disturb(
    rollout: RolloutCommand,
    config: dict[str, Any],
    kinds: Sequence[Kind],
    calls: int,
    progress: Progress,
    killer: Killer,
    say: Callable[[str], None],
) -> Disturbed:
    """Plays a run with the kills of a schedule, and returns what was seen of it, with its rows.

    `kinds`: kinds of the kills. The whole run has about `calls` calls; `progress` returns how many are done. `say`
    prints a line. Errors: ChaosFailed if the run fails, gets stuck, or ends before the last kill.
    """
    rng, left, last = random.Random(repr(kinds)), list(kinds), 0
    disturbed = Disturbed(Zombies(rollout.directory, rollout.journal))
    began, stalls = time.monotonic(), StallDetector(rollout)
    rollout.start(config)
    due = _gap(rng, calls, len(left))
    wants_a_zombie, extra = "freeze" in kinds, 0
    while not rollout.has_ended():
        disturbed.zombies.look()
        if (news := killer.look()) is not None:
            say(f"{time.monotonic() - began:6.1f} s  {news}")
        done = progress()
        stalls.look(done)
        if left and done >= last + due:
            kind, victim = _next(left, killer)
            stalls.waited_for = "progress after the last kill" if victim else f"a victim for {left[0]}"
            if victim is not None:
                disturbed.remember(read_answers(rollout.journal))
                disturbed.kills.append((kind, time.time()))
                say(f"{time.monotonic() - began:6.1f} s  {kind:10} at call {done:5}: {describe(victim)}")
                killer.kill(kind, victim)
                left.remove(kind)
                last = done
                due = _gap(rng, calls - done, len(left))
        idle = killer.is_idle and not left and not disturbed.zombies.was_refused
        if wants_a_zombie and idle and extra < EXTRA_FREEZES:
            left, extra, last, due = ["freeze"], extra + 1, done, 1
        time.sleep(LOOK_S)
    killer.finish()
    if left:
        raise ChaosFailed(
            f"the run ended before the last kills ({', '.join(left)}): make models slower or episodes more"
        )
    disturbed.seconds = time.monotonic() - began
    disturbed.rows = rollout.rows()
    return disturbed


def survivors(processes: Processes, titles: tuple[str, ...], within_s: float) -> list[str]:
    """Waits, at most `within_s` seconds, until no process with one of the titles is alive.

    Returns descriptions of those that still are. If `titles` is empty, all descendants of this process count.
    """
    deadline = time.monotonic() + within_s
    while True:
        alive = (
            processes.find_processes(*titles) if titles else sorted(processes.alive(), key=lambda process: process.pid)
        )
        if not alive or time.monotonic() > deadline:
            return [describe(process) for process in alive]
        time.sleep(0.2)


def _next(left: Sequence[Kind], killer: Killer) -> tuple[Kind, psutil.Process | None]:
    """Returns the first kind of kill in `left` that has a victim now, and the victim.

    If none has a victim, it returns the first kind and None.
    """
    for kind in left:
        if (victim := killer.aim(kind)) is not None:
            return kind, victim
    return left[0], None


def _gap(rng: random.Random, calls: int, kills: int) -> int:
    """Draws the number of calls until the next kill, at least 1. `calls` and `kills` are the numbers that are left."""
    return max(1, int(SPREAD * max(0, calls) / (kills + 1) * rng.uniform(0.5, 1.5)))
