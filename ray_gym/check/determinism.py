"""Is an episode the same when it is played again, in another process with another hash seed?"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

from ray_gym.check.finding import Finding
from ray_gym.check.scenes import as_json, difference

if TYPE_CHECKING:
    from ray_gym.check.evidence import Evidence

_MEND = (
    "take random numbers from episode.rng(name), ids from episode.new_id(), the time from episode.now(); sort sets before "
    "their order matters"
)


async def look(evidence: Evidence) -> list[Finding]:
    name = evidence.subject.environment_class.__name__
    findings = [Finding(name, called, _MEND) for called, _ in evidence.trace.outside.most_common(5)]
    scenes = [play.scene for play in evidence.plays]
    rows = await asyncio.to_thread(evidence.other_process.play, evidence.subject, scenes)
    for play, row in zip(evidence.plays, rows, strict=True):
        found = difference(json.loads(as_json(play.row)), json.loads(row)) if play.is_repeatable else None
        if found is not None:
            what = f"played again in another process it went another way: {found} ({play.scene})"
            return [*findings, Finding(name, what, _MEND)]
    return findings
