"""Checks that no hook or tool holds up the event loop, on which all other episodes of a worker wait.

A timer runs on the loop, and a thread looks where the loop is when the timer is late. A machine that is busy makes
timers late too. So a place is only blamed if the loop has worked or slept there all that time, as the CPU time of its
thread shows, and if this happens in every one of several plays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ray_gym.check.finding import Finding
from ray_gym.check.lag import Lag, LoopWatch

if TYPE_CHECKING:
    from ray_gym.check.evidence import Evidence

AGAIN = 2
"""Number of further plays in which the loop has to be late at a place before the place is blamed."""


async def look(evidence: Evidence) -> list[Finding]:
    """Plays the scene with the worst lag of each function again, and returns findings for functions that are late each
    time. Errors: WaitsForEver.
    """
    worst: dict[str, Lag] = {}
    for lag in evidence.lags:
        known = worst.get(_function(lag.place))
        if known is None or lag.seconds > known.seconds:
            worst[_function(lag.place)] = lag
    again = [lag for lag in worst.values() if await _is_late_again(evidence, lag)]
    return [
        Finding(
            lag.place,
            f"it holds up the event loop for {1000 * lag.seconds:.0f} ms ({lag.scene})",
            "make the tool @tool(blocking=True) or @tool(isolated=True), await episode.isolated(...) or a Library grader, "
            "or do less",
        )
        for lag in again
    ]


async def _is_late_again(evidence: Evidence, lag: Lag) -> bool:
    for _ in range(AGAIN):
        async with evidence.theatre.environment() as environment:
            with LoopWatch(environment) as watch:
                await evidence.theatre.play(lag.scene, environment)
        if _function(lag.place) not in map(_function, watch.late):
            return False
    return True


def _function(place: str) -> str:
    """Returns a place without its file and line, which is the name of the function."""
    return place.partition(" (")[0]
