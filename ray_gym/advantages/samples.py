"""Gives each sample its advantage: by group, by participant, and with forks.

An episode has several samples of a participant where a prompt could not go on with the tokens of the one before (a
fork), or where the participant has several threads.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ray_gym.advantages.baselines import Baseline, Rewards, group_normalised

Forks = Literal["copied", "shared"]
"""Share of a participant's advantage that each of its samples in an episode gets.

"copied": each gets the whole, so that each generated token counts once, in whichever sample it is. "shared": each gets
an equal share, so that an episode with many samples weighs no more than one with a single sample, where a loss takes
the mean over samples.
"""

POLICY = "policy"


def rewards_of(episodes: pa.Table, participant: str = POLICY) -> Rewards:
    """Returns a participant's reward in each episode: float64 [n], NaN where it has none.

    `episodes`: rows with the columns `rewards` and `status` (`ray_gym.record.schema.SCHEMA`). Only completed episodes
    have rewards.
    """
    found = np.full(episodes.num_rows, np.nan)
    rows = zip(episodes.column("status").to_pylist(), episodes.column("rewards").to_pylist(), strict=True)
    for number, (status, rewards) in enumerate(rows):
        own = [one["value"] for one in rewards if one["participant"] == participant and one["name"] == "reward"]
        if own and status == "completed":
            found[number] = own[0]
    return found


def sample_advantages(
    episodes: pa.Table, samples: pa.Table, baseline: Baseline = group_normalised, forks: Forks = "copied"
) -> NDArray[np.float64]:
    """Returns the advantage of each sample: float64 [number of samples].

    `episodes` holds whole groups, failed episodes included, since the baseline is taken over episodes: one in which a
    participant never spoke has a reward and no sample. `samples` are samples of these (`group.samples`), of any
    participant; each is compared with the same participant in the other episodes of its group. Samples that are not
    trainable get 0. Errors: KeyError for a sample whose episode is missing; ValueError for another `forks`, and for a
    baseline that does not give a finite number for each episode.
    """
    if forks not in get_args(Forks):
        raise ValueError(f"forks: {forks!r}, but it is one of {', '.join(get_args(Forks))}")
    advantages = np.zeros(samples.num_rows)
    participants = np.array(samples.column("participant").to_pylist(), dtype=object)
    trainable = np.array(samples.column("trainable").to_pylist(), dtype=bool)
    ids = episodes.column("episode_id").to_pylist()
    row_of = {episode_id: row for row, episode_id in enumerate(ids)}
    rows = np.array([row_of[episode_id] for episode_id in samples.column("episode_id").to_pylist()], dtype=np.int64)
    groups = np.unique(np.array(episodes.column("group_id").to_pylist(), dtype=str), return_inverse=True)[1]
    for participant in set(participants[trainable]):
        mine = trainable & (participants == participant)
        of_episodes = _by_group(rewards_of(episodes, participant), groups, baseline)
        advantages[mine] = of_episodes[rows[mine]]
        if forks == "shared":
            advantages[mine] /= np.bincount(rows[mine], minlength=len(ids))[rows[mine]]
    return advantages


def _by_group(rewards: Rewards, groups: NDArray[np.int64], baseline: Baseline) -> Rewards:
    """Returns the advantage of each episode. `groups`: number of each episode's group."""
    advantages = np.zeros_like(rewards)
    order = np.argsort(groups, kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
        given = np.asarray(baseline(rewards[members]), dtype=np.float64)
        if given.shape != (len(members),) or not np.isfinite(given).all():
            raise ValueError(
                f"baseline: for {len(members)} episodes it gave {given}; it gives a finite number for each"
            )
        advantages[members] = given
    return advantages
