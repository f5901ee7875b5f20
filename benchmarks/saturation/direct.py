"""Makes the calls of a round of rollouts directly, with as many episodes in flight.

An episode's calls are made one after the other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

CALL_DEADLINE_S = 600


@dataclass(frozen=True, slots=True)
class Step:
    """Identifies a call by the name of the engine that answered it and the call's number there."""

    engine: str
    number: int


async def replay(ports: dict[str, int], episodes: Sequence[Sequence[Step]], concurrency: int) -> None:
    """Makes all calls of all episodes, `concurrency` episodes at once. `ports`: TCP ports of the engines by name.

    Errors: ConnectionError if an engine goes away; TimeoutError if a call takes more than CALL_DEADLINE_S seconds.
    """
    waiting = iter(episodes)
    try:
        async with asyncio.TaskGroup() as playing:
            for _ in range(concurrency):
                playing.create_task(_one_after_another(ports, waiting))
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None


async def _one_after_another(ports: dict[str, int], waiting: Iterator[Sequence[Step]]) -> None:
    """Makes the calls of one episode after the other, on connections of its own, until none is `waiting`."""
    lines = {engine: await asyncio.open_connection("127.0.0.1", port) for engine, port in ports.items()}
    try:
        for step in chain.from_iterable(waiting):
            reader, writer = lines[step.engine]
            writer.write(b"%d\n" % step.number)
            async with asyncio.timeout(CALL_DEADLINE_S):
                if not await reader.readline():
                    raise ConnectionError("the engine went away")
    finally:
        for _, writer in lines.values():
            writer.close()
