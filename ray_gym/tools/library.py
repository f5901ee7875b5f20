"""Runs library functions in processes of their own, for `episode.isolated`: like isolated tools, but without an
environment.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

from ray_gym.errors import EpisodeFailure, FailureKind, code_place, describe
from ray_gym.json_values import of_numpy
from ray_gym.load_object import load_module
from ray_gym.messages import utf8
from ray_gym.tools.answer import ToolError
from ray_gym.tools.isolated import CallFailed, IsolatedCall, IsolatedPool

IN_CODE = "episode.isolated"
"""Place of a function's name, for warnings."""
CALL = "call"
"""Name of the method by which a `Module` calls its functions."""


@dataclass(frozen=True, slots=True)
class IsolatedResult:
    """Holds the result of a function (JSON data); `error` tells why there is none, and is None if there is one."""

    value: Any = None
    error: str | None = None


class Module:
    """Stands for a module in the place of an environment. When a zygote unpickles this object, the module is imported,
    and its function `warm_up` is called if there is one.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        module = load_module(self._name, IN_CODE)
        getattr(module, "warm_up", _do_nothing)()

    def call(self, state: None, caller: None, function: str, arguments: str) -> str:
        """Calls a function of the module, and returns its result as JSON text. `arguments` is a JSON list; `state` and
        `caller` are not used.

        Errors: EpisodeFailure (environment) if there is no such function, or its result is not JSON data; those that
        the function raises.
        """
        found: Any = load_module(self._name, IN_CODE)
        try:
            for part in function.split("."):
                found = getattr(found, part)
        except AttributeError as error:
            raise EpisodeFailure(FailureKind.ENVIRONMENT, function, describe(error)) from error
        result = found(*json.loads(arguments))
        try:
            return json.dumps(result, default=of_numpy)
        except (TypeError, ValueError, RecursionError) as error:
            where = f"{function}{code_place(found)}"
            raise EpisodeFailure(FailureKind.ENVIRONMENT, where, f"it gave no JSON data: {error}") from error


@dataclass(slots=True)
class _Library:
    """Holds a module, and the zygotes that have imported it."""

    module: Module
    pool: IsolatedPool


@dataclass(slots=True)
class Libraries:
    """Holds the libraries of one worker. Each has its own zygotes (processes that calls are forked from), which share
    the worker's `slots`. Nothing is started before the first call.
    """

    slots: asyncio.Semaphore
    _libraries: dict[str, _Library] = field(default_factory=dict)

    async def call(
        self, function: str, arguments: str, deadline_s: float, memory_mb: int | None
    ) -> tuple[str, str | None]:
        """Calls a function, named as `module:function`, in a process of its own, with a JSON list of arguments. Returns
        the result as JSON text and None. If the function raises, is late or its process dies, returns `null` and the
        reason.

        `deadline_s`: seconds for the call. `memory_mb`: megabytes that it may take; None means no limit. Errors:
        EpisodeFailure (environment) if there is no such module or function, no process can be started, or the result is
        not JSON data; an EpisodeFailure that the function raised.
        """
        module, _, name = function.partition(":")
        if module not in self._libraries:
            self._libraries[module] = _Library(Module(module), IsolatedPool(self.slots))
        library = self._libraries[module]
        call = IsolatedCall(CALL, None, None, {"function": name, "arguments": arguments}, memory_mb)
        try:
            return await library.pool.run(library.module, call, deadline_s), None
        except TimeoutError:
            why = f"{function} gave nothing within {deadline_s:g} s"
        except CallFailed as error:
            why = f"{error.failure.message}{error.failure.where.removeprefix(f'tool {CALL}')}"  # with file and line
        except ToolError as error:
            why = describe(error)
        except EpisodeFailure as error:
            failure = error.failure
            where = function + (failure.where.removeprefix(name) if failure.where.startswith(f"{name} (") else "")
            raise EpisodeFailure(failure.kind, where, failure.message, traceback=failure.traceback) from error
        return "null", utf8(why)

    async def close(self) -> None:
        """Kills all zygotes of the libraries, also those that carry out calls."""
        await asyncio.gather(*(library.pool.close() for library in self._libraries.values()))


def _do_nothing() -> None:
    return None
