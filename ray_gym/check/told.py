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


def long_lines(text: str, shortest: int) -> Iterator[str]:
    """Yields the lines of a text, without spaces around them, that have at least `shortest` characters."""
    return (line for line in (line.strip() for line in text.splitlines()) if len(line) >= shortest)
