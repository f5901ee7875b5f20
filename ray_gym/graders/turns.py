"""Scores the turns of a conversation: each of the policy's messages is looked at with what came before it.

Every message counts, one that calls a tool, too: a turn of three steps is three messages.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ray_gym.aio.concurrent import run_concurrently
from ray_gym.events import Event
from ray_gym.graders.grader import Grader, Verdict

if TYPE_CHECKING:
    from ray_gym.episode.episode import Episode

Evaluate = Callable[[Event, Sequence[Event]], float | Awaitable[float]]
"""Returns the worth of one message (with its tool calls), given the events before it. Awaited ones are at the same
time.
"""


@dataclass(frozen=True)
class TurnMean(Grader):
    """Gives the mean over the policy's messages; 0 if it never said anything.

    `earlier`: the assistant's messages of a conversation that the task's row brings along count, too.
    """

    evaluate: Evaluate
    earlier: bool = False

    async def grade(self, episode: Episode) -> Verdict:
        messages = _messages(episode, self.earlier)
        return await _weighted_mean(episode, self.evaluate, messages, [1.0 for _ in messages])


@dataclass(frozen=True)
class RecencyWeighted(Grader):
    """Gives a mean in which later messages count more: message number i (from 1) has weight i, or `decay` to the power
    of its distance from the last.

    `earlier`: as in `TurnMean`.
    """

    evaluate: Evaluate
    decay: float | None = None
    earlier: bool = False

    async def grade(self, episode: Episode) -> Verdict:
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
        return float(await value) if inspect.isawaitable(value) else float(value)

    values = await run_concurrently(*(value_of(message) for message in messages))
    mean = sum(value * weight for value, weight in zip(values, weights, strict=True)) / sum(weights)
    shown = ", ".join(f"{value:g}" for value in values)
    return Verdict(mean, f"{shown}, weighted {', '.join(f'{weight:g}' for weight in weights)}")
