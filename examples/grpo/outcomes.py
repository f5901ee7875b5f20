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
    """Number of the policy's tool calls that were carried out without an error."""
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
    kinds = {("message", False): 0, ("tool_result", False): 0}
    for events in episodes.column("events").to_pylist():
        for event in events:
            key = (event["kind"], event["error"] is not None)
            if event["thread"] == POLICY and event["participant"] == POLICY and key in kinds:
                kinds[key] += 1
    generated = sum(usage["generated_tokens"] for usage in episodes.column("usage").to_pylist())
    return Outcomes(
        rewards={row["episode_id"]: row["reward"] for row in completed},
        failed=len(columns) - len(completed),
        messages=kinds["message", False],
        legal=kinds["tool_result", False],
        generated=generated,
    )


def steps_to(reward: float, history: Sequence[Mapping[str, Any]]) -> int | None:
    """Returns after how many steps the mean reward of the last five batches was that large at first; None: it never was."""
    rewards = [row["reward"] for row in history]
    for end in range(SMOOTHED, len(rewards) + 1):
        if sum(rewards[end - SMOOTHED : end]) / SMOOTHED >= reward:
            return end
    return None
