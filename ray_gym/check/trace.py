"""What the environment's own code calls that a replay can't give again, and what its hooks return.

A profile function sees every call of Python code and of built-in functions. It makes everything slow, so it looks at a few episodes only.
"""

from __future__ import annotations

import datetime
import random
import sys
import time
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from ray_gym.environment import Environment

HOOKS = ("finished", "relay", "next_speaker", "opening", "narrow")
_SHARED_RANDOM = getattr(random.random, "__self__", None)
_SEED = random.Random.seed.__code__
_IGNORED = ("importlib", "logging")
"""What they ask the clock for changes nothing that is played."""


class Trace:
    """A context manager; what it saw in all its blocks is kept."""

    def __init__(self, environment: Environment[Any, Any]) -> None:
        self.outside: Counter[str] = Counter()
        """Calls of clocks and of unseeded random numbers: by what, and where."""
        self.returned: dict[str, list[Any]] = {hook: [] for hook in HOOKS}
        self._package = type(environment).__module__.partition(".")[0]
        self._hooks = _codes_of(type(environment))

    def __enter__(self) -> Trace:
        sys.setprofile(self._see)
        return self

    def __exit__(self, *error: object) -> None:
        sys.setprofile(None)

    def _see(self, frame: FrameType, event: str, given: Any) -> None:
        if event == "return":
            hook = self._hooks.get(frame.f_code)
            if hook is not None:
                self.returned[hook].append(given)
            return
        called = _outside(given) if event == "c_call" else _unseeded(frame) if event == "call" else None
        if called is not None and (place := self._authors_place(frame)) is not None:
            self.outside[f"{place} calls {called}"] += 1

    def _authors_place(self, innermost: FrameType) -> str | None:
        """Where the environment's code is, if it is nearer to the call than the engine's."""
        frame: FrameType | None = innermost
        while frame is not None:
            package = str(frame.f_globals.get("__name__")).partition(".")[0]
            if package == self._package:
                return f"{frame.f_code.co_qualname} ({Path(frame.f_code.co_filename).name}:{frame.f_lineno})"
            if package == "ray_gym" or package in _IGNORED:
                return None
            frame = frame.f_back
        return None


def _codes_of(environment_class: type) -> dict[CodeType, str]:
    found = {}
    for hook in HOOKS:
        code = getattr(getattr(environment_class, hook), "__code__", None)
        if code is not None and getattr(environment_class, hook) is not getattr(Environment, hook):
            found[code] = hook
    return found


def _outside(function: Any) -> str | None:
    """What a built-in function is called here, if it is a clock or a source of unseeded random numbers."""
    owner, name = getattr(function, "__self__", None), getattr(function, "__name__", "")
    if owner is time and name in ("time", "time_ns"):
        return f"time.{name}()"
    if isinstance(owner, type) and issubclass(owner, datetime.date) and name in ("now", "utcnow", "today"):
        return f"{owner.__name__}.{name}()"
    if owner is not None and owner is _SHARED_RANDOM:
        return "the random module's shared numbers"
    return "os.urandom()" if name == "urandom" else None


def _unseeded(frame: FrameType) -> str | None:
    if frame.f_code is _SEED and frame.f_locals.get("a") is None:
        return "random.Random() without a seed"
    return None
