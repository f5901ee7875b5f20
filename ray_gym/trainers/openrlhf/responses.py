"""Makes responses of OpenRLHF's agent executors of a group's episodes, one of each.

OpenRLHF takes batches apart by `reshape(-1, n_samples_per_prompt)`, so that each group needs that many rows, in a row.
An episode without a sample gets a row of two tokens, none of which trains. Its reward is the mean of the group's others,
so that the mean, and with it their advantages' signs, stay as they are.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np

from ray_gym.advantages import rewards_of
from ray_gym.errors import UserError
from ray_gym.stream import Group
from ray_gym.trainers.one_row import ForkChoice, Limits, OneRow
from ray_gym.trainers.rows import Row

GROUP_ESTIMATORS = ("group_norm", "rloo", "reinforce_baseline", "dr_grpo")
"""Values of `--algo.advantage.estimator` whose baseline is of the prompt's group."""


def responses_of(
    group: Group, size: int, forks: ForkChoice, longest: int, filler: int
) -> tuple[list[dict[str, Any]], Counter[str]]:
    """Returns a response for each episode of the group, in their order, and the counts of `OneRow.of`.

    `size`: number of rows that OpenRLHF takes of a group. `longest`: its `--data.max_len`: what is longer would be cut,
    and is left out whole. `filler`: token id of rows that train nothing. Errors: UserError for a group of another size;
    those of `OneRow.of`.
    """
    if group.episodes.num_rows != size:
        raise UserError(
            f"group {group.group_id}: it has {group.episodes.num_rows} episodes, and --rollout.n_samples_per_prompt is {size}"
        )
    rows, counts = OneRow(forks, Limits(longest)).of(group)
    rewards = rewards_of(group.episodes)
    trained = [reward for row, reward in zip(rows, rewards, strict=True) if row is not None]
    mean = float(np.mean(trained)) if trained else 0.0
    truncated = [reason == "max_tokens" for reason in group.episodes.column("stop_reason").to_pylist()]
    responses = []
    for row, reward, was_cut in zip(rows, rewards, truncated, strict=True):
        is_row = row is not None
        tokens = (
            _tokens(row)
            if row is not None
            else {"observation_tokens": [filler] * 2, "action_ranges": [], "rollout_log_probs": [0.0] * 2}
        )
        scored = float(reward) if is_row else mean
        responses.append(
            {
                "prompt": group.task_id,
                "label": group.group_id,
                "images": None,
                "mm_train_inputs": None,
                "reward": scored,
                "scores": scored,
                "truncated": was_cut,
                "extra_logs": {"ray_gym_trains": float(is_row)},
                **tokens,
            }
        )
    return responses, counts


def _tokens(row: Row) -> dict[str, Any]:
    """Returns the fields with entries for tokens. `action_ranges`: first token and the one after the last of each
    generated span.
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[0], row.loss_mask, [0]]))).tolist()
    spans = [(start, end) for number, (start, end) in enumerate(pairwise(edges)) if number % 2 == 0]
    return {
        "observation_tokens": row.token_ids.tolist(),
        "action_ranges": spans,
        "rollout_log_probs": row.logprobs.tolist(),
    }


def check_args(args: Any) -> None:
    """Checks OpenRLHF's arguments. Errors: UserError, which names the first that does not fit."""
    wrong = [
        (
            args.vllm.num_engines != 0,
            f"--vllm.num_engines: {args.vllm.num_engines}, but ray_gym's service generates; give 0",
        ),
        (
            args.algo.advantage.estimator not in GROUP_ESTIMATORS,
            f"--algo.advantage.estimator: {args.algo.advantage.estimator}, which has no baseline of a group; give one of "
            + ", ".join(GROUP_ESTIMATORS),
        ),
        (
            args.rollout.n_samples_per_prompt < 2,
            f"--rollout.n_samples_per_prompt: {args.rollout.n_samples_per_prompt}; an episode that is alone in its group "
            "has the advantage 0, so nothing would be learned; give at least 2",
        ),
        (
            args.algo.advantage.is_correction_level == "off",
            "--algo.advantage.is_correction_level: off, under which OpenRLHF ignores the logprobs that tokens were drawn "
            "with; give token",
        ),
        (
            args.train.async_enable,
            "--train.async_enable: the bridge is for the synchronous trainer; leave it out",
        ),
        (
            args.algo.dynamic_filtering_enable,
            "--algo.dynamic_filtering_enable: the bridge takes all groups as they are played; leave it out",
        ),
        (
            not args.reward.remote_url,
            "--reward.remote_url: rewards come from the environment; give it any value (ray_gym), else OpenRLHF starts "
            "a reward model",
        ),
    ]
    for is_wrong, said in wrong:
        if is_wrong:
            raise UserError(said)
