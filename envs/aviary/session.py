"""Drives an environment of the library in one episode: gives its observations as text, and adds up its rewards."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ray_gym import Episode, Message, ToolSchema
from ray_gym.tools.arguments import BadArguments

Call = tuple[str, dict[str, Any]]
"""Name and arguments of a tool call."""

MISTAKES = (ValueError, TypeError, LookupError, ArithmeticError)
"""Exceptions that a tool raises for arguments that fit its schema but are wrong."""


class StepRefused(Exception):
    """Says why the environment refused a step. The policy is told its message."""


@dataclass(slots=True)
class AviarySession:
    """The state of an episode is the library's environment, with its tools, first messages and rewards so far."""

    environment: Any
    """The library's environment."""
    episode: Episode
    schemas: Sequence[ToolSchema] = ()
    """Tools that the environment brings."""
    first: Sequence[Message] = field(default_factory=list)
    """Messages that the environment opens with."""
    reward: float = 0.0
    """Sum of the rewards of the steps so far."""
    calls: int = 0
    """Number of tool calls made so far."""
    outcome: str | None = None
    """`done` or `truncated` once the environment has ended, else None."""
    is_closed: bool = False
    """True once the environment was closed."""
    _message: int = -1
    """Number in the record (`seq`) of the message whose calls were made last."""
    _results: deque[str | StepRefused] = field(default_factory=deque)
    """Results of that message's calls that have not been returned yet."""

    async def reset(self) -> None:
        """Resets the library's environment, and keeps its tools and first messages. Errors: ValueError for an
        observation that is more than text, or for a tool without a schema.
        """
        observations, tools = await self.environment.reset()
        self.schemas = [ToolSchema.from_openai(tool.model_dump(exclude_none=True, by_alias=True)) for tool in tools]
        self.first = [_as_message(observation) for observation in observations]

    async def call(self, name: str, arguments: dict[str, Any]) -> str:
        """Returns the observations that answer one tool call, as text.

        The first call of a message takes one step with all calls of the message, and the others get their results from
        that step. Errors: StepRefused if the environment refused the step; ValueError for an observation that is more
        than text.
        """
        if not self._results:
            calls = self._calls_of_step((name, arguments))
            try:
                self._results.extend(await self._call_all(self.episode.answer, calls))
            except StepRefused as error:
                self._results.extend([error] * len(calls))
        result = self._results.popleft()
        if isinstance(result, StepRefused):
            raise result
        return result

    async def say(self, said: str) -> str:
        """Takes a step with a text and no tool call, and returns the observations as text.

        Errors: StepRefused if the environment refuses the step; ValueError for an observation that is more than text.
        """
        from aviary.core import Message as Said

        return _text(await self._step(Said(role="assistant", content=said)))

    async def close(self) -> None:
        """Closes the library's environment, unless that was done before."""
        if not self.is_closed:
            self.is_closed = True
            await self.environment.close()

    def _calls_of_step(self, asked: Call) -> list[Call]:
        """Returns the calls of the next step: those of the policy's last message that fit their schemas.

        Returns `asked` alone if it is not the first of these calls, or if the policy's last message has had its step.
        """
        said = self.episode.messages_of("policy")
        if not said or said[-1].seq == self._message:
            return [asked]
        self._message = said[-1].seq
        calls = []
        for call in said[-1].tool_calls:
            with contextlib.suppress(KeyError, BadArguments):
                calls.append((call.name, self.episode.tools[call.name].arguments.read(call.arguments)))
        return calls if asked in calls[:1] else [asked]

    async def _call_all(self, said: str, calls: Sequence[Call]) -> list[str]:
        """Makes calls as one step, and returns the observations for each call as text, in the order of the calls.
        Observations that belong to no call go to the last. Errors: StepRefused if the environment refuses the step;
        ValueError for an observation that is more than text.
        """
        from aviary.core import ToolCall, ToolCallFunction, ToolRequestMessage

        made = []
        for name, arguments in calls:
            self.calls += 1
            function = ToolCallFunction(name=name, arguments=arguments)
            made.append(ToolCall(id=f"call_{self.calls}", function=function))
        observations = await self._step(ToolRequestMessage(content=said, tool_calls=made))
        asked = {call.id: number for number, call in enumerate(made)}
        told: list[list[Any]] = [[] for _ in made]
        for observation in observations:
            told[asked.get(getattr(observation, "tool_call_id", None), -1)].append(observation)
        return [_text(each) for each in told]

    async def _step(self, action: Any) -> Sequence[Any]:
        try:
            observations, reward, done, truncated = await self.environment.step(action)
        except MISTAKES as error:
            raise StepRefused(f"{type(error).__name__}: {error}") from None
        self.reward += float(reward)
        if done or truncated:
            self.outcome = "done" if done else "truncated"
        found: Sequence[Any] = observations
        return found


def _text(observations: Sequence[Any]) -> str:
    return "\n".join(_as_message(observation).content for observation in observations)


def _as_message(observation: Any) -> Message:
    """Turns an observation into a message of the system or user. Errors: ValueError if it is more than text."""
    if observation.is_multimodal:
        raise ValueError("an observation is more than text, which no model here is shown")
    return Message("system" if observation.role == "system" else "user", observation.content or "")
