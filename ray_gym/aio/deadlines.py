"""Sets deadlines for calls to models: calls with the same number of seconds share one timer.

Their deadlines pass in the order in which the calls were made, so the timer never has to be set to an earlier time.
When it goes off, it is set again for the oldest call in flight. A timer for each call (`asyncio.timeout`) would take a
tenth of the CPU time of a call.
"""

from __future__ import annotations

import asyncio
from contextvars import ContextVar, Token
from types import TracebackType

_ENTERED: ContextVar[Deadline] = ContextVar("entered")
"""Deadline of the call that the running task makes."""


def note_lost_try(why: str) -> None:
    """Notes why a try of the running call was lost, and is made again. If the call's deadline passes, its `last_loss` tells
    it. `why` must hold no secrets.
    """
    deadline = _ENTERED.get(None)
    if deadline is not None:
        deadline.last_loss = why


class Deadline:
    """A deadline is a context manager, which cancels the task that has entered it once its time has passed.

    Errors: RuntimeError on entering it outside of a task; TimeoutError in place of the CancelledError, on leaving it,
    if the deadline alone has cancelled the task. Other exceptions pass.
    """

    __slots__ = ("_cancelling", "_outer", "_shared", "_task", "due", "has_passed", "last_loss")

    def __init__(self, shared: SharedTimer) -> None:
        self._shared = shared
        self.has_passed = False
        self.last_loss = ""
        self.due: float
        self._outer: Token[Deadline]

    def __enter__(self) -> Deadline:
        task = asyncio.current_task(self._shared.loop())
        if task is None:
            raise RuntimeError("a deadline is for a task")
        self._task, self._cancelling = task, task.cancelling()
        self._outer = _ENTERED.set(self)
        self._shared.add(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._shared.discard(self)
        _ENTERED.reset(self._outer)
        if self.has_passed and self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise TimeoutError from error

    def expire(self) -> None:
        """Marks the deadline as passed, and cancels its task."""
        self.has_passed = True
        self._task.cancel()


class SharedTimer:
    """A shared timer serves all deadlines that lie the same number of seconds ahead. No timer is set on the event loop
    while there are none.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._ahead: dict[Deadline, None] = {}
        """Deadlines that have not passed, the earliest first."""
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def loop(self) -> asyncio.AbstractEventLoop:
        """Returns the running event loop.

        It is remembered as long as the timer runs: asking for it is a system call.
        """
        return self._loop or asyncio.get_running_loop()

    @property
    def is_running(self) -> bool:
        return self._timer is not None

    def deadline(self) -> Deadline:
        return Deadline(self)

    def add(self, deadline: Deadline) -> None:
        loop = self.loop()
        deadline.due = loop.time() + self._seconds
        self._ahead[deadline] = None
        if self._timer is None:
            self._loop, self._timer = loop, loop.call_at(deadline.due, self._look)

    def discard(self, deadline: Deadline) -> None:
        self._ahead.pop(deadline, None)
        if not self._ahead and self._timer is not None:
            self._timer.cancel()
            self._timer = self._loop = None

    def _look(self) -> None:
        """Cancels the tasks whose deadlines have passed, and sets the timer again for the earliest of the others.

        Often no deadline has passed, since the call that the timer was set for has been answered.
        """
        loop = self.loop()
        self._timer = None
        while self._ahead:
            first = next(iter(self._ahead))
            if first.due > loop.time():
                self._timer = loop.call_at(first.due, self._look)
                return
            del self._ahead[first]
            first.expire()
        self._loop = None


class SharedTimers:
    """Holds the shared timers of one worker, by their numbers of seconds."""

    def __init__(self) -> None:
        self._timers: dict[float, SharedTimer] = {}

    def timer(self, seconds: float) -> SharedTimer:
        """Returns the timer for deadlines that lie this many seconds ahead. The same number gives the same timer."""
        return self._timers.setdefault(seconds, SharedTimer(seconds))
