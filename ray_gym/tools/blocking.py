"""Runs blocking tools in threads of their own, so that a tool which never returns takes nothing from anybody else.

The threads are daemons: a thread that is stuck never keeps the process from exiting (`concurrent.futures` would wait
for it). A call that is late or cancelled gives its thread up, and the next call gets a new one; a thread that returns
after all is used again.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections import Counter
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.tools.answer import within

THREADS = 32
"""Number of calls that run at once; others wait."""
STUCK_LIMIT = 64
"""Number of threads given up after which a worker must be replaced."""
REPLACED_WITHIN_S = 30.0
"""Seconds that calls then wait for the replacement: their episodes go on elsewhere, rather than fail for what others
have done."""

Job = Callable[[], None]


class BlockingPool:
    """Runs calls in threads, for one event loop."""

    def __init__(
        self, threads: int = THREADS, stuck_limit: int = STUCK_LIMIT, replaced_within_s: float = REPLACED_WITHIN_S
    ) -> None:
        self._free = asyncio.Semaphore(threads)
        self._threads = threads
        self._stuck_limit = stuck_limit
        self._idle: list[SimpleQueue[Job | None]] = []
        self._stuck: Counter[str] = Counter()
        self._replaced_within_s = replaced_within_s
        self._has_threads = asyncio.Event()
        self._has_threads.set()

    @property
    def is_worn_out(self) -> bool:
        """Says whether so many threads are stuck that no call is taken any more."""
        return self._stuck.total() >= self._stuck_limit

    async def run(self, tool: str, method: Callable[[], Any], deadline_s: float) -> Any:
        """Calls `method` in a thread. The deadline starts when the call does.

        Errors: whatever it raises; TimeoutError; `EpisodeFailure` (infra) when the pool is worn out.
        """
        async with self._free:
            if self.is_worn_out:
                await self._wait_for_threads(tool)
            done = self._start(tool, method)
            value, error = await within(done, deadline_s)
        if error is not None:
            raise error
        return value

    def close(self) -> None:
        """Ends the idle threads."""
        while self._idle:
            self._idle.pop().put(None)

    def _start(self, tool: str, method: Callable[[], Any]) -> asyncio.Future[tuple[Any, BaseException | None]]:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()
        jobs = self._idle.pop() if self._idle else _start_thread()
        context = contextvars.copy_context()

        def job() -> None:
            value, error = None, None
            try:
                value = context.run(method)
            except BaseException as raised:
                error = raised
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(came_back, value, error)

        def came_back(value: Any, error: BaseException | None) -> None:
            if done.cancelled():
                self._count_stuck(tool, -1)
            else:
                done.set_result((value, error))
            if len(self._idle) < self._threads:
                self._idle.append(jobs)
            else:
                jobs.put(None)

        def given_up(future: asyncio.Future[Any]) -> None:
            if future.cancelled():
                self._count_stuck(tool, +1)

        done.add_done_callback(given_up)
        jobs.put(job)
        return done

    async def _wait_for_threads(self, tool: str) -> None:
        try:
            async with asyncio.timeout(self._replaced_within_s):
                await self._has_threads.wait()
        except TimeoutError:
            raise EpisodeFailure(FailureKind.INFRA, f"tool {tool}", self._complaint()) from None

    def _count_stuck(self, tool: str, more: int) -> None:
        self._stuck[tool] += more
        if self.is_worn_out:
            self._has_threads.clear()
        else:
            self._has_threads.set()

    def _complaint(self) -> str:
        stuck = ", ".join(f"{count} of {tool}" for tool, count in self._stuck.items() if count > 0)
        return (
            f"calls of blocking tools never came back ({stuck}), and this worker has no threads left for more: it must be "
            "replaced; give the code inside timeouts of its own, or make the tool isolated=True"
        )


def _start_thread() -> SimpleQueue[Job | None]:
    """Starts a thread that carries out one job after another, until it is given None; returns its queue."""
    jobs: SimpleQueue[Job | None] = SimpleQueue()

    def work() -> None:
        while (job := jobs.get()) is not None:
            job()
            del job  # what it holds of a session

    threading.Thread(target=work, name="blocking-tool", daemon=True).start()
    return jobs
