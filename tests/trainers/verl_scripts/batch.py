"""Gives groups made by hand to verl's own replay buffer, advantages, padding and policy loss: `batch.py FOLDER`.

Prints, for each trajectory, what verl made of it beside what we have, and losses of both, as JSON.
"""

from __future__ import annotations

import copy
import json
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from handmade import END, REPEATS, handmade_groups, tiny_model
from local_verl import composed, local_queue
from transfer_queue import kv_batch_get, kv_batch_put
from verl.trainer.ppo.padding_utils import upsample_batch_to_divisible_size
from verl.trainer.ppo.v1.replay_buffer import ReplayBufferAsync
from verl.trainer.ppo.v1.trainer_base import PPOTrainer
from verl.utils import tensordict_utils
from verl.workers.config import ActorConfig
from verl.workers.utils.losses import ppo_loss

from ray_gym.trainers.rows import Row, rows_of
from ray_gym.trainers.verl.trajectories import trajectories_of
from ray_gym.trainers.verl.transfer import put_group

STEP, CLIP, MULTIPLE = 1, 0.2, 16


def logprobs(model: Any, ids: torch.Tensor) -> torch.Tensor:
    """Returns the logprob of each token but the first: float32 [tokens - 1]."""
    logits = model(input_ids=ids[None]).logits[0, :-1].float()
    return logits.log_softmax(-1).gather(1, ids[1:, None])[:, 0]


def our_loss(model: Any, rows: list[Row]) -> tuple[float, float]:
    """Returns the clipped loss, a mean over generated tokens, by plain torch and our advantages, and the ratio that is
    furthest from 1.
    """
    terms, ratios = [], []
    for row in rows:
        drawn = torch.from_numpy(row.loss_mask[1:] == 1)
        new = logprobs(model, torch.from_numpy(row.token_ids))[drawn]
        ratio = (new - torch.from_numpy(row.logprobs[1:])[drawn]).exp()
        terms.append(torch.maximum(-row.advantage * ratio, -row.advantage * ratio.clamp(1 - CLIP, 1 + CLIP)))
        ratios.append(ratio)
    every = torch.cat(ratios)
    return float(torch.cat(terms).mean()), float(every[(every - 1).abs().argmax()])


def verl_loss(model: Any, data: Any, rows: int) -> tuple[float, dict[str, float]]:
    """Returns the loss of verl's `ppo_loss`, and its metrics. verl's engines give the logprob of token t + 1 at t."""
    found = [logprobs(model, ids) for ids in data["input_ids"].unbind()]
    padded = [torch.cat([one, one.new_zeros(1)]) for one in found]
    tokens = int(data["response_mask"].values().sum())
    tensordict_utils.assign_non_tensor(data, dp_size=1, batch_num_tokens=tokens, global_batch_size=rows)
    actor = ActorConfig(
        strategy="fsdp", rollout_n=REPEATS, ppo_micro_batch_size_per_gpu=1, use_dynamic_bsz=False, clip_ratio=CLIP
    )
    nested = torch.nested.as_nested_tensor(padded, layout=torch.jagged)
    loss, metrics = ppo_loss(actor, {"log_probs": nested}, data)
    values = {name: getattr(value, "values", value) for name, value in metrics.items()}
    return float(loss), {name: float(np.mean(value)) for name, value in values.items()}


def main() -> None:
    config = composed()
    model, other = tiny_model(), tiny_model()
    with torch.no_grad():
        for weight in other.parameters():
            weight.add_(0.02 * torch.randn_like(weight))
    groups = handmade_groups(model, version=3)
    rows = [row for group in groups for row in rows_of(group)]
    with local_queue(config), torch.no_grad():
        buffer = ReplayBufferAsync("ray_gym", None, None, "drop", None, poll_interval=0.1)
        expected: dict[str, Row] = {}
        for group in groups:
            made, counts = trajectories_of(group, f"prompt{group.number}", longest=None, end=END)
            put_group(f"prompt{group.number}", made, STEP)
            expected |= {one.key: row for one, row in zip(made, rows_of(group), strict=True)}
        batch, metrics = buffer.sample(global_steps=STEP, partition_id="train", batch_size=len(groups))
        filled = upsample_batch_to_divisible_size(copy.copy(batch), MULTIPLE, END)

        data = kv_batch_get(keys=filled.keys, partition_id="train", select_fields=["rollout_log_probs"])
        data["old_log_probs"] = data.pop("rollout_log_probs")  # as verl does with rollout_correction.bypass_mode
        kv_batch_put(keys=filled.keys, partition_id="train", fields=data)
        PPOTrainer._compute_advantage(SimpleNamespace(config=config), filled, metrics)
        data = kv_batch_get(keys=filled.keys, partition_id="train")

        trajectories = []
        columns = ("advantages", "response_mask", "input_ids", "old_log_probs", "prompts", "rm_scores")
        fields = zip(*(data[name].unbind() for name in columns), strict=True)
        for key, tag, (advantage, mask, ids, old, prompt, scores) in zip(filled.keys, filled.tags, fields, strict=True):
            row = expected.get(key)
            found = {"key": key, "padding": tag.get("is_padding", False), "trained": int(mask.sum())}
            if row is not None:
                drawn = row.loss_mask == 1
                found |= {
                    "fork": row.fork,
                    "advantage": advantage[mask.bool()].tolist(),
                    "ours": row.advantage,
                    "same_ids": ids.tolist() == row.token_ids.tolist(),
                    "same_mask": [0] * len(prompt) + mask.tolist() == row.loss_mask.tolist(),
                    "same_logprobs": old[mask.bool()].tolist() == row.logprobs[drawn].tolist(),
                    "score": float(scores.sum()),
                    "reward": row.reward,
                    "tag": {name: tag[name] for name in ("seq_len", "min_global_steps", "max_global_steps")},
                }
            trajectories.append(found)
        losses = {}
        for name, one in (("same", model), ("other", other)):
            ours, ratio = our_loss(one, rows)
            theirs, found = verl_loss(one, copy.copy(data), len(filled.keys))
            losses[name] = {"ours": ours, "verl": theirs, "ratio": ratio, "metrics": found}
    print(json.dumps({"trajectories": trajectories, "losses": losses, "counts": counts}))


if __name__ == "__main__":
    sys.exit(main())
