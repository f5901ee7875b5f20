"""Makes the fields of slime's `Sample` of a group's episodes, forks included.

slime makes a step of `--global-batch-size` rollouts, which are episodes here, and takes the mean over the tokens of each
before the mean over all. So each episode has at least one sample: one that failed, or has nothing to train on, has a
sample without a trained token. The samples of an episode with forks share its `rollout_id`, so that they weigh as one.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from ray_gym.advantages import Baseline, group_normalised, rewards_of
from ray_gym.stream import Group
from ray_gym.trainers.rows import Row, rows_of

KEY = "ray_gym"
"""Key of a sample's metadata under which its advantage and its origin are."""


def samples_of(
    group: Group, longest: int | None, filler: int, baseline: Baseline = group_normalised
) -> tuple[list[list[dict[str, Any]]], Counter[str]]:
    """Returns the fields of the samples of each episode of a group, in their order, and counts of what is left out.

    `longest`: most tokens of a sample; None means no limit. `filler`: token id of samples that train nothing. Their
    reward is the mean of the group's others if the episode has none, since slime logs the mean of all. Counts: `groups`,
    `episodes`, `rows` that train, `forks` among them, `failed` episodes, `silent` ones (completed without a trainable
    token), `too_long` samples, `barren` groups (without a row that trains).
    """
    of_episodes, counts = dict[str, list[Row]](), Counter[str](groups=1, episodes=group.episodes.num_rows)
    for row in rows_of(group, baseline):
        rows = of_episodes.setdefault(row.episode_id, [])
        if longest is not None and len(row.token_ids) > longest:
            counts["too_long"] += 1
            continue
        rows.append(row)
        counts["rows"] += 1
        counts["forks"] += row.fork > 0
    counts["barren"] += not counts["rows"]
    rewards = rewards_of(group.episodes)
    known = rewards[~np.isnan(rewards)]
    mean = float(known.mean()) if len(known) else 0.0
    made = []
    columns = (group.episodes.column(name).to_pylist() for name in ("episode_id", "status", "stop_reason"))
    for (episode_id, status, reason), reward in zip(zip(*columns, strict=True), rewards, strict=True):
        scored = mean if np.isnan(reward) else float(reward)
        if episode_id not in of_episodes:
            counts["silent" if status == "completed" else "failed"] += 1
        ended = {"completed": "truncated" if reason == "max_tokens" else "completed"}.get(status, "failed")
        origin = {"reward": scored, "status": ended, "metadata": {KEY: {"episode_id": episode_id, "advantage": 0.0}}}
        fields = [_trained(row, origin, episode_id) for row in of_episodes.get(episode_id, [])]
        made.append(fields or [_untrained(filler, origin)])
    return made, counts


def _trained(row: Row, origin: dict[str, Any], episode_id: str) -> dict[str, Any]:
    begins = row.begins_at
    mask = row.loss_mask.tolist()[begins:]
    return {
        **origin,
        "tokens": row.token_ids.tolist(),
        "response_length": len(mask),
        "loss_mask": mask,
        "rollout_log_probs": row.logprobs.tolist()[begins:],
        "weight_versions": [str(version) for version in np.unique(row.versions[row.loss_mask == 1])],
        "metadata": {KEY: {"episode_id": episode_id, "advantage": row.advantage}},
    }


def _untrained(filler: int, origin: dict[str, Any]) -> dict[str, Any]:
    tokens = {"tokens": [filler, filler], "response_length": 1, "loss_mask": [0], "rollout_log_probs": [0.0]}
    return {**origin, **tokens, "weight_versions": [], "remove_sample": True}


def advantages_of(samples: list[Any]) -> list[float]:
    """Returns the advantages of slime's samples, which `samples_of` gave their metadata."""
    return [float(sample.metadata[KEY]["advantage"]) for sample in samples]
