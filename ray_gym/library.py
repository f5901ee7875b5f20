"""Library functions in processes of their own: what `episode.isolated` calls. Like an isolated tool, but of no environment."""

from __future__ import annotations

import importlib
import json
from dataclasses import dataclass, field
from typing import Any

from ray_gym.errors import EpisodeFailure, FailureKind, describe
from ray_gym.isolated import Call, IsolatedPool


@dataclass(frozen=True, slots=True)
class Isolated:
    """What a function gave (JSON data), or why it gave nothing."""

    value: Any = None
    error: str | None = None


class Module:
    """Imported in the process that calls are forked from, as soon as it is unpickled there, and warmed up if it has a `warm_up`."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        module = importlib.import_module(self._name)
        getattr(module, "warm_up", _nothing)()

    def call(self, state: None, caller: None, function: str, arguments: list[Any]) -> str:
        found: Any = importlib.import_module(self._name)
        for part in function.split("."):
            found = getattr(found, part)
        return json.dumps(found(*arguments))


@dataclass(slots=True)
class Libraries:
    """Those of one worker. Nothing is started before the first call."""

    pool: IsolatedPool = field(default_factory=IsolatedPool)
    _modules: dict[str, Module] = field(default_factory=dict)

    async def call(
        self, function: str, arguments: tuple[Any, ...], deadline_s: float, memory_mb: int | None
    ) -> Isolated:
        """Errors: EpisodeFailure (environment) if there is no such module."""
        module, _, name = function.partition(":")
        if module not in self._modules:
            self._modules[module] = Module(module)
        call = Call("call", None, None, {"function": name, "arguments": list(arguments)}, memory_mb)
        try:
            return Isolated(json.loads(await self.pool.run(self._modules[module], call, deadline_s)))
        except TimeoutError:
            return Isolated(error=f"{function} gave nothing within {deadline_s:g} s")
        except EpisodeFailure as error:
            if "could not" in error.failure.message:  # its process did not come up
                raise EpisodeFailure(FailureKind.ENVIRONMENT, function, error.failure.message) from error
            return Isolated(error=error.failure.message)
        except Exception as error:
            return Isolated(error=describe(error))


def _nothing() -> None:
    return None
