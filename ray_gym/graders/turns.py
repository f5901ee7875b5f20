"""Scores the messages of a conversation: each message of the policy is evaluated with the events before it.

A message that calls a tool counts too, so a turn of three steps has three messages.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, SupportsFloat

from ray_gym.aio.concurrent import run_concurrently
from ray_gym.events import Event
from ray_gym.graders.grader import Grader, Verdict, wrong_argument

if TYPE_CHECKING:
    from ray_gym.episode.episode import Episode

Evaluate = Callable[[Event, Sequence[Event]], float | Awaitable[float]]
"""Function that returns the value of a message (with its tool calls), given the events before it. If it returns
awaitables, they run at the same time."""


@dataclass(frozen=True)
class TurnMean(Grader):
    """Gives the mean of the values of the policy's messages; 0 if there are none."""

    evaluate: Evaluate
    """Evaluates a message."""
    earlier: bool = False
    """True if the assistant's messages in the task's row count too."""

    async def grade(self, episode: Episode) -> Verdict:
        """Returns the mean of the messages' values; 0 if there are no messages."""
        messages = _messages(episode, self.earlier)
        return await _weighted_mean(episode, self.evaluate, messages, [1.0 for _ in messages])


@dataclass(frozen=True)
class RecencyWeighted(Grader):
    """Gives a weighted mean of the values of the policy's messages, in which later messages count more; 0 if there are
    none.
    """

    evaluate: Evaluate
    """Evaluates a message."""
    decay: float | None = None
    """Base of the weights: a message weighs `decay` to the power of its distance from the last. None weighs message
    number i (from 1) by i."""
    earlier: bool = False
    """True if the assistant's messages in the task's row count too."""

    async def grade(self, episode: Episode) -> Verdict:
        """Returns the weighted mean of the messages' values; 0 if there are no messages."""
        messages, decay = _messages(episode, self.earlier), self.decay
        positions, last = range(len(messages)), len(messages) - 1
        weights = [position + 1.0 if decay is None else decay ** (last - position) for position in positions]
        return await _weighted_mean(episode, self.evaluate, messages, weights)


def _messages(episode: Episode, earlier: bool) -> list[Event]:
    said = [event for event in episode.events if event.thread == "policy" and event.role == "assistant"]
    return said if earlier else episode.messages_of("policy")


async def _weighted_mean(
    episode: Episode, evaluate: Evaluate, messages: Sequence[Event], weights: Sequence[float]
) -> Verdict:
    if not messages:
        return Verdict(0.0, "the policy said nothing")

    async def value_of(message: Event) -> float:
        value = evaluate(message, episode.events[: message.seq])
        value = await value if inspect.isawaitable(value) else value
        if not isinstance(value, SupportsFloat):  # float() would take a text, too
            raise wrong_argument("the value that `evaluate` gives a message", value, "a number")
        return float(value)

    values = await run_concurrently(*(value_of(message) for message in messages))
    mean = sum(value * weight for value, weight in zip(values, weights, strict=True)) / sum(weights)
    shown = ", ".join(f"{value:g}" for value in values)
    return Verdict(mean, f"{shown}, weighted {', '.join(f'{weight:g}' for weight in weights)}")
