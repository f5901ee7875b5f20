"""Makes rows of SkyRL's step-wise batches of a group's episodes: one of each sample, so that forks stay whole.

SkyRL takes the reward of a trajectory's last row, compares it with those of the other trajectories of its prompt, and
gives all rows of the trajectory the same advantage. So that this is the advantage of `ray_gym.advantages`:

* A failed episode has no row, since its reward would be part of the baseline. It is counted.
* An episode that was completed without a sample to train on keeps its place in the baseline by a row that trains nothing.
* An episode that is left alone is joined by such a row with its own reward. SkyRL would take its reward as it is for the
  advantage; so it is 0.
* A prompt all of whose episodes failed has one such row, since SkyRL wants rows of each prompt.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from ray_gym.advantages import rewards_of
from ray_gym.errors import UserError
from ray_gym.stream import Group
from ray_gym.trainers.rows import Row, rows_of


@dataclass(frozen=True, slots=True)
class TrajectoryRow:
    """Holds the fields of a row of SkyRL's `GeneratorOutput`."""

    instance_id: str
    """SkyRL's id of the prompt."""
    repetition_id: int
    """Number of the episode in its group, from 0."""
    prompt_token_ids: list[int]
    response_ids: list[int]
    """All tokens from the first generated one on."""
    loss_mask: list[int]
    """1 for generated tokens of the response, 0 for others."""
    logprobs: list[float]
    """Recorded logprobs of generated tokens of the response, 0 for others."""
    reward: float
    stop_reason: str
    is_last: bool
    """True for the last row of the trajectory."""
    version: int | None
    """Oldest version of the weights that a generated token came from; None for a row that trains nothing."""


def trajectory_rows(
    group: Group,
    instance_id: str,
    longest: int | None,
    filler: int,
    *,
    trains: bool = True,
    participant: str = "policy",
) -> tuple[list[TrajectoryRow], Counter[str]]:
    """Returns the rows of a group, those of an episode one after another, and counts of what is left out.

    `longest`: most tokens of a row; None means no limit. `filler`: token id of rows that train nothing. `trains`: False
    for an evaluation, in which an episode that is alone stays so. Counts:
    `groups`, `episodes`, `rows`, `forks` among them, `failed` episodes, `silent` ones (completed without a trainable
    token), `too_long` samples, `alone` episodes and `barren` groups (without a row that trains). Errors: UserError for
    trainable samples of other participants.
    """
    of_episodes, counts = _rows_of_episodes(group, participant, longest)
    counts.update(groups=1, episodes=group.episodes.num_rows)
    made, repeat, last_reward = list[TrajectoryRow](), 0, 0.0
    known = [
        (row, float(reward))
        for row, reward in zip(_facts(group), rewards_of(group.episodes, participant), strict=True)
        if not np.isnan(reward)
    ]
    counts["failed"] += group.episodes.num_rows - len(known)
    for (episode_id, repeat, reason), reward in known:
        rows, last_reward = of_episodes.get(episode_id), reward
        if rows is None:
            counts["silent"] += 1
        if rows:
            stopped = "length" if reason == "max_tokens" else "stop"
            made += [_row(row, instance_id, repeat, reward, stopped, row is rows[-1]) for row in rows]
        else:
            made.append(_untrained(instance_id, repeat, reward, filler))
    if not known or (trains and len(known) == 1):
        counts["alone"] += len(known)
        made.append(_untrained(instance_id, repeat + 1, last_reward, filler))
    counts["rows"] = sum(row.version is not None for row in made)
    counts["barren"] += not counts["rows"]
    return made, counts


def _rows_of_episodes(group: Group, participant: str, longest: int | None) -> tuple[dict[str, list[Row]], Counter[str]]:
    """Returns the rows of each episode that has some, without those that are too long, and counts of rows."""
    of_episodes, counts = dict[str, list[Row]](), Counter[str]()
    for row in rows_of(group):
        if row.participant != participant:
            raise UserError(
                f"{row.episode_id}: a sample of {row.participant} is trainable, and a trajectory of SkyRL has one "
                f"reward, {participant}'s; set participants.{row.participant}.trainable: false"
            )
        rows = of_episodes.setdefault(row.episode_id, [])
        if longest is not None and len(row.token_ids) > longest:
            counts["too_long"] += 1
        else:
            rows.append(row)
            counts["forks"] += row.fork > 0
    return of_episodes, counts


def _facts(group: Group) -> list[tuple[str, int, str]]:
    """Returns the id, the number in the group, and the stop reason of each episode."""
    columns = (group.episodes.column(name).to_pylist() for name in ("episode_id", "repeat", "stop_reason"))
    return list(zip(*columns, strict=True))


def _row(row: Row, instance_id: str, repeat: int, reward: float, stop_reason: str, is_last: bool) -> TrajectoryRow:
    begins, ids = row.begins_at, row.token_ids.tolist()
    mask, logprobs = row.loss_mask.tolist()[begins:], row.logprobs.tolist()[begins:]
    return TrajectoryRow(
        instance_id, repeat, ids[:begins], ids[begins:], mask, logprobs, reward, stop_reason, is_last, row.version
    )


def _untrained(instance_id: str, repeat: int, reward: float, filler: int) -> TrajectoryRow:
    return TrajectoryRow(instance_id, repeat, [filler], [filler], [0], [0.0], reward, "stop", True, None)
