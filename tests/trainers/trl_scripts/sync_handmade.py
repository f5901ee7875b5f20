"""Trains with TRL's GRPOTrainer on groups made by hand: `sync_handmade.py FOLDER STEPS FORKS [WHICH]`, on one
rank or several. `WHICH` other makes the trainer's model another than the one that has generated the tokens.

Prints, on rank 0, the trainer's log, and the loss that the first step has to have by our own advantages, as JSON.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path

import numpy as np
from accelerate import PartialState
from handmade import GROUPS, REPEATS, save_tiny, tiny_tokenizer
from handmade_stream import HandmadeStream
from trl import GRPOConfig, GRPOTrainer

from ray_gym.advantages import group_normalised
from ray_gym.errors import UserError
from ray_gym.stream.group import Group
from ray_gym.trainers.rows import rows_of
from ray_gym.trainers.trl import Rollouts, placeholder_dataset


def expected_loss(groups: list[Group]) -> float:
    """Returns the loss at ratio 1 over the longest sample of each episode: the mean over tokens of minus the advantage."""
    baseline = partial(group_normalised, epsilon=1e-4)
    chosen = {}
    for row in (row for group in groups for row in rows_of(group, baseline)):
        best = chosen.setdefault(row.episode_id, row)
        if row.generated > best.generated:
            chosen[row.episode_id] = row
    tokens = np.array([row.generated for row in chosen.values()])
    return float(-(tokens * [row.advantage for row in chosen.values()]).sum() / tokens.sum())


def main(folder: Path, steps: int, forks: str, which: str = "same") -> None:
    state = PartialState(cpu=True)
    tiny, trained = folder / "tiny", folder / which
    if state.is_main_process:
        save_tiny(tiny)
        save_tiny(trained, scale=1.0 if which == "same" else 20.0)
    state.wait_for_everyone()
    stream = HandmadeStream(tiny) if state.is_main_process else None
    rollouts = Rollouts(stream, forks=forks)
    args = GRPOConfig(
        output_dir=str(folder / "trainer"),
        per_device_train_batch_size=GROUPS * REPEATS // state.num_processes,
        num_generations=REPEATS,
        max_steps=steps,
        max_completion_length=64,
        learning_rate=1e-3,
        logging_steps=1,
        save_steps=1,
        beta=0.0,
        use_cpu=True,
        bf16=False,
        report_to=[],
        gradient_checkpointing=False,
        disable_tqdm=True,
    )
    trainer = GRPOTrainer(
        model=str(trained),
        args=args,
        reward_funcs=rollouts.reward,
        rollout_func=rollouts,
        train_dataset=placeholder_dataset(),
        processing_class=tiny_tokenizer(),
    )
    try:
        rollouts.attach(trainer)
        trainer.train()
    except UserError as error:
        print(json.dumps({"refused": str(error), "step": trainer.state.global_step}))
        return
    if stream is not None:
        found = {
            "log": [entry for entry in trainer.state.log_history if "reward" in entry],
            "expected": expected_loss(stream.delivered[:GROUPS]),
            "acknowledged": stream.acknowledged,
            "version": stream.version,
            "counts": rollouts.counts,
        }
        print(json.dumps(found))
    trainer.accelerator.end_training()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
