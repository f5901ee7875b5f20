"""Makes the calls of a round of rollouts directly, with as many episodes in flight.

An episode's calls are made one after the other.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

CALL_DEADLINE_S = 600


@dataclass(frozen=True, slots=True)
class Step:
    """Identifies a call by the name of the engine that answered it and the call's number there."""

    engine: str
    number: int


class Line:
    """Connects to the process of one engine: sends numbers of calls, and reads the numbers of those that are done."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._waiting: dict[int, asyncio.Future[None]] = {}
        self._listening = asyncio.create_task(self._listen())

    async def make(self, number: int) -> None:
        """Makes the call with this number and waits for its end.

        Errors: ConnectionError if the engine goes away; TimeoutError after CALL_DEADLINE_S seconds.
        """
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        self._writer.write(b"%d\n" % number)
        try:
            async with asyncio.timeout(CALL_DEADLINE_S):
                await answer
        finally:
            self._waiting.pop(number, None)

    async def close(self) -> None:
        self._writer.close()
        await self._listening

    async def _listen(self) -> None:
        with contextlib.suppress(ConnectionError):
            while line := await self._reader.readline():
                answer = self._waiting.pop(int(line), None)
                if answer is not None and not answer.done():  # else it is too late
                    answer.set_result(None)
        for answer in [waiting for waiting in self._waiting.values() if not waiting.done()]:
            answer.set_exception(ConnectionError("the engine went away"))


async def replay(ports: dict[str, int], episodes: Sequence[Sequence[Step]], concurrency: int) -> None:
    """Makes all calls of all episodes, `concurrency` episodes at once. `ports`: TCP ports of the engines by name.

    Errors: ConnectionError if an engine goes away; TimeoutError if a call takes more than CALL_DEADLINE_S seconds.
    """
    lines = {engine: Line(*await asyncio.open_connection("127.0.0.1", port)) for engine, port in ports.items()}

    async def one_after_another(waiting: Iterator[Sequence[Step]]) -> None:
        for steps in waiting:
            for step in steps:
                await lines[step.engine].make(step.number)

    waiting = iter(episodes)
    try:
        async with asyncio.TaskGroup() as playing:
            for _ in range(concurrency):
                playing.create_task(one_after_another(waiting))
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None
    finally:
        for line in lines.values():
            await line.close()
