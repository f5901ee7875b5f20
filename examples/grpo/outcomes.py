"""Counts in the record of episodes how well a policy played: rewards, legal moves, lengths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

POLICY = "policy"
SMOOTHED = 5
"""Number of batches whose mean reward says whether a policy has come to a reward: one batch is too noisy."""


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Holds what episodes have come to."""

    rewards: dict[str, float]
    """Reward of each completed episode, by its id."""
    failed: int
    """Number of episodes that were not completed."""
    messages: int
    """Number of the policy's messages."""
    legal: int
    """Number of the policy's messages that made a legal move: with calls, all carried out without an error."""
    generated: int
    """Number of the policy's tokens."""

    @property
    def reward(self) -> float:
        """Returns the mean reward; NaN without completed episodes."""
        return float(np.mean(list(self.rewards.values()))) if self.rewards else float("nan")

    @property
    def legal_share(self) -> float:
        """Returns the share of the policy's messages that made a legal move; NaN without messages."""
        return self.legal / self.messages if self.messages else float("nan")


def outcomes_of(episodes: pa.Table) -> Outcomes:
    """Counts the outcomes of episodes (`ray_gym.record.schema.SCHEMA`)."""
    columns = episodes.select(["episode_id", "status", "reward"]).to_pylist()
    completed = [row for row in columns if row["status"] == "completed" and row["reward"] is not None]
    made = [failures for events in episodes.column("events").to_pylist() for failures in failures_of_calls(events)]
    generated = sum(usage["generated_tokens"] for usage in episodes.column("usage").to_pylist())
    return Outcomes(
        rewards={row["episode_id"]: row["reward"] for row in completed},
        failed=len(columns) - len(completed),
        messages=len(made),
        legal=sum(bool(failures) and not any(failures) for failures in made),
        generated=generated,
    )


def failures_of_calls(events: Sequence[Mapping[str, Any]]) -> list[list[bool]]:
    """Returns for each of the policy's messages of an episode, in order, which of its calls failed."""
    made: list[list[bool]] = []
    for event in events:
        if event["thread"] != POLICY or event["participant"] != POLICY:
            continue
        if event["kind"] == "message":
            made.append([])
        elif event["kind"] == "tool_result" and made:
            made[-1].append(event["error"] is not None)
    return made


def steps_to(reward: float, history: Sequence[Mapping[str, Any]]) -> int | None:
    """Returns after how many steps the mean reward of the last five batches was that large at first; None: it never was."""
    rewards = [row["reward"] for row in history]
    for end in range(SMOOTHED, len(rewards) + 1):
        if sum(rewards[end - SMOOTHED : end]) / SMOOTHED >= reward:
            return end
    return None
