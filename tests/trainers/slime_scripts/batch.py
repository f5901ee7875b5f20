"""Has slime's own rollout manager and loss take the hand-made batch, and compares what they give with ours.

python batch.py CHECKOUT
"""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from checkout import open_checkout

open_checkout(sys.argv[1])
import torch
from handmade import END, REPEATS, handmade_groups, handmade_rows, save_tiny, tiny_model
from handmade_service import serving
from slime.backends.megatron_utils.loss import compute_advantages_and_returns, get_log_probs_and_entropy, loss_function
from slime.ray.rollout import RolloutManager
from slime.rollout.data_source import RolloutDataSource
from slime.utils.misc import load_function

from ray_gym.trainers.rows import rows_of
from ray_gym.trainers.service import WeightsCommand

ROLLOUTS = "ray_gym.trainers.slime.rollouts"
CLIP, CLIP_HIGH = 0.2, 0.28
TASKS = ['{"task_id": "t1"}', '{"board": 3}']
"""Labels of the two prompts."""


def args_of(folder: Path) -> Namespace:
    """Returns those of slime's arguments that are read on the way, and the bridge's own."""
    return Namespace(
        rollout_function_path=f"{ROLLOUTS}.generate_rollout",
        custom_reward_post_process_path=f"{ROLLOUTS}.post_process_rewards",
        hf_checkpoint=str(save_tiny(folder / "model")),
        save_hf=str(folder / "saved" / "{rollout_id}"),
        save_interval=1,
        rollout_global_dataset=False,
        prompt_data=None,
        rollout_batch_size=2,
        n_samples_per_prompt=REPEATS,
        global_batch_size=2 * REPEATS,
        rollout_num_gpus=0,
        rollout_seed=1,
        rollout_temperature=1.0,
        rollout_top_p=1.0,
        rollout_max_context_len=None,
        advantage_estimator="grpo",
        rewards_normalization=True,
        grpo_std_normalization=True,
        reward_key=None,
        load_debug_rollout_data=None,
        save_debug_rollout_data=None,
        use_dynamic_batch_size=False,
        micro_batch_size=1,
        max_tokens_per_gpu=None,
        balance_data=False,
        balance_by_flops=False,
        use_rollout_logprobs=True,
        kl_coef=0.0,
        custom_advantage_function_path=None,
        use_opd=False,
        normalize_advantages=False,
        log_probs_chunk_size=-1,
        allgather_cp=False,
        use_opsm=False,
        eps_clip=CLIP,
        eps_clip_high=CLIP_HIGH,
        eps_clip_c=None,
        get_mismatch_metrics=False,
        use_tis=False,
        entropy_coef=0.0,
        use_kl_loss=False,
        calculate_per_token_loss=False,
        loss_type="policy_loss",
        recompute_loss_function=False,
        use_rollout_entropy=False,
        ray_gym_app="small-policy",
        ray_gym_filler=END,
    )


class Prompts(RolloutDataSource):
    """Gives labels to the prompts of slime's data source, which has no file here."""

    def get_samples(self, num_samples: int) -> list[list[Any]]:
        groups = super().get_samples(num_samples)
        for group, label in zip(groups, TASKS, strict=True):
            for sample in group:
                sample.label = label
        return groups


def manager_of(args: Namespace) -> Any:
    """Returns slime's rollout manager, without its engines."""
    manager = object.__new__(RolloutManager.__ray_metadata__.modified_class)
    manager.args = args
    manager.data_source = Prompts(args)
    manager.generate_rollout = load_function(args.rollout_function_path)
    manager.custom_reward_post_process_func = load_function(args.custom_reward_post_process_path)
    manager.custom_convert_samples_to_train_data_func = None
    manager.train_parallel_config = {
        "dp_size": 1,
        "cp_size": 1,
        "vpp_size": 1,
        "microbatch_group_size_per_vp_stage": 1,
    }
    return manager


def main() -> None:
    """Prints the differences and counts as JSON."""
    folder = Path.cwd()
    args, policy, updates = args_of(folder), tiny_model(), list[tuple[int, str]]()
    manager = manager_of(args)
    rows = handmade_rows(policy, version=5)
    for row in rows:
        row["task_id"] = {"g0": "prompt-1", "g1": "t1"}[row["group_id"]]  # the service answers in another order
    command = {
        "served": lambda self: 7 + len(updates),
        "update": lambda self, version, path: updates.append((version, str(path.relative_to(folder)))),
    }
    with serving(rows) as service, patch.multiple(WeightsCommand, **command):
        args.ray_gym_url = service.url
        samples, metrics = manager._get_rollout_data(0)
        train_data = manager._convert_samples_to_train_data(samples)
    sent: list[Any] = []
    with patch("ray.put", sent.append):
        manager._split_train_data_by_dp(train_data)
    [batch] = sent
    batch["log_probs"] = None
    compute_advantages_and_returns(args, batch)
    made, ours = advantages_of(batch), advantages_of_ours()
    assert made.keys() == ours.keys()
    sequences, logits = batch["tokens"], []
    for ids in sequences:
        logits.append(policy(input_ids=ids[None]).logits[0].float())
    now = torch.cat(logits)[None]
    batch |= {"unconcat_tokens": sequences}
    batch["total_lengths"] = [batch["total_lengths"][index] for index in batch["partition"]]
    kinds = ("unconcat_tokens", "total_lengths", "response_lengths")
    drawn = get_log_probs_and_entropy(now, args=args, **{kind: batch[kind] for kind in kinds})[1]["log_probs"]
    off = [
        float(((a - b).detach().exp() - 1)[m == 1].abs().max())
        for a, b, m in zip(drawn, batch["rollout_log_probs"], batch["loss_masks"], strict=True)
        if m.any()
    ]
    noise = torch.randn(now.shape, generator=torch.Generator().manual_seed(1))
    losses = []
    for given in (now, now + noise):
        theirs = loss_function(args, batch, 1, args.global_batch_size, given)[0]
        losses.append((float(theirs.detach()), float(our_loss(batch, given).detach())))
    print(
        json.dumps(
            {
                "samples": len(samples),
                "rollout_ids": train_data["rollout_ids"],
                "raw_rewards": train_data["raw_reward"],
                "statuses": [sample.status.value for sample in samples],
                "versions": [sample.weight_versions for sample in samples],
                "labels": [sample.label for sample in samples],
                "metrics": metrics,
                "requests": service.requests,
                "updates": updates,
                "advantages": max(abs(made[key] - ours[key]) for key in ours),
                "ratio": max(off),
                "losses": losses,
                "counts": manager.data_source.metadata,
            }
        )
    )


def advantages_of(batch: dict[str, Any]) -> dict[tuple[int, ...], float]:
    """Returns slime's advantage of each sample that trains, by its tokens."""
    pairs = zip(batch["tokens"], batch["advantages"], batch["loss_masks"], strict=True)
    return {tuple(ids.tolist()): float(values[0]) for ids, values, mask in pairs if mask.any()}


def advantages_of_ours() -> dict[tuple[int, ...], float]:
    """Returns the advantages that `ray_gym.advantages` gives, likewise."""
    rows = [row for group in handmade_groups(tiny_model(), version=5) for row in rows_of(group)]
    return {tuple(row.token_ids.tolist()): row.advantage for row in rows}


def our_loss(batch: dict[str, Any], logits: torch.Tensor) -> torch.Tensor:
    """Returns the clipped loss of our own rows: the mean over the tokens of an episode, then over all episodes, those
    that failed among them.
    """
    groups, start = handmade_groups(tiny_model(), version=5), 0
    of_tokens = {}
    for ids in batch["tokens"]:
        of_tokens[tuple(ids.tolist())] = logits[0, start : start + len(ids)].log_softmax(-1)
        start += len(ids)
    total = torch.zeros(())
    for group in groups:
        rows = rows_of(group)
        for row in rows:
            drawn = torch.from_numpy(row.loss_mask[1:] == 1)
            ids = torch.from_numpy(row.token_ids)
            now = of_tokens[tuple(ids.tolist())][:-1].gather(1, ids[1:, None])[:, 0][drawn]
            ratio = (now - torch.from_numpy(row.logprobs)[1:][drawn]).exp()
            clipped = ratio.clamp(1 - CLIP, 1 + CLIP_HIGH)
            terms = torch.minimum(ratio * row.advantage, clipped * row.advantage)
            of_episode = sum(other.generated for other in rows if other.episode_id == row.episode_id)
            total = total - terms.sum() / of_episode
    return total / sum(group.episodes.num_rows for group in groups)


if __name__ == "__main__":
    sys.exit(main())
