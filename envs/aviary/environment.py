"""Plays environments of Future House's library aviary: they bring their own tools, and each message is a step."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field, JsonValue, model_validator

from ray_gym import (
    Environment,
    Episode,
    EpisodeFailure,
    FailureKind,
    Opening,
    Participant,
    Task,
    Tool,
    ToolError,
    tool_by_schema,
)
from ray_gym import Options as EnvironmentOptions
from ray_gym.envs.aviary.library import check_arguments, make, maker
from ray_gym.envs.aviary.session import AviarySession, StepRefused
from ray_gym.stop import StopReason
from ray_gym.tools.answer import within


class AviaryTask(Task):
    """A task says how the config's environment is made. `arguments` are added to those of the config and win over them.
    `index` is the place in a dataset of the library (from 0). `seed` is passed as the argument that the config's
    `seed_argument` names; without one it is not used.
    """

    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    index: Annotated[int, Field(ge=0)] = 0
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0


class AviaryOptions(EnvironmentOptions):
    """Chooses the library's environment, and its arguments."""

    environment: str
    """package.module:Name of an environment, of its maker, or of a dataset of them; or a name that the library knows.
    """
    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    """Arguments that the environment is made with."""
    seed_argument: str | None = None
    """Name of the argument that the task's seed is given as. None means that no seed is given."""

    @model_validator(mode="after")
    def _check_maker(self) -> AviaryOptions:
        maker(self.environment)
        return self

    def arguments_for(self, task: AviaryTask) -> dict[str, Any]:
        """Returns the arguments that a task's environment is made with: the config's, the task's and the seed. Of two
        with the same name, the later one in this order wins.
        """
        seed = {} if self.seed_argument is None else {self.seed_argument: task.seed}
        return {**self.arguments, **task.arguments, **seed}


class Aviary(Environment[AviaryTask, AviarySession]):
    """Plays any environment of the library aviary, with the tools that it brings."""

    pattern = "multi-step"
    opening_observes = True
    scoring = "the library's rewards, added up"
    reward_range = (-math.inf, math.inf)
    Options = AviaryOptions

    def generate(self, rng: random.Random, index: int) -> AviaryTask:
        task = AviaryTask(index=index, seed=rng.randrange(2**31))
        if index == 0:  # generated tasks have the config's arguments alone: one check is enough
            self.check(task)
        return task

    def check(self, task: AviaryTask) -> None:
        check_arguments(self.options.environment, self.options.arguments_for(task))

    async def setup(self, task: AviaryTask, episode: Episode) -> AviarySession:
        arguments = self.options.arguments_for(task)
        try:
            made = await episode.in_thread(make, self.options.environment, arguments, task.index)
        except IndexError as error:
            raise EpisodeFailure(FailureKind.DATA, "task.index", f"there is no task {task.index}: {error}") from error
        session = AviarySession(made, episode)
        await session.reset()
        return session

    def tools_for(self, task: AviaryTask, state: AviarySession) -> Sequence[Tool]:
        return [tool_by_schema(schema, self.act) for schema in state.schemas]

    def opening(self, task: AviaryTask, state: AviarySession) -> Opening:
        system = "\n\n".join(message.content for message in state.first if message.role == "system")
        messages = [message for message in state.first if message.role != "system"]
        return Opening(system={"policy": system} if system else {}, messages={"policy": messages})

    async def act(self, state: AviarySession, caller: Participant, name: str, arguments: dict[str, Any]) -> str:
        """Makes a call of any of the library's tools, and returns its result. Errors: ToolError if the environment
        refuses it; ValueError for an observation that is more than text.
        """
        try:
            return await state.call(name, arguments)
        except StepRefused as error:
            raise ToolError(str(error)) from None

    async def run(self, episode: Episode) -> None:
        session: AviarySession = episode.state
        try:
            while not episode.stopped:
                await episode.turn("policy")
                if not episode.stopped and not episode.messages_of("policy")[-1].tool_calls:
                    await self._say(episode, session)
        finally:
            await session.close()

    async def _say(self, episode: Episode, session: AviarySession) -> None:
        """Takes a step with the policy's last message, which calls no tool. Tells the policy the environment's answer,
        the reason for which it refused the step, or `Go on.`. Ends the episode once the environment has ended. Errors:
        TimeoutError after `tool_deadline_s`; ValueError for an observation that is more than text.
        """
        try:
            observed = await within(session.say(episode.answer), episode.limits.tool_deadline_s)
        except StepRefused as error:
            observed = str(error)
        if observed or session.outcome is None:
            episode.tell("policy", observed or "Go on.")
        if session.outcome is not None:
            episode.end(StopReason.FINISHED, session.outcome)

    def finished(self, state: AviarySession, episode: Episode) -> str | None:
        return state.outcome

    async def score(self, state: AviarySession, episode: Episode) -> float:
        await state.close()
        return state.reward
