"""Does a hook or a tool hold up the event loop, on which all other episodes of a worker wait?

A beat on the loop, and a thread that looks where the loop is when the beat is late. A machine that is busy makes beats late, too: so what
is blamed has worked or slept all that time, as the loop's own CPU time says, and at the same place in every one of several plays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ray_gym.check.finding import Finding
from ray_gym.check.lag import Lag, LoopWatch

if TYPE_CHECKING:
    from ray_gym.check.evidence import Evidence

AGAIN = 2
"""Further plays in which a place has to be late before it is blamed."""


async def look(evidence: Evidence) -> list[Finding]:
    """Plays the scenes with the worst lags again, and finds the places that are late each time."""
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
    """Returns a place without its line."""
    return place.partition(" (")[0]
