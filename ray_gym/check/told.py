"""Searches what participants were told, for the checks that compare lines."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator

from ray_gym.check.finding import Finding
from ray_gym.check.scenes import Play


async def one_a_place(plays: Iterable[Play], find: Callable[[Play], Iterable[Finding]]) -> list[Finding]:
    """Returns what `find` finds in all plays, one finding for each place."""
    found: dict[str, Finding] = {}
    for play in plays:
        await asyncio.sleep(0)  # they may have said much
        found |= {finding.where: finding for finding in find(play)}
    return list(found.values())


SPECIFIC = 8
"""Least number of different letters and digits in a text that is specific."""
LONG = 20
"""Least number of characters of a text that is specific however few different ones it has."""


def is_specific(text: str) -> bool:
    """Says whether a text is so long, or has so many different letters and digits, that it does not come up by chance
    within a line.
    """
    return len(text) >= LONG or len({sign for sign in text.casefold() if sign.isalnum()}) >= SPECIFIC


def stands_within(part: str, text: str) -> bool:
    """Says whether a text has a part that does not begin or end within a word of letters of ASCII or digits."""
    at = text.find(part)
    while at >= 0:
        end = at + len(part)
        if not (_are_joined(text[at - 1 : at], part[:1]) or _are_joined(part[-1:], text[end : end + 1])):
            return True
        at = text.find(part, end)
    return False


def _are_joined(left: str, right: str) -> bool:
    return all(side.isascii() and side.isalnum() for side in (left, right))


def long_lines(text: str, shortest: int) -> Iterator[str]:
    """Yields the lines of a text, without spaces around them, that have at least `shortest` characters."""
    return (line for line in (line.strip() for line in text.splitlines()) if len(line) >= shortest)
