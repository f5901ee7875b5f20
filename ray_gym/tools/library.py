"""Runs library functions in processes of their own, for `episode.isolated`. They are like isolated tools, but of no
environment.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

from ray_gym.errors import EpisodeFailure, FailureKind, describe
from ray_gym.load_object import load_module
from ray_gym.messages import utf8
from ray_gym.tools.answer import ToolError
from ray_gym.tools.isolated import CallFailed, IsolatedCall, IsolatedPool


@dataclass(frozen=True, slots=True)
class Isolated:
    """Holds the result of a function (JSON data), or why it gave none."""

    value: Any = None
    error: str | None = None


class Module:
    """Imports a module in the process that calls are forked from, as soon as it is unpickled there, and warms it up if
    it has a `warm_up`.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        module = load_module(self._name)
        getattr(module, "warm_up", _nothing)()

    def call(self, state: None, caller: None, function: str, arguments: str) -> str:
        """Calls a function of the module, from JSON text to JSON text. Errors: EpisodeFailure (environment) for a
        function that isn't there, or gives no JSON data.
        """
        found: Any = load_module(self._name)
        try:
            for part in function.split("."):
                found = getattr(found, part)
        except AttributeError as error:
            raise EpisodeFailure(FailureKind.ENVIRONMENT, function, describe(error)) from error
        result = found(*json.loads(arguments))
        try:
            return json.dumps(result)
        except TypeError as error:
            raise EpisodeFailure(FailureKind.ENVIRONMENT, function, f"it gave no JSON data: {error}") from error


@dataclass(slots=True)
class _Library:
    """Holds a module, and the processes that have imported it."""

    module: Module
    pool: IsolatedPool


@dataclass(slots=True)
class Libraries:
    """Holds the libraries of one worker, each with processes of its own, which share its `slots`. Nothing is started
    before the first call.
    """

    slots: asyncio.Semaphore
    _libraries: dict[str, _Library] = field(default_factory=dict)

    async def call(
        self, function: str, arguments: str, deadline_s: float, memory_mb: int | None
    ) -> tuple[str, str | None]:
        """Calls a function with arguments as JSON text. Returns its result as JSON text, and why it gave none, if so.

        Errors: EpisodeFailure (environment) if there is no such module, no such function in it, or it gives no JSON
        data.
        """
        module, _, name = function.partition(":")
        if module not in self._libraries:
            self._libraries[module] = _Library(Module(module), IsolatedPool(self.slots))
        library = self._libraries[module]
        call = IsolatedCall("call", None, None, {"function": name, "arguments": arguments}, memory_mb)
        try:
            return await library.pool.run(library.module, call, deadline_s), None
        except TimeoutError:
            why = f"{function} gave nothing within {deadline_s:g} s"
        except CallFailed as error:
            why = error.failure.message
        except ToolError as error:
            why = describe(error)
        except EpisodeFailure as error:
            raise EpisodeFailure(error.failure.kind, function, error.failure.message) from error
        return "null", utf8(why)

    async def close(self) -> None:
        """Ends all processes, also of calls that are being carried out."""
        await asyncio.gather(*(library.pool.close() for library in self._libraries.values()))


def _nothing() -> None:
    return None
