"""Checks that episodes do not affect each other when they are played at the same time on one instance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ray_gym.aio.concurrent import run_concurrently
from ray_gym.check.finding import Finding
from ray_gym.check.scenes import Play, difference
from ray_gym.environment import Environment

if TYPE_CHECKING:
    from ray_gym.check.evidence import Evidence

AT_ONCE = 8
"""Number of episodes that are played at the same time."""
_MEND = "keep all that belongs to a session in the state that `setup` gives, nothing in the instance, the class or the module"


async def look(evidence: Evidence) -> list[Finding]:
    """Plays all scenes again on a single instance, AT_ONCE at the same time, and compares the records.

    The first plays had an instance each. It returns one finding, for the first record that differs. Errors:
    WaitsForEver.
    """
    async with evidence.theatre.environment() as environment:
        return await _play_together(evidence, environment)


async def _play_together(evidence: Evidence, environment: Environment[Any, Any]) -> list[Finding]:
    backwards = evidence.plays[::-1]
    for start in range(0, len(backwards), AT_ONCE):
        some = backwards[start : start + AT_ONCE]
        again = await run_concurrently(
            *(evidence.theatre.play(play.scene, environment, dict(play.memory)) for play in some)
        )
        finding = _differ(evidence, some, again, "played at the same time as others, on one instance,")
        if finding is not None:
            return [finding]
    return []


def _differ(evidence: Evidence, plays: Sequence[Play], again: Sequence[Play], how: str) -> Finding | None:
    for play, other in zip(plays, again, strict=True):
        found = difference(play.row, other.row) if play.is_repeatable else None
        if found is not None:
            what = f"{how} an episode goes another way than alone: {found} ({play.scene})"
            return Finding(evidence.subject.environment_class.__name__, what, _MEND)
    return None
