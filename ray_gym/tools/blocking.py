"""Runs blocking tools in threads, so that a tool which never returns does not hold up other calls.

The threads are daemons: a stuck one does not keep the process from exiting (`concurrent.futures` would wait for it). A
call that is late or cancelled abandons its thread, and the next call gets a new one; a thread that returns later is
reused.
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
"""Number of stuck threads at which no more calls are started, and the worker has to be replaced."""
REPLACED_WITHIN_S = 30.0
"""Seconds for which a call waits when `STUCK_LIMIT` threads are stuck: meanwhile its episode is resumed on another
worker, and doesn't fail for the stuck threads of others.
"""

Job = Callable[[], None]


class BlockingPool:
    """Runs calls of blocking code in threads, for one event loop: at most `threads` at once."""

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
    def is_exhausted(self) -> bool:
        """Returns True if so many threads are stuck (`stuck_limit`) that no call is started any more."""
        return self._stuck.total() >= self._stuck_limit

    async def run(self, tool: str, method: Callable[[], Any], deadline_s: float) -> Any:
        """Calls `method` in a thread, and returns its result. `tool` is its name in errors. The `deadline_s` seconds
        start with the call, not with the wait for a thread. A call that is late goes on in its thread, and its result
        is dropped.

        Errors: those that the method raises; TimeoutError after the deadline; EpisodeFailure (infra) if the pool is
        exhausted for `replaced_within_s` seconds.
        """
        async with self._free:
            if self.is_exhausted:
                await self._wait_for_threads(tool)
            done = self._start(tool, method)
            value, error = await within(done, deadline_s)
        if error is not None:
            raise error
        return value

    def close(self) -> None:
        """Ends the idle threads. Threads that carry out calls go on."""
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
            with contextlib.suppress(RuntimeError):  # the loop is closed: no caller waits any more
                loop.call_soon_threadsafe(on_return, value, error)

        def on_return(value: Any, error: BaseException | None) -> None:
            if done.cancelled():
                self._count_stuck(tool, -1)
            else:
                done.set_result((value, error))
            if len(self._idle) < self._threads:
                self._idle.append(jobs)
            else:
                jobs.put(None)

        def on_cancel(future: asyncio.Future[Any]) -> None:
            if future.cancelled():
                self._count_stuck(tool, +1)

        done.add_done_callback(on_cancel)
        jobs.put(job)
        return done

    async def _wait_for_threads(self, tool: str) -> None:
        try:
            async with asyncio.timeout(self._replaced_within_s):
                await self._has_threads.wait()
        except TimeoutError:
            raise EpisodeFailure(FailureKind.INFRA, f"tool {tool}", self._stuck_message()) from None

    def _count_stuck(self, tool: str, more: int) -> None:
        self._stuck[tool] += more
        if self.is_exhausted:
            self._has_threads.clear()
        else:
            self._has_threads.set()

    def _stuck_message(self) -> str:
        stuck = ", ".join(f"{count} of {tool}" for tool, count in self._stuck.items() if count > 0)
        return (
            f"calls of blocking tools never came back ({stuck}), and this worker has no threads left for more: it must be "
            "replaced; give the code inside timeouts of its own, or make the tool isolated=True"
        )


def _start_thread() -> SimpleQueue[Job | None]:
    """Starts a thread that runs the jobs of a queue until it gets None, and returns the queue."""
    jobs: SimpleQueue[Job | None] = SimpleQueue()

    def work() -> None:
        while (job := jobs.get()) is not None:
            job()
            del job  # it refers to the state of a session

    threading.Thread(target=work, name="blocking-tool", daemon=True).start()
    return jobs
