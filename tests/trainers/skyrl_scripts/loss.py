"""Has SkyRL's own functions validate, convert and weigh the hand-made batch, and compares what they give with ours."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import python_3_11  # noqa: F401  (the first import)
import torch
from handmade import REPEATS, handmade_groups, handmade_rows, save_tiny, tiny_model
from handmade_service import serving
from skyrl.backends.skyrl_train.utils.ppo_utils import PolicyLossRegistry
from skyrl.train.generators.utils import prepare_generator_input
from skyrl.train.trainer import RayPPOTrainer
from skyrl.train.utils.trainer_utils import validate_generator_output
from small import LocalDispatch, config_of, dataset_in, response_logprobs, tokenizer

from ray_gym.client import Client
from ray_gym.trainers.rows import rows_of
from ray_gym.trainers.skyrl.generator import GroupGenerator

CLIP = 0.2


def main() -> None:
    """Prints the differences and counts as JSON."""
    folder = Path.cwd()
    policy = tiny_model()
    cfg = config_of(str(save_tiny(folder / "model")))
    dataset = dataset_in(folder)
    rows = handmade_rows(policy, version=5)
    with serving(rows) as service, Client(service.url) as client:
        generator = GroupGenerator(client, temperature=1.0, longest=None, filler=0, seed=1)
        parts = {"tracker": None, "tokenizer": tokenizer(), "train_dataset": dataset, "inference_engine_client": None}
        trainer = RayPPOTrainer(cfg=cfg, generator=generator, **parts)
        trainer.dispatch = LocalDispatch(cfg, policy)
        prompts = dataset.collate_fn([dataset[number] for number in range(len(dataset))])
        asked, uids = prepare_generator_input(prompts, REPEATS, {}, "none", "train", 1)
        output = asyncio.run(generator.generate(asked))
    validate_generator_output(len(uids), output, step_wise=True)
    metrics = output.pop("rollout_metrics")
    shapes = {"rows": len(output["response_ids"]), "last": sum(output["is_last_step"])}
    uids = [one.instance_id for one in output["trajectory_ids"]]
    output, uids = trainer.postprocess_generator_output(output, uids)
    data = trainer.convert_to_training_input(output, uids)
    data = trainer.compute_advantages_and_returns(trainer.fwd_logprobs_values_reward(data))
    made = advantages_of(data)
    data = trainer._normalize_advantages(data, data.metadata["policy_mini_batch_boundaries"])
    logprobs = response_logprobs(policy, data)
    ratios = (logprobs.detach() - data["rollout_logprobs"]).exp()[data["loss_mask"] == 1]
    moved = logprobs + 0.3 * torch.randn(logprobs.shape, generator=torch.Generator().manual_seed(1))
    losses = [their_loss(cfg, data, one) - our_loss(data, one) for one in (logprobs, moved)]
    print(
        json.dumps(
            {
                **shapes,
                "counts": metrics,
                "requests": service.requests,
                "advantages": difference(made, advantages_of_ours()),
                "ratio": float((ratios - 1).abs().max()),
                "tokens": int(data["loss_mask"].sum()),
                "losses": [float(one.detach().abs()) for one in losses],
                "loss": float(our_loss(data, moved).detach()),
            }
        )
    )


def advantages_of(data: Any) -> dict[tuple[int, ...], float]:
    """Returns SkyRL's advantage of each row that trains, by its trained tokens; checks that it is one a row."""
    found = {}
    for row in range(len(data["sequences"])):
        mask = data["loss_mask"][row] == 1
        if not mask.any():
            continue
        ids = data["sequences"][row, -len(mask) :][mask]
        values = data["advantages"][row][mask]
        assert values.max() - values.min() == 0
        found[tuple(ids.tolist())] = float(values[0])
    return found


def advantages_of_ours() -> dict[tuple[int, ...], float]:
    """Returns the advantages that `ray_gym.advantages` gives, likewise."""
    rows = [row for group in handmade_groups(tiny_model(), version=5) for row in rows_of(group)]
    return {tuple(row.token_ids[row.loss_mask == 1].tolist()): row.advantage for row in rows}


def difference(theirs: dict[Any, float], ours: dict[Any, float]) -> float:
    """Returns the largest difference. Both have to have the same keys."""
    assert theirs.keys() == ours.keys(), (len(theirs), len(ours))
    return max(abs(theirs[key] - ours[key]) for key in ours)


def their_loss(cfg: Any, data: Any, logprobs: torch.Tensor) -> torch.Tensor:
    """Returns the loss of SkyRL's registry."""
    loss_of = PolicyLossRegistry.get("regular")
    return loss_of(
        logprobs,
        data["action_log_probs"],
        data["advantages"],
        config=cfg.trainer.algorithm,
        loss_mask=data["loss_mask"],
    )[0]


def our_loss(data: Any, logprobs: torch.Tensor) -> torch.Tensor:
    """Returns the clipped loss of our own rows (Schulman et al. 2017, equation 7), as the mean over all tokens."""
    groups, total, count = handmade_groups(tiny_model(), version=5), torch.zeros(()), 0
    of_tokens = {}
    for row in range(len(data["sequences"])):
        mask = data["loss_mask"][row] == 1
        of_tokens[tuple(data["sequences"][row, -len(mask) :][mask].tolist())] = logprobs[row][mask]
    for row in (row for group in groups for row in rows_of(group)):
        drawn = row.loss_mask == 1
        now, then = of_tokens[tuple(row.token_ids[drawn].tolist())], torch.from_numpy(row.logprobs[drawn])
        ratio = (now - then).exp()
        total = total - torch.minimum(ratio * row.advantage, ratio.clamp(1 - CLIP, 1 + CLIP) * row.advantage).sum()
        count += int(drawn.sum())
    return total / count


if __name__ == "__main__":
    sys.exit(main())
