"""Finds commands of an episode that code calls without `await`: they do nothing, and Python only warns on stderr."""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import Callable, Coroutine, Generator
from functools import wraps
from pathlib import Path
from types import CodeType
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from ray_gym.errors import EpisodeFailure, FailureKind

Given = ParamSpec("Given")
Result = TypeVar("Result")


class Commanded(Protocol):
    """Keeps the commands that code has called and not awaited yet."""

    unawaited: dict[object, tuple[str, CodeType, int]]
    """Name of each such command, with the code that called it and the line there, by a token of its own."""


Owner = TypeVar("Owner", bound=Commanded)


def command(
    method: Callable[Concatenate[Owner, Given], Coroutine[Any, Any, Result]],
) -> Callable[Concatenate[Owner, Given], Coroutine[Any, Any, Result]]:
    """Makes a method a command: until its coroutine begins, its call is in `unawaited`. It is still known as an async one."""

    @wraps(method)
    def call(owner: Owner, /, *arguments: Given.args, **options: Given.kwargs) -> Coroutine[Any, Any, Result]:
        frame = sys._getframe(1)
        begun = _Command(method(owner, *arguments, **options), owner)
        owner.unawaited[begun.token] = (method.__name__, frame.f_code, frame.f_lineno)
        return begun

    if sys.version_info >= (3, 12):
        return inspect.markcoroutinefunction(call)
    call._is_coroutine = asyncio.coroutines._is_coroutine  # type: ignore[attr-defined]  # asyncio's mark for it
    return call


class _Command(Coroutine[Any, Any, Result]):
    """Passes on to a command's coroutine what is done with it, of which the first is noted: also that a task is cancelled
    before it begins, so nobody forgot it.
    """

    def __init__(self, coroutine: Coroutine[Any, Any, Result], owner: Commanded) -> None:
        self.token = object()
        self._coroutine, self._owner = coroutine, owner

    def __await__(self) -> Generator[Any, Any, Result]:
        self._note()
        return self._coroutine.__await__()

    def send(self, value: Any) -> Any:
        self._note()
        return self._coroutine.send(value)

    def throw(self, *given: Any) -> Any:
        self._note()
        return self._coroutine.throw(*given)

    def close(self) -> None:
        self._note()
        self._coroutine.close()

    def _note(self) -> None:
        self._owner.unawaited.pop(self.token, None)


def require_awaited(owner: Commanded) -> None:
    """Checks that all commands were awaited. Errors: EpisodeFailure (environment), whose place is the call."""
    for name, code, line in owner.unawaited.values():
        where = f"{code.co_qualname} ({Path(code.co_filename).name}:{line})"
        told = f"it calls `episode.{name}(...)` without `await`, so nothing is done"
        raise EpisodeFailure(FailureKind.ENVIRONMENT, where, told)
