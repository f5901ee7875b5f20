"""Trains with TRL's GRPOTrainer on a stream of letters: `sync_steps.py FOLDER STEPS [CHECKPOINT]`.

Prints the trainer's log, the versions that the model served, and what the cursor says, as JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from handmade import save_tiny
from streams import letters
from transformers import AutoTokenizer
from trl import GRPOConfig, GRPOTrainer

from ray_gym.trainers.trl import Rollouts, opening, placeholder_dataset

REPEATS, GROUPS = 8, 4


def main(folder: Path, steps: int, checkpoint: str | None) -> None:
    tiny = save_tiny(folder / "tiny")
    overrides, cursor = opening(checkpoint)
    with letters(
        folder, tiny, overrides, cursor, REPEATS, max_staleness=0, groups_per_version=GROUPS, min_group_size=2
    ) as stream:
        rollouts = Rollouts(stream)
        args = GRPOConfig(
            output_dir=str(folder / "trainer"),
            per_device_train_batch_size=REPEATS * GROUPS,
            num_generations=REPEATS,
            max_steps=steps,
            learning_rate=1e-2,
            lr_scheduler_type="constant",
            logging_steps=1,
            save_steps=5,
            max_completion_length=64,
            beta=0.0,
            use_cpu=True,
            bf16=False,
            report_to=[],
            gradient_checkpointing=False,
            disable_tqdm=True,
        )
        trainer = GRPOTrainer(
            model=str(tiny),
            args=args,
            reward_funcs=rollouts.reward,
            rollout_func=rollouts,
            train_dataset=placeholder_dataset(),
            processing_class=AutoTokenizer.from_pretrained(tiny),
        )
        rollouts.attach(trainer)
        trainer.train(resume_from_checkpoint=checkpoint)
        found = {
            "log": [entry for entry in trainer.state.log_history if "reward" in entry],
            "served": stream.weights("policy").version,
            "status": stream.status(),
            "cursor": stream.cursor,
            "counts": rollouts.counts,
        }
    print(json.dumps(found, default=str))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else None)
