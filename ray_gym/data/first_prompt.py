"""Finds the first prompt of the policy in an episode of a task: its system prompt, and the messages of the opening or
the row.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Sequence
from typing import Any

from ray_gym.config.sections import LimitsSection, ParticipantSection
from ray_gym.data.checking import BadRow
from ray_gym.environment import Environment
from ray_gym.episode.episode import Episode
from ray_gym.episode.participant import Participant
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.episode.stage import Stage
from ray_gym.errors import EpisodeFailure, FailureKind, UserError
from ray_gym.messages import Message, ToolSchema
from ray_gym.models.base import Completion, CompletionRequest
from ray_gym.openai_api.conversation import policy_view
from ray_gym.play.play import set_up
from ray_gym.task import Task

POLICY = "policy"


class NoModel:
    """Takes the place of a model while data is examined, and fails every call."""

    def __init__(self) -> None:
        self.was_asked = False

    async def complete(self, request: CompletionRequest) -> Completion:
        """Raises EpisodeFailure (data), and sets `was_asked`."""
        self.was_asked = True
        raise EpisodeFailure(FailureKind.DATA, "model", "there is none while data is looked at", retry=False)

    async def close(self) -> None:
        """Does nothing."""


class FirstPrompts:
    """Sets episodes up as a run does, up to the first prompt, without any model.

    If the environment's `setup` reaches outside of the worker, the row's own messages are taken instead.
    """

    def __init__(self, environment: Environment[Any, Any]) -> None:
        self.environment = environment
        limits = LimitsSection()
        names = (*environment.participants, *environment.auxiliary)
        participants = {name: Participant.from_config(name, ParticipantSection(model=name), limits) for name in names}
        self._model = NoModel()
        self._stage = Stage(environment, participants, dict.fromkeys(names, self._model), limits)
        self._numbers = itertools.count()

    @property
    def tools(self) -> Sequence[ToolSchema]:
        """Returns the schemas of the tools that are offered to the policy."""
        tools = self.environment.tools.values()
        return [tool.schema for tool in tools if tool.offered_to(POLICY)]

    async def of(self, task: Task) -> list[Message] | None:
        """Returns the messages of a task's first prompt; None if the environment calls a model before it. If `setup`
        reaches outside of the worker, these are the policy's system prompt and the row's messages.

        Errors: BadRow if the environment can't set the task up; UserError if infrastructure fails.
        """
        if self.environment.opens_outside:
            return _own_messages(task)
        number = next(self._numbers)
        spec = EpisodeSpec(f"first-prompt-{number}", "", task.task_id or "", 0, number, task="")
        episode = Episode(spec, self._stage, task)
        self._model.was_asked = False
        try:
            await set_up(episode)
        except EpisodeFailure as error:
            if self._model.was_asked:
                return None
            if error.failure.kind == FailureKind.INFRA:
                raise UserError(f"no fault of the rows: {error.failure.where}: {error.failure.message}") from None
            raise BadRow([f"{error.failure.where}: {error.failure.message}"]) from None
        return list(episode.threads[POLICY].messages)

    async def close(self) -> None:
        """Closes the environment and the runner of its tools."""
        await self._stage.tool_runner.close()
        closing: object = self.environment.close()
        if inspect.isawaitable(closing):
            await closing


def _own_messages(task: Task) -> list[Message]:
    """Returns the policy's system prompt and the messages of the task's row."""
    prompt = task.prompts().get(POLICY)
    return [*([Message("system", prompt)] if prompt else []), *policy_view(task.messages)]
