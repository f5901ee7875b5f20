"""Checks that a participant is not told its own words as somebody else's.

An echo is a line that a participant said, which `relay` then tells it, although nobody else has said it; it may have a
name with a colon before it, as in a transcript, or brackets or quotes around it. A line that is specific may stand
anywhere within another one. Short lines are no echoes, since they come up by chance.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from ray_gym.check.finding import Finding, shorten
from ray_gym.check.scenes import Play
from ray_gym.check.told import is_specific, long_lines, one_a_place, stands_within

if TYPE_CHECKING:
    from ray_gym.check.evidence import Evidence

SHORTEST = 8
"""Least number of characters of a line that is an echo."""
MOST_COLONS = 20
"""Number of the colons of a line, the first ones, behind which an echo may stand."""
_MEND = "let `relay` return only what others said: `turn.text` is the turn of another than `listener`"


async def look(evidence: Evidence) -> list[Finding]:
    """Finds echoes in all plays, and returns one finding for each participant that hears some."""
    return await one_a_place(evidence.plays, _echoes)


def _echoes(play: Play) -> Iterator[Finding]:
    said: dict[str, set[str]] = {name: set() for name in play.stage.environment.participants}
    for event in play.played.episode.events:
        name = str(event.thread).partition("/")[0]
        if name not in said:
            continue
        if event.kind == "message":
            said[name] |= set(map(_bare, long_lines(event.content, SHORTEST)))
        elif event.kind == "relay":
            others = {line for other, lines in said.items() if other != name for line in lines}
            for line in long_lines(event.content, SHORTEST):
                known = next((bare for bare in _inside(line) if bare in others | said[name]), None)
                known = _part_of(line, said[name], others) if known is None else known
                if known is not None and known not in others and len(known) >= SHORTEST:
                    what = f"{name} is told its own words: {shorten(line, 80)!r} ({play.scene})"
                    yield Finding(f"{type(play.stage.environment).__name__}, to {name}", what, _MEND)


def _part_of(line: str, own: set[str], others: set[str]) -> str | None:
    """Returns a specific line of one's own that stands within a line; None if there is none, or others have said what
    has it within.
    """
    parts = (bare for bare in own if bare in line and is_specific(bare) and stands_within(bare, line))
    return next((bare for bare in parts if not any(bare in other for other in others)), None)


def _bare(line: str) -> str:
    """Returns a line without signs around it, such as brackets and quotes."""
    first = next((at for at, sign in enumerate(line) if sign.isalnum()), len(line))
    last = next((at for at in range(len(line) - 1, first, -1) if line[at].isalnum()), first)
    return line[first : last + 1]


def _inside(line: str) -> Iterator[str]:
    """Yields a line without signs around it, and what is left of it without the words before each of its first colons."""
    bare = _bare(line)
    yield bare
    for colon in islice(re.finditer(r":\s", bare), MOST_COLONS):
        yield _bare(bare[colon.end() :])
