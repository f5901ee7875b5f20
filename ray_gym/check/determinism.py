"""Checks that an episode is the same when it is played again, in another process with another hash seed."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

from ray_gym.check.finding import Finding
from ray_gym.check.scenes import as_json, difference
from ray_gym.check.waiting import WAITS_S

if TYPE_CHECKING:
    from ray_gym.check.evidence import Evidence

_MEND = (
    "take random numbers from episode.rng(name), ids from episode.new_id(), the time from episode.now(); sort sets before "
    "their order matters"
)

LEAST_S = 2 * WAITS_S
"""Seconds for the other process to start, and to find by itself what waits for ever."""
SLOWER = 5
"""Factor by which the other process may be slower than this one."""


async def look(evidence: Evidence) -> list[Finding]:
    """Plays the same episodes in the other process, and compares their records.

    It returns a finding for the first record that differs, or if that process takes too long, and findings for calls of
    clocks and of unseeded random numbers. Errors: WaitsForEver; RunFailed if the other process died.
    """
    name = evidence.subject.environment_class.__name__
    findings = [Finding(name, called, _MEND) for called, _ in evidence.trace.outside.most_common(5)]
    scenes = [play.scene for play in evidence.plays]
    deadline_s = LEAST_S + SLOWER * evidence.took_s
    try:
        rows = await asyncio.to_thread(evidence.other_process.play, evidence.subject, scenes, deadline_s)
    except TimeoutError:
        what = f"played again in another process it had not ended after {deadline_s:.0f} s, and here after {evidence.took_s:.1f} s"
        return [*findings, Finding(name, what, _MEND)]
    for play, row in zip(evidence.plays, rows, strict=True):
        found = difference(json.loads(as_json(play.row)), json.loads(row)) if play.is_repeatable else None
        if found is not None:
            what = f"played again in another process it went another way: {found} ({play.scene})"
            return [*findings, Finding(name, what, _MEND)]
    return findings
