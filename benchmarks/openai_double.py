"""Runs a fast double of an OpenAI-compatible server: `python -m benchmarks.openai_double`.

It keeps its answers in memory. It prints its port in its first line, and ends when its standard input is closed.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import cast

import uvloop

from benchmarks.measure import MeasurementFailed
from benchmarks.openai_answers import answer, models

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_END = b"\r\n\r\n"
BACKLOG = 4096
TICK_S = 0.001
"""Resolution of uvloop's timers, in seconds."""


@dataclass(frozen=True, slots=True)
class Double:
    """Holds the address and the process id of a double that is running."""

    base_url: str
    pid: int


@contextmanager
def start_double(delay_ms: float) -> Iterator[Double]:
    """Starts a double in a process of its own for the block, and yields its address and process id.

    `delay_ms`: milliseconds before each answer. Errors: MeasurementFailed if it does not come up.
    """
    command = [sys.executable, "-m", "benchmarks.openai_double", "--delay-ms", str(delay_ms)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        try:
            port = process.stdout.readline().strip()
            if not port:
                raise MeasurementFailed("the double of an OpenAI server did not come up")
            yield Double(f"http://127.0.0.1:{port}/v1", process.pid)
        finally:
            process.stdin.close()


class Delay:
    """Sends each answer a fixed time after its request, at once if the time is 0.

    Answers are sent in the order of their requests, so one timer is enough for all. A timer for each would take a third
    more CPU time, on cores that the double shares with its clients.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._answers: deque[tuple[float, Callable[[bytes], None], bytes]] = deque()

    def send(self, send: Callable[[bytes], None], data: bytes) -> None:
        if not self._seconds:
            send(data)
            return
        loop = asyncio.get_running_loop()
        self._answers.append((loop.time() + self._seconds, send, data))
        if len(self._answers) == 1:
            loop.call_later(self._seconds, self._send_due, loop)

    def _send_due(self, loop: asyncio.AbstractEventLoop) -> None:
        while self._answers and self._answers[0][0] <= loop.time():
            _, send, data = self._answers.popleft()
            send(data)
        if self._answers:
            loop.call_later(max(TICK_S, self._answers[0][0] - loop.time()), self._send_due, loop)


class ServerConnection(asyncio.Protocol):
    """Answers the requests of one connection, one after the other."""

    def __init__(self, delay: Delay) -> None:
        self._delay = delay
        self._received = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._received = self._received + data if self._received else data
        head = self._received.find(_END)
        if head < 0:
            return
        length = _LENGTH.search(self._received, 0, head)
        end = head + len(_END) + (int(length[1]) if length else 0)
        if len(self._received) < end:
            return
        request, self._received = self._received[:end], self._received[end:]
        if request.startswith(b"GET"):
            self._send(models())
        else:
            self._delay.send(self._send, answer(request))

    def _send(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)


async def serve(delay_s: float) -> None:
    loop = asyncio.get_running_loop()
    delay = Delay(delay_s)
    server = await loop.create_server(lambda: ServerConnection(delay), "127.0.0.1", 0, backlog=BACKLOG)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.openai_double", description=__doc__)
    parser.add_argument("--delay-ms", type=float, default=0, help="milliseconds before each answer (default 0)")
    uvloop.run(serve(parser.parse_args().delay_ms / 1000))


if __name__ == "__main__":
    main()
