"""Makes one token sequence of each episode, since a sample of TRL's synchronous trainer is one sequence.

Its batch has exactly `num_generations` rows a group. So each episode gives one row: its sample; of several samples of
an episode with forks the one that is chosen; or, without any, a row of one masked token that trains nothing. All that is
left out is counted.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from ray_gym.advantages import rewards_of
from ray_gym.stream import Group
from ray_gym.trainers.one_row import ForkChoice, Limits, OneRow
from ray_gym.trainers.rows import Row

OTHERWISE = ", or take the asynchronous trainer, which takes all sequences"


@dataclass(frozen=True, slots=True)
class OneSequence:
    """Holds the fields of an episode that TRL's `rollout_func` returns."""

    prompt_ids: list[int]
    completion_ids: list[int]
    """All tokens from the first generated one on."""
    env_mask: list[int]
    """1 for generated tokens of the completion, 0 for others."""
    logprobs: list[float]
    reward: float | None
    """Reward of the episode; None if it failed, which TRL leaves out of the baseline."""


def sequences_of(
    group: Group, size: int, forks: ForkChoice, limits: Limits, end: int, participant: str = "policy"
) -> tuple[list[OneSequence], Counter[str]]:
    """Returns `size` sequences: one for each completed episode of the group, in their order, and rows that train nothing
    for the others. Also returns the counts of `OneRow.of`.

    `end`: token id of rows that train nothing. Errors: UserError for a fork under "refuse", and for trainable samples of
    other participants.
    """
    rows, counts = OneRow(forks, limits, participant, OTHERWISE).of(group)
    statuses, rewards = group.episodes.column("status").to_pylist(), rewards_of(group.episodes, participant)
    made = []
    for row, status, reward in zip(rows, statuses, rewards, strict=True):
        if status == "completed":
            scored = None if np.isnan(reward) else float(reward)
            made.append(_untrained(end, scored) if row is None else _trained(row, scored))
    return made + [_untrained(end, None) for _ in range(size - len(made))], counts


def _trained(row: Row, reward: float | None) -> OneSequence:
    begins, ids = row.begins_at, row.token_ids.tolist()
    mask, logprobs = row.loss_mask.tolist(), row.logprobs.tolist()
    return OneSequence(ids[:begins], ids[begins:], mask[begins:], logprobs[begins:], reward)


def _untrained(end: int, reward: float | None) -> OneSequence:
    return OneSequence([end], [end], [0], [0.0], reward)
