"""Does a participant see what only another was told?

What only one was told: the long lines of its system prompt and of its first messages that nobody else was given at the start. They leak if
they come up whole in what another is told later, unless their owner has said them. (What all are given, as rules, is no secret, and
neither is what the environment relays in words of its own.)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ray_gym.check.finding import Finding, shortened
from ray_gym.check.scenes import Play

if TYPE_CHECKING:
    from ray_gym.check.evidence import Evidence

SHORTEST = 24
"""Characters of a line that tells something; shorter ones come up by chance."""
_AT_FIRST = ("system", "opening")
_MEND = "let `relay` and tools give the other side only what it may know"


async def look(evidence: Evidence) -> list[Finding]:
    found = [finding for play in evidence.plays for finding in _leaks(play)]
    return list({finding.where: finding for finding in found}.values())


def _leaks(play: Play) -> Iterator[Finding]:
    environment, events = play.stage.environment, play.played.episode.events
    secrets = _secrets(play)
    said = dict.fromkeys(environment.participants, "")
    for event in events:
        listener = str(event.thread).partition("/")[0]
        if event.kind == "message" and event.participant in said:
            said[event.participant] += event.content + "".join(call.arguments for call in event.tool_calls)
        if event.kind not in ("relay", "tool_result") or listener not in said:
            continue
        for owner, lines in secrets.items():
            leaked = next((line for line in lines if line in event.content and line not in said[owner]), None)
            if owner != listener and leaked is not None:
                how = "a tool's result" if event.kind == "tool_result" else "a relayed message"
                what = f"{listener} sees in {how} what only {owner} was told: {shortened(leaked, 80)!r} ({play.scene})"
                yield Finding(f"{type(environment).__name__}, to {listener}", what, _MEND)


def _secrets(play: Play) -> dict[str, set[str]]:
    """Lines that one participant alone was told before anyone spoke."""
    told = dict.fromkeys(play.stage.environment.participants, "")
    for event in play.played.episode.events:
        if event.kind in _AT_FIRST and event.thread in told:
            told[event.thread] += f"\n{event.content}"
    return {
        name: {
            line
            for line in (line.strip() for line in text.splitlines())
            if len(line) >= SHORTEST and not any(line in other for owner, other in told.items() if owner != name)
        }
        for name, text in told.items()
    }
