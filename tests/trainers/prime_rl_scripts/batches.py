"""Reads the files of the bridge by prime-rl's own data loader, and takes them through its loss.

batches.py CHECKOUT FOLDER STEP RANKS
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from absent import pretend

pretend("vllm", "torchtitan", "verifiers", "renderers", "wandb")  # they need GPUs, play, or log

CHECKOUT = Path(sys.argv[1])
sys.path[:0] = [str(CHECKOUT / "src"), str(CHECKOUT / "packages" / "prime-rl-configs" / "src")]

import torch
from handmade import handmade_groups, tiny_model
from prime_rl.configs.shared import FileSystemTransportConfig
from prime_rl.configs.trainer import DefaultLossConfig
from prime_rl.trainer.batch import build_bin_cost, prepare_batch
from prime_rl.trainer.rl.data import DataLoader
from prime_rl.trainer.rl.loss import compute_loss, setup_rl_loss_fn
from prime_rl.trainer.world import reset_world
from prime_rl.transports.rollouts.types import MicroBatch, TrainingSample

from ray_gym.trainers.prime_rl.micro_batches import MicroBatch as Ours
from ray_gym.trainers.rows import rows_of


def loaded(folder: Path, step: int, ranks: int) -> list[dict[str, Any]]:
    """Returns the micro-batches of all ranks, as prime-rl's trainer gets them."""
    found = []
    for rank in range(ranks):
        os.environ.update(RANK=str(rank), WORLD_SIZE=str(ranks), LOCAL_RANK="0", LOCAL_WORLD_SIZE="1")
        reset_world()
        loader = DataLoader(folder, step, ranks, FileSystemTransportConfig())
        loader.wait_for_batch()
        found += loader.get_batch()
    return found


def logprobs_under(model: torch.nn.Module, batch: dict[str, Any]) -> list[torch.Tensor]:
    """Returns the model's logprobs of each sequence of a micro-batch, 0 for its first token."""
    made = []
    for ids in batch["input_ids"][0].split(batch["sequence_lengths"]):
        logits = model(input_ids=ids[None]).logits[0].float()
        drawn = logits[:-1].log_softmax(-1).gather(1, ids[1:, None])[:, 0]
        made.append(torch.cat([torch.zeros(1), drawn]))
    return made


def main(folder: Path, step: int, ranks: int) -> None:
    """Prints one JSON object."""
    model = tiny_model()
    batches = loaded(folder, step, ranks)
    tokens = sum(int(batch["loss_mask"].sum()) for batch in batches)
    loss_of, total, ratios = setup_rl_loss_fn(DefaultLossConfig()), torch.zeros(()), []
    for batch in batches:
        lengths, now = batch["sequence_lengths"], logprobs_under(model, batch)
        of = {name: list(batch[name][0].split(lengths)) for name in ("inference_logprobs", "advantages", "loss_mask")}
        loss, _ = compute_loss(
            now,
            of["inference_logprobs"],
            None,
            of["advantages"],
            of["loss_mask"],
            None,
            None,
            None,
            loss_of,
            tokens,
            1,
            1,
        )
        total = total + loss
        gaps = [(a - b)[mask] for a, b, mask in zip(now, of["inference_logprobs"], of["loss_mask"], strict=True)]
        ratios += [float(gap.abs().max()) for gap in gaps if len(gap)]
    total.backward()
    rows = [row for group in handmade_groups(model) for row in rows_of(group)]
    samples = [
        TrainingSample(
            token_ids=row.token_ids.tolist(),
            mask=[bool(m) for m in row.loss_mask],
            logprobs=row.logprobs.tolist(),
            temperatures=[1.0] * len(row.token_ids),
            env_name="handmade",
            advantages=[row.advantage * m for m in row.loss_mask.tolist()],
        )
        for row in rows
    ]
    packed = [batch for of_rank in prepare_batch(samples, 100, 1, build_bin_cost(None)) for batch in of_rank]
    print(
        json.dumps(
            {
                "fields": [MicroBatch.__struct_fields__, Ours.__struct_fields__],
                "required": len(MicroBatch.__struct_fields__) - len(MicroBatch.__struct_defaults__),
                "sequences": sum(
                    sum(bool(m.any()) for m in b["loss_mask"][0].split(b["sequence_lengths"])) for b in batches
                ),
                "batches": [len(batches), [int(batch["input_ids"].shape[1]) for batch in batches]],
                "restarts": all(
                    batch["position_ids"][0].tolist() == [p for n in batch["sequence_lengths"] for p in range(n)]
                    or bool((batch["position_ids"][0] == 0).sum() >= len(batch["sequence_lengths"]))
                    for batch in batches
                ),
                "names": sorted({name for batch in batches for name in batch["env_names"]}),
                "temperatures": sorted({float(t) for batch in batches for t in batch["temperatures"][0]}),
                "tokens": tokens,
                "loss": float(total.detach()),
                "expected": -sum(row.advantage * row.generated for row in rows) / sum(row.generated for row in rows),
                "generated": sum(row.generated for row in rows),
                "largest_gap": max(ratios),
                "own": sorted(
                    [list(b.input_ids), torch.tensor(b.advantages).tolist(), list(b.position_ids)] for b in packed
                ),
                "read": sorted(
                    [b["input_ids"][0].tolist(), b["advantages"][0].tolist(), b["position_ids"][0].tolist()]
                    for b in batches
                ),
                "gradient": float(sum(p.grad.norm() for p in model.parameters() if p.grad is not None)),
            }
        )
    )


if __name__ == "__main__":
    main(Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
