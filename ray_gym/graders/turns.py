"""Scores over the turns of a conversation: each of the policy's messages is looked at with what came before it."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ray_gym.events import Event
from ray_gym.graders.grader import Grader, Verdict

if TYPE_CHECKING:
    from ray_gym.episode import Episode

Evaluate = Callable[[Event, Sequence[Event]], float | Awaitable[float]]
"""What one message (with its tool calls) is worth, given the events before it."""


@dataclass(frozen=True)
class TurnMean(Grader):
    """The mean over the policy's messages; 0 if it never said anything."""

    evaluate: Evaluate

    async def grade(self, episode: Episode) -> Verdict:
        return await _weighted_mean(episode, self.evaluate, lambda position: 1.0)


@dataclass(frozen=True)
class RecencyWeighted(Grader):
    """Later messages count more: message number i (from 1) has weight i, or `decay` to the power of its distance from the last."""

    evaluate: Evaluate
    decay: float | None = None

    async def grade(self, episode: Episode) -> Verdict:
        last, decay = len(episode.messages_of("policy")) - 1, self.decay
        if decay is None:
            return await _weighted_mean(episode, self.evaluate, lambda position: position + 1.0)
        return await _weighted_mean(episode, self.evaluate, lambda position: decay ** (last - position))


async def _weighted_mean(episode: Episode, evaluate: Evaluate, weight: Callable[[int], float]) -> Verdict:
    messages = episode.messages_of("policy")
    if not messages:
        return Verdict(0.0, "the policy said nothing")
    values = []
    for message in messages:
        value = evaluate(message, episode.events[: message.seq])
        values.append(float(await value) if inspect.isawaitable(value) else float(value))
    weights = [weight(position) for position in range(len(values))]
    mean = sum(value * w for value, w in zip(values, weights, strict=True)) / sum(weights)
    shown = ", ".join(f"{value:g}" for value in values)
    return Verdict(mean, f"{shown}, weighted {', '.join(f'{w:g}' for w in weights)}")
