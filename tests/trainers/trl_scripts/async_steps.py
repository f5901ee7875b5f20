"""Trains with TRL's AsyncGRPOTrainer on a stream of letters: `async_steps.py FOLDER STEPS [CHECKPOINT]`.

Prints the trainer's log, the groups of each step, the versions that the model served, and the cursor, as JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import cpu_attention
from handmade import save_tiny
from streams import letters
from transformers import AutoTokenizer
from trl.experimental.async_grpo import AsyncGRPOConfig, AsyncGRPOTrainer

from ray_gym.trainers.trl import AsyncRollouts, opening, placeholder_dataset

REPEATS, ROWS = 4, 10


def main(folder: Path, steps: int, checkpoint: str | None) -> None:
    cpu_attention.install()
    tiny = save_tiny(folder / "tiny")
    overrides, cursor = opening(checkpoint)
    with letters(folder, tiny, overrides, cursor, REPEATS, max_staleness=2, min_group_size=2) as stream:
        rollouts = AsyncRollouts(stream)
        args = AsyncGRPOConfig(
            output_dir=str(folder / "trainer"),
            per_device_train_batch_size=ROWS,
            gradient_accumulation_steps=1,
            num_generations=REPEATS,
            max_steps=steps,
            token_budget=-1,
            learning_rate=1e-3,
            max_staleness=3,
            save_steps=2,
            logging_steps=1,
            use_cpu=True,
            bf16=False,
            report_to=[],
            gradient_checkpointing=False,
            disable_tqdm=True,
        )
        trainer = AsyncGRPOTrainer(
            model=str(tiny),
            args=args,
            train_dataset=placeholder_dataset(),
            processing_class=AutoTokenizer.from_pretrained(tiny),
            rollout_worker=rollouts.worker,
            weight_transfer=rollouts.transfer,
        )
        rollouts.attach(trainer)
        trainer.train(resume_from_checkpoint=checkpoint)
        found = {
            "log": trainer.state.log_history,
            "served": stream.weights("policy").version,
            "status": stream.status(),
            "cursor": stream.cursor,
            "counts": rollouts.worker.counts,
        }
    print(json.dumps(found, default=str))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else None)
