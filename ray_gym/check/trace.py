"""Records which clocks and unseeded random numbers the environment's code calls, and what its hooks return.

A replay can't give the results of such calls again. A profile function sees every call of Python code and of built-in
functions. It makes everything slow, so only a few episodes are played under it.
"""

from __future__ import annotations

import datetime
import dis
import random
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from ray_gym.environment import Environment
from ray_gym.plugins import package_of

HOOKS = ("finished", "relay", "next_speaker", "opening", "narrow")
_SHARED_RANDOM = getattr(random.random, "__self__", None)
_SEED = random.Random.seed.__code__
_IGNORED = ("http", "importlib", "logging")  # http: cookies of every client, which may expire
"""Packages whose calls of the clock don't change what is played."""
_CLOCKS = {"time", "time_ns"}
_STOPWATCHES = {f"{name}{unit}" for name in ("monotonic", "perf_counter", "process_time") for unit in ("", "_ns")}
"""Clocks that only count if the environment's own code calls them: libraries use them for their deadlines."""
_NOW_UNLESS_GIVEN = {"localtime": 1, "gmtime": 1, "ctime": 1, "asctime": 1, "strftime": 2}
"""Functions of `time` that tell the present time if they get fewer arguments than this number."""


class Trace:
    """Records calls and returned values in its `with` blocks. The records of all blocks are added up."""

    def __init__(self, environment: Environment[Any, Any]) -> None:
        self.outside: Counter[str] = Counter()
        """Numbers of calls of clocks and of unseeded random numbers, by the function and the place."""
        self.returned: dict[str, list[Any]] = {hook: [] for hook in HOOKS}
        """Values that each hook returned."""
        self._package = package_of(type(environment).__module__)
        self._hooks = _codes_of(type(environment))

        self._is_on = False
        self._before: tuple[Any, Any] = (None, None)

    def __enter__(self) -> Trace:
        """Starts the trace on this thread, and on threads that are started from now on."""
        self._is_on, self._before = True, (sys.getprofile(), threading.getprofile())
        threading.setprofile(self._see)
        sys.setprofile(self._see)
        return self

    def __exit__(self, *error: object) -> None:
        own, of_threads = self._before
        sys.setprofile(own)
        threading.setprofile(of_threads)
        self._is_on = False

    def _see(self, frame: FrameType, event: str, given: Any) -> None:
        if not self._is_on:  # in a thread that outlived the block
            sys.setprofile(None)
            return
        if event == "return":
            hook = self._hooks.get(frame.f_code)
            if hook is not None:
                self.returned[hook].append(given)
            return
        called = (
            self._outside(frame, given)
            if event == "c_call"
            else _unseeded_generator(frame)
            if event == "call"
            else None
        )
        if called is not None and (place := self._authors_place(frame)) is not None:
            self.outside[f"{place} calls {called}"] += 1

    def _outside(self, caller: FrameType, function: Any) -> str | None:
        """Returns a name for a built-in function if it is a clock or a source of unseeded random numbers, else None.

        `caller` is the frame that calls it.
        """
        owner, name = getattr(function, "__self__", None), getattr(function, "__name__", "")
        if owner is time and (_tells_now(name, caller) or (name in _STOPWATCHES and self._is_own(caller))):
            return f"time.{name}()"
        if isinstance(owner, type) and issubclass(owner, datetime.date) and name in ("now", "utcnow", "today"):
            return f"{owner.__name__}.{name}()"
        if owner is not None and owner is _SHARED_RANDOM:
            return "the random module's shared numbers"
        return "os.urandom()" if name == "urandom" else None

    def _is_own(self, frame: FrameType) -> bool:
        return _package_of(frame) == self._package

    def _authors_place(self, innermost: FrameType) -> str | None:
        """Returns the place in the environment's code from which a clock or a random number was called, directly or
        through libraries; None if there is none, or if ray_gym or a package in `_IGNORED` made the call on the way.
        `innermost`: frame that makes the call.
        """
        frame: FrameType | None = innermost
        while frame is not None:
            package = _package_of(frame)
            if package == self._package:
                return f"{frame.f_code.co_qualname} ({Path(frame.f_code.co_filename).name}:{frame.f_lineno})"
            if package == "ray_gym" or package in _IGNORED:
                return None
            frame = frame.f_back
        return None


def _codes_of(environment_class: type) -> dict[CodeType, str]:
    """Returns the names of the hooks that an environment overrides, by their code objects."""
    found = {}
    for hook in HOOKS:
        code = getattr(getattr(environment_class, hook), "__code__", None)
        if code is not None and getattr(environment_class, hook) is not getattr(Environment, hook):
            found[code] = hook
    return found


def _package_of(frame: FrameType) -> str:
    return package_of(str(frame.f_globals.get("__name__")))


def _tells_now(name: str, caller: FrameType) -> bool:
    """Says whether a call of this function of `time` tells the present time. `caller` is the frame that calls it."""
    if name in _NOW_UNLESS_GIVEN:
        count = _arguments_given(caller)
        return count is not None and count < _NOW_UNLESS_GIVEN[name]
    return name in _CLOCKS


def _arguments_given(caller: FrameType) -> int | None:
    """Returns the number of arguments of the call that `caller` is making, read from its bytecode; None if they are
    given as `*arguments`.
    """
    code, place = caller.f_code.co_code, caller.f_lasti
    return code[place + 1] if dis.opname[code[place]] in ("CALL", "PRECALL") else None


def _unseeded_generator(frame: FrameType) -> str | None:
    """Returns a name if this frame is the seeding of a random generator without a seed, else None."""
    if frame.f_code is _SEED and frame.f_locals.get("a") is None:
        return "random.Random() without a seed"
    return None
