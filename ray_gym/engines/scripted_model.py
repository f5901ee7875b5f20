"""Wraps a player, a Python function, as a model."""

from __future__ import annotations

import asyncio
import inspect
import random
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from ray_gym.errors import EpisodeFailure, FailureKind, describe
from ray_gym.hosting.affinity import Transport
from ray_gym.load_object import load_object
from ray_gym.models.base import Completion, CompletionRequest

if TYPE_CHECKING:
    pass
from ray_gym.models.player import Player


class ScriptedOptions(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    player: str
    """package.module:function"""
    arguments: dict[str, Any] = {}
    """Keyword arguments for the player."""
    delay_s: Annotated[float, Field(ge=0)] = 0
    """Seconds before each answer, for a model that takes its time."""
    replicas: Annotated[int, Field(ge=0)] = 0
    """Replicas of a Serve deployment that the player plays in; 0: in the workers' own processes."""
    max_ongoing_requests: Annotated[int, Field(ge=1)] = 200
    """A replica's; what comes on top waits at the workers."""
    transport: Transport = "batched"
    """batched: the calls of a worker to a replica go together. handle: each goes alone. Under RAY_USE_TLS always handle."""
    cpus: Annotated[float, Field(ge=0)] = 0
    """A replica's."""
    start_timeout_s: Annotated[float, Field(gt=0)] = 120


class ScriptedModel:
    def __init__(self, player: Player, arguments: dict[str, Any], delay_s: float) -> None:
        self._player = player
        self._arguments = arguments
        self._delay_s = delay_s
        self._draws = draws(player, arguments)

    async def complete(self, request: CompletionRequest) -> Completion:
        if request.response_format is not None:
            raise EpisodeFailure(FailureKind.DATA, "response_format", "a scripted model keeps to no form; leave it out")
        if self._delay_s:
            await asyncio.sleep(self._delay_s)
        try:
            drawn_with = (random.Random(request.seed),) if self._draws else ()
            answer = self._player(request, *drawn_with, **self._arguments)
            message = await answer if inspect.isawaitable(answer) else answer
        except Exception as error:
            raise EpisodeFailure(FailureKind.ENVIRONMENT, "scripted player", describe(error)) from error
        return Completion(message)

    async def close(self) -> None:
        return None


def draws(player: Player, arguments: dict[str, Any]) -> bool:
    """Says whether the player takes an `rng`. A player that can be called neither with nor without one counts as if it
    did.
    """
    return _misfit(player, 2, arguments) is None or _misfit(player, 1, arguments) is not None


def _misfit(player: Player, positional: int, arguments: dict[str, Any]) -> TypeError | None:
    """Returns the error of a call with so many positional arguments before those of the config, or None if it fits."""
    try:
        inspect.signature(player).bind(*[None] * positional, **arguments)
    except TypeError as error:
        return error
    return None


def load_scripted(options: ScriptedOptions) -> ScriptedModel:
    return ScriptedModel(load_object(options.player, "player"), options.arguments, options.delay_s)
