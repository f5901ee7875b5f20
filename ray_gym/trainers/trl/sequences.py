"""Makes one token sequence of each episode, since a sample of TRL's synchronous trainer is one sequence.

Its batch has exactly `num_generations` rows a group. So each episode gives one row: its sample; of several samples of
an episode with forks the one that is chosen; or, without any, a row of one masked token that trains nothing. All that is
left out is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ray_gym.advantages import rewards_of
from ray_gym.errors import UserError
from ray_gym.stream import Group
from ray_gym.trainers.rows import Row, rows_of

ForkChoice = Literal["refuse", "longest", "last"]
"""Sample of an episode with forks that is trained on.

"refuse": such an episode ends the training with an error. "longest": the one with most generated tokens, the first of
equals. "last": the newest, which has the whole conversation as the model saw it at last.
"""


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


@dataclass(frozen=True, slots=True)
class Limits:
    """Holds the most tokens of a sequence and of its completion; None means no limit."""

    sequence: int | None = None
    completion: int | None = None

    def allow(self, row: Row) -> bool:
        """Says whether a row is within the limits."""
        tokens = len(row.token_ids)
        too_long = self.sequence is not None and tokens > self.sequence
        return not too_long and (self.completion is None or tokens - row.begins_at <= self.completion)


def sequences_of(
    group: Group, size: int, forks: ForkChoice, limits: Limits, end: int, participant: str = "policy"
) -> tuple[list[OneSequence], Counter[str]]:
    """Returns `size` sequences: one for each completed episode of the group, in their order, and rows that train nothing
    for the others. Also returns counts of what was left out.

    `end`: token id of rows that train nothing. Counts: `episodes`, `failed` ones, `surplus` ones (`groups.extra`),
    `silent` ones (completed without a trainable token), `too_long` ones (over `limits`), and `forked` ones with
    `fork_samples` and `fork_tokens` (generated ones) that are not trained on. Errors: UserError for a fork under
    "refuse", and for trainable samples of other participants.
    """
    counts = Counter[str]()
    of_episodes: dict[str, list[Row]] = {}
    for row in rows_of(group):
        if row.participant != participant:
            raise UserError(
                f"{row.episode_id}: a sample of {row.participant} is trainable, and this trainer takes one sequence an "
                f"episode, {participant}'s; set participants.{row.participant}.trainable: false, or take the "
                "asynchronous trainer"
            )
        of_episodes.setdefault(row.episode_id, []).append(row)
    made = []
    ids, statuses = (group.episodes.column(name).to_pylist() for name in ("episode_id", "status"))
    for episode_id, status, reward in zip(ids, statuses, rewards_of(group.episodes, participant), strict=True):
        counts["episodes"] += 1
        if status != "completed":
            counts["surplus" if status == "cancelled" else "failed"] += 1
            continue
        scored = None if np.isnan(reward) else float(reward)
        chosen = _chosen(of_episodes.get(episode_id, []), forks, counts)
        if chosen is None:
            counts["silent"] += 1
        elif not limits.allow(chosen):
            counts["too_long"] += 1
            chosen = None
        made.append(_untrained(end, scored) if chosen is None else _trained(chosen, scored))
    return made + [_untrained(end, None) for _ in range(size - len(made))], counts


def _chosen(rows: Sequence[Row], forks: ForkChoice, counts: Counter[str]) -> Row | None:
    """Returns the row of an episode to train on; None if it has none. Counts the others."""
    if len(rows) < 2:
        return rows[0] if rows else None
    if forks == "refuse":
        reasons = ", ".join(str(row.fork_reason) for row in rows[1:])
        raise UserError(
            f"{rows[0].episode_id}: it has {len(rows)} samples ({reasons}), and this trainer takes one sequence an "
            'episode; choose forks="longest" or "last", or take the asynchronous trainer, which takes them all'
        )
    chosen = rows[-1] if forks == "last" else max(rows, key=lambda row: row.generated)
    counts["forked"] += 1
    counts["fork_samples"] += len(rows) - 1
    counts["fork_tokens"] += sum(row.generated for row in rows if row is not chosen)
    return chosen


def _trained(row: Row, reward: float | None) -> OneSequence:
    begins, ids = row.begins_at, row.token_ids.tolist()
    mask, logprobs = row.loss_mask.tolist(), row.logprobs.tolist()
    return OneSequence(ids[:begins], ids[begins:], mask[begins:], logprobs[begins:], reward)


def _untrained(end: int, reward: float | None) -> OneSequence:
    return OneSequence([end], [end], [0], [0.0], reward)
