"""Finds commands that code calls without `await`: they do nothing, and Python only warns on stderr.

A command is forgotten if its coroutine is dropped before it begins, while it could still begin. That tells it from one that
is kept to be awaited later, when the episode ends before its turn comes.
"""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import Callable, Coroutine, Generator
from functools import cache, wraps
from pathlib import Path
from types import CodeType, FrameType, new_class
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, runtime_checkable

from ray_gym.errors import EpisodeFailure, FailureKind

Given = ParamSpec("Given")
Result = TypeVar("Result")


@runtime_checkable
class Commanded(Protocol):
    """Takes commands, and remembers those that nobody awaited."""

    forgotten: list[tuple[str, CodeType, int]]
    """Commands that nobody awaited, each with the code that called it and the line there."""

    @property
    def stopped(self) -> bool: ...

    @property
    def scoring(self) -> bool: ...


Owner = TypeVar("Owner", bound=Commanded)
Grading = TypeVar("Grading")


def command(
    method: Callable[Concatenate[Owner, Given], Coroutine[Any, Any, Result]],
) -> Callable[Concatenate[Owner, Given], Coroutine[Any, Any, Result]]:
    """Makes a method of an episode a command: if its coroutine is dropped before it begins, it is in `forgotten`. It is
    still known as an async one.
    """

    @wraps(method)
    def call(owner: Owner, /, *arguments: Given.args, **options: Given.kwargs) -> Coroutine[Any, Any, Result]:
        name = f"episode.{method.__name__}"
        return _kind(name)(method(owner, *arguments, **options), owner, name, sys._getframe(1))

    return _as_async(call)


def command_of_grader(
    method: Callable[Concatenate[Grading, Given], Coroutine[Any, Any, Result]],
) -> Callable[Concatenate[Grading, Given], Coroutine[Any, Any, Result]]:
    """Makes a method of a grader a command of the episode that it is given first, or as `episode`, as `command` does.
    Something else that stands for an episode in a test is not watched.
    """

    @wraps(method)
    def call(grader: Grading, /, *arguments: Given.args, **options: Given.kwargs) -> Coroutine[Any, Any, Result]:
        coroutine = method(grader, *arguments, **options)
        owner = arguments[0] if arguments else options.get("episode")
        if not isinstance(owner, Commanded):
            return coroutine
        name = f"{type(grader).__name__}.{method.__name__}"
        return _kind(name)(coroutine, owner, name, sys._getframe(1))

    return _as_async(call)


Called = TypeVar("Called", bound=Callable[..., Any])


def _as_async(call: Called) -> Called:
    """Marks a function that returns a coroutine as async for those who ask `iscoroutinefunction`."""
    if sys.version_info >= (3, 12):
        return inspect.markcoroutinefunction(call)
    call._is_coroutine = asyncio.coroutines._is_coroutine  # type: ignore[attr-defined]  # asyncio's mark for it
    return call


class _Command(Coroutine[Any, Any, Result]):
    """Passes on to a command's coroutine what is done with it, of which the first is noted: also that a task is cancelled
    before it begins, so nobody forgot it.
    """

    def __init__(self, coroutine: Coroutine[Any, Any, Result], owner: Commanded, name: str, caller: FrameType) -> None:
        self._begun, self._coroutine, self._owner = False, coroutine, owner
        self._call = (name, caller.f_code, caller.f_lineno)
        self._is_of_scoring = owner.scoring

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __await__(self) -> Generator[Any, Any, Result]:
        self._begun = True
        return self._coroutine.__await__()

    def send(self, value: Any) -> Any:
        self._begun = True
        return self._coroutine.send(value)

    def throw(self, *given: Any) -> Any:
        self._begun = True
        return self._coroutine.throw(*given)

    def close(self) -> None:
        self._begun = True
        self._coroutine.close()

    def __del__(self) -> None:
        owner = self._owner
        could_begin = self._is_of_scoring if owner.scoring else not owner.stopped
        if not self._begun and could_begin:
            owner.forgotten.append(self._call)


@cache
def _kind(name: str) -> type[_Command[Any]]:
    """Returns the class of a command's calls. Errors tell its name, which says what is forgotten, where such a call is
    taken for its result.
    """
    return new_class(f"{name}(...) without await", (_Command,))


def require_awaited(owner: Commanded) -> None:
    """Checks that all commands were awaited. Errors: EpisodeFailure (environment), whose place is the call."""
    for name, code, line in owner.forgotten:
        where = f"{code.co_qualname} ({Path(code.co_filename).name}:{line})"
        told = f"it calls `{name}(...)` without `await`, so nothing is done"
        raise EpisodeFailure(FailureKind.ENVIRONMENT, where, told)
