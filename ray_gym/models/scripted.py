"""Models that are Python functions: opponents, baselines, tests, benchmarks. Deterministic under the episode's seed.

A player sees exactly what a language model would: the messages of its own view and its tools.

    def player(request: CompletionRequest, rng: random.Random) -> Message: ...
"""

from __future__ import annotations

import asyncio
import inspect
import random
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from ray_gym.errors import EpisodeFailure, FailureKind, UserError, describe
from ray_gym.messages import Message
from ray_gym.models.base import Completion, CompletionRequest, EngineCheck
from ray_gym.plugins import load_object

Player = Callable[..., Message | Awaitable[Message]]


class ScriptedOptions(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    player: str
    """package.module:function"""
    arguments: dict[str, Any] = {}
    """Keyword arguments for the player."""
    delay_s: Annotated[float, Field(ge=0)] = 0
    """Seconds before each answer, for a model that takes its time."""


class ScriptedModel:
    def __init__(self, player: Player, arguments: dict[str, Any], delay_s: float) -> None:
        self._player = player
        self._arguments = arguments
        self._delay_s = delay_s

    async def complete(self, request: CompletionRequest) -> Completion:
        if self._delay_s:
            await asyncio.sleep(self._delay_s)
        try:
            answer = self._player(request, random.Random(request.seed), **self._arguments)
            message = await answer if inspect.isawaitable(answer) else answer
        except Exception as error:
            raise EpisodeFailure(FailureKind.ENVIRONMENT, "scripted player", describe(error)) from error
        return Completion(message)

    async def close(self) -> None:
        return None


class ScriptedEngine:
    Options = ScriptedOptions
    gives_tokens = False
    reshapes = ""

    def __init__(self, options: ScriptedOptions) -> None:
        self.options = options

    def check(self, request: EngineCheck) -> None:
        player = load_object(self.options.player, f"models.{request.model}.player")
        try:
            inspect.signature(player).bind(None, None, **self.options.arguments)
        except TypeError as error:
            where = f"models.{request.model}.arguments"
            raise UserError(f"{where}: {self.options.player}{inspect.signature(player)}: {error}") from None

    def gpus(self) -> float:
        return 0

    def start(self, run_id: str, name: str, say: Callable[[str], None]) -> None:
        return None

    def connect(self) -> ScriptedModel:
        player = load_object(self.options.player, "player")
        return ScriptedModel(player, self.options.arguments, self.options.delay_s)

    def stop(self) -> None:
        return None
