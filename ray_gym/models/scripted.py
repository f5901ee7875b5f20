"""Models that are Python functions: opponents, baselines, tests, benchmarks. Deterministic under the episode's seed.

A player sees exactly what a language model would: the messages of its own view and its tools.

    def player(request: CompletionRequest, rng: random.Random) -> Message: ...

One that draws nothing takes the request alone, which saves the seeding. It plays in the workers' own processes or, with `replicas`,
behind a Serve deployment, as a language model does.
"""

from __future__ import annotations

import asyncio
import inspect
import random
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from ray_gym.affinity import Transport
from ray_gym.errors import EpisodeFailure, FailureKind, UserError, describe
from ray_gym.messages import Message
from ray_gym.models.base import Completion, CompletionRequest, EngineCheck, Model
from ray_gym.plugins import load_object

if TYPE_CHECKING:
    from ray_gym.application import Application, Replicas

Player = Callable[..., Message | Awaitable[Message]]


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
    """batched: the calls of a worker to a replica go together. handle: each goes alone."""
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


class ScriptedEngine:
    Options = ScriptedOptions
    gives_tokens = False
    reshapes = ""

    def __init__(self, options: ScriptedOptions) -> None:
        self.options = options
        self._application: Application | None = None

    def check(self, request: EngineCheck) -> None:
        player = load_object(self.options.player, f"models.{request.model}.player")
        arguments = self.options.arguments
        if draws(player, arguments) and (error := _misfit(player, 2, arguments)):
            where = f"models.{request.model}.arguments"
            raise UserError(f"{where}: {self.options.player}{inspect.signature(player)}: {error}")

    def gpus(self) -> float:
        return 0

    def start(self, run_id: str, name: str, say: Callable[[str], None]) -> None:
        """Errors: UserError, RunFailed when the replicas don't come up."""
        if self.options.replicas:
            from ray_gym.application import Application  # Serve takes a second to import: only for who needs it

            self._application = Application()
            self._application.start(run_id, name, self._replicas(), say)

    def connect(self) -> Model:
        if self._application is None:
            return load_scripted(self.options)
        from ray_gym.transport import ServeModel

        return ServeModel(self._application.name, transport=self.options.transport)

    def stop(self) -> None:
        if self._application is not None:
            self._application.stop()

    def _replicas(self) -> Replicas:
        from ray_gym.application import Replicas, digest_options
        from ray_gym.models.scripted_replica import ScriptedReplica

        options = self.options
        return Replicas(
            of=ScriptedReplica,
            arguments=(options,),
            count=options.replicas,
            max_ongoing_requests=options.max_ongoing_requests,
            actor_options={"num_cpus": options.cpus},
            start_timeout_s=options.start_timeout_s,
            what="the player",
            loading=options.player,
            digest=digest_options(options),
            batched=options.transport == "batched",
        )


def draws(player: Player, arguments: dict[str, Any]) -> bool:
    """Whether it takes an `rng`; one that can be called neither way counts as if it did."""
    return _misfit(player, 2, arguments) is None or _misfit(player, 1, arguments) is not None


def _misfit(player: Player, positional: int, arguments: dict[str, Any]) -> TypeError | None:
    """Why it can't be called with so many arguments before those of the config."""
    try:
        inspect.signature(player).bind(*[None] * positional, **arguments)
    except TypeError as error:
        return error
    return None


def load_scripted(options: ScriptedOptions) -> ScriptedModel:
    return ScriptedModel(load_object(options.player, "player"), options.arguments, options.delay_s)
