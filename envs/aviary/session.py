"""One session with an environment of the library: what it observes, as text, and what it rewards."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ray_gym import Episode, Message, ToolSchema
from ray_gym.tools.arguments import BadArguments

Call = tuple[str, dict[str, Any]]
"""A tool's name and its arguments."""

MISTAKES = (ValueError, TypeError, LookupError, ArithmeticError)
"""What arguments that fit the schema and are wrong all the same make a tool raise."""


class Refused(Exception):
    """Why the environment could not do what it was asked: an observation."""


@dataclass(slots=True)
class Session:
    environment: Any
    episode: Episode
    schemas: Sequence[ToolSchema] = ()
    first: Sequence[Message] = field(default_factory=list)
    reward: float = 0.0
    """The sum over the steps so far."""
    calls: int = 0
    outcome: str | None = None
    is_closed: bool = False
    _message: int = -1
    """The message (its number in the record) whose calls were made last."""
    _results: deque[str | Refused] = field(default_factory=deque)
    """Of that message's calls that were not asked for yet."""

    async def reset(self) -> None:
        """Errors: ValueError for what a model can't be shown."""
        observations, tools = await self.environment.reset()
        self.schemas = [ToolSchema.from_openai(tool.model_dump(exclude_none=True, by_alias=True)) for tool in tools]
        self.first = [_as_message(observation) for observation in observations]

    async def call(self, name: str, arguments: dict[str, Any]) -> str:
        """The result of one tool call. All calls of a message are one step: the first that is asked for makes it. Errors: Refused."""
        if not self._results:
            calls = self._written((name, arguments))
            try:
                self._results.extend(await self._call_all(self.episode.answer, calls))
            except Refused as error:
                self._results.extend([error] * len(calls))
        result = self._results.popleft()
        if isinstance(result, Refused):
            raise result
        return result

    async def say(self, said: str) -> str:
        """A step without one. Errors: Refused."""
        from aviary.core import Message as Said

        return _text(await self._step(Said(role="assistant", content=said)))

    async def close(self) -> None:
        if not self.is_closed:
            self.is_closed = True
            await self.environment.close()

    def _written(self, asked: Call) -> list[Call]:
        """The calls of the policy's last message that fit their schemas; one that was made in its name from outside stands alone."""
        said = self.episode.messages_of("policy")
        if not said or said[-1].seq == self._message:
            return [asked]
        self._message = said[-1].seq
        calls = []
        for call in said[-1].tool_calls:
            with contextlib.suppress(KeyError, BadArguments):
                calls.append((call.name, self.episode.tools[call.name].arguments.read(call.arguments or "{}")))
        return calls if asked in calls[:1] else [asked]

    async def _call_all(self, said: str, calls: Sequence[Call]) -> list[str]:
        """What was observed of each call; what belongs to none is told with the last."""
        from aviary.core import ToolCall, ToolRequestMessage

        made = []
        for name, arguments in calls:
            self.calls += 1
            made.append(ToolCall.from_name(name, id=f"call_{self.calls}", **arguments))
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
            raise Refused(f"{type(error).__name__}: {error}") from None
        self.reward += float(reward)
        if done or truncated:
            self.outcome = "done" if done else "truncated"
        found: Sequence[Any] = observations
        return found


def _text(observations: Sequence[Any]) -> str:
    return "\n".join(_as_message(observation).content for observation in observations)


def _as_message(observation: Any) -> Message:
    """Errors: ValueError for images."""
    if observation.is_multimodal:
        raise ValueError("an observation is more than text, which no model here is shown")
    return Message("system" if observation.role == "system" else "user", observation.content or "")
