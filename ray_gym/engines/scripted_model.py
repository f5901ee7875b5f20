"""Wraps a player (a Python function that stands in for a language model) as a model."""

from __future__ import annotations

import asyncio
import inspect
import random
from typing import Annotated, Any

import msgspec
from pydantic import BaseModel, ConfigDict, Field

from ray_gym.aio.leaked import is_end_from_outside, running_task
from ray_gym.errors import EpisodeFailure, Failure, FailureKind, code_place
from ray_gym.hosting.affinity import Transport
from ray_gym.load_object import load_object
from ray_gym.messages import Message
from ray_gym.models.base import Completion, CompletionRequest
from ray_gym.models.numbers import Integer, Real
from ray_gym.models.player import Player


class ScriptedOptions(BaseModel):
    """Holds the options of `engine: scripted` in a config."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    player: str
    """Name of the player, as package.module:function."""
    arguments: dict[str, Any] = {}
    """Keyword arguments of every call of the player."""
    delay_s: Annotated[Real, Field(ge=0)] = 0
    """Seconds before each answer, to simulate a slow model."""
    replicas: Annotated[Integer, Field(ge=0)] = 0
    """Number of replicas of a Serve deployment that the player runs in; 0: it runs in the workers' processes."""
    max_ongoing_requests: Annotated[Integer, Field(ge=1)] = 200
    """Largest number of calls that a replica carries out at a time; further calls wait."""
    transport: Transport = "batched"
    """batched: the calls of a worker to a replica are sent together. handle: each is sent alone by Serve's handle.
    Under RAY_USE_TLS always handle.
    """
    cpus: Annotated[Real, Field(ge=0)] = 0
    """CPUs that Ray reserves for a replica."""
    start_timeout_s: Annotated[Real, Field(gt=0)] = 120
    """Seconds within which all replicas have to be up."""


class ScriptedModel:
    """Answers calls to a model by a player, a Python function, instead of an engine. It is safe for many concurrent calls
    on one event loop.
    """

    def __init__(self, player: Player, arguments: dict[str, Any], delay_s: float) -> None:
        """Creates a model. `player` is a function or coroutine function, called with a request, an `rng` if it takes
        one, and `arguments`. `delay_s`: seconds before each answer.
        """
        self._player = player
        self._arguments = arguments
        self._delay_s = delay_s
        self._takes_rng = takes_rng(player, arguments)

    async def complete(self, request: CompletionRequest) -> Completion:
        """Returns the player's message as a completion without tokens, after `delay_s` seconds.

        Errors: EpisodeFailure (environment if the player raises, data if the request has a `response_format`).
        """
        if request.response_format is not None:
            raise EpisodeFailure(FailureKind.DATA, "response_format", "a scripted model can't follow one; leave it out")
        if self._delay_s:
            await asyncio.sleep(self._delay_s)
        task = running_task()
        try:
            rngs = (random.Random(request.seed),) if self._takes_rng else ()
            answer = self._player(request, *rngs, **self._arguments)
            message = await answer if inspect.isawaitable(answer) else answer
        except BaseException as error:
            if is_end_from_outside(error, task):
                raise
            raise EpisodeFailure.of(Failure.of(error, "scripted player", code=self._player)) from error
        return Completion(self._checked(message))

    def _checked(self, answer: object) -> Message:
        """Returns a player's answer as a message whose every field is of its type.

        Errors: EpisodeFailure, with the player's place, for other answers, which would look like the environment's
        faults where they are used.
        """
        wrong = "" if isinstance(answer, Message) else type(answer).__name__
        try:
            if not wrong:
                return msgspec.convert(msgspec.to_builtins(answer, enc_hook=_plain_text), Message)
        except (TypeError, msgspec.ValidationError) as error:
            wrong = f"Message that is none ({error})"
        name = getattr(self._player, "__qualname__", type(self._player).__name__)
        told = f"the player {name} returned a {wrong}; expected a Message with a text"
        raise EpisodeFailure(FailureKind.ENVIRONMENT, f"scripted player{code_place(self._player)}", told)

    async def close(self) -> None:
        return None


def _plain_text(value: object) -> str:
    """Returns a value of a subclass of `str` as a plain text. Errors: TypeError for other values."""
    if not isinstance(value, str):
        raise TypeError(f"unexpected {type(value).__name__}")
    return str(value)


def takes_rng(player: Player, arguments: dict[str, Any]) -> bool:
    """Returns True if the player takes an `rng`, and also if it can be called neither with one nor without."""
    return call_error(player, 2, arguments) is None or call_error(player, 1, arguments) is not None


def call_error(player: Player, positional: int, arguments: dict[str, Any]) -> TypeError | None:
    """Returns the error that a call of the player with `positional` positional arguments and the keyword `arguments`
    would raise for its signature, or None if it fits. The player is not called.
    """
    try:
        inspect.signature(player).bind(*[None] * positional, **arguments)
    except TypeError as error:
        return error
    return None


def load_scripted(options: ScriptedOptions) -> ScriptedModel:
    """Imports the player, and returns the model that calls it. Errors: UserError if it can't be imported."""
    return ScriptedModel(load_object(options.player, "player"), options.arguments, options.delay_s)
