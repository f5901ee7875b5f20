"""Trains with TRL's AsyncGRPOTrainer on a stream: `python -m examples.trainers.trl.asynchronous [STEPS]`.

It needs a GPU, on which TRL's attention runs, and goes on from the last checkpoint in `runs/letters-trl-async`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from transformers import AutoTokenizer
from transformers.trainer_utils import get_last_checkpoint
from trl.experimental.async_grpo import AsyncGRPOConfig, AsyncGRPOTrainer

from ray_gym.deployments.small_model import checkpoint_dir
from ray_gym.stream import open_stream
from ray_gym.trainers.trl import AsyncRollouts, opening, placeholder_dataset

CONFIG = Path(__file__).parents[1] / "letters.yaml"


def train(model: str, folder: Path, steps: int, overrides: Sequence[str] = (), **more: Any) -> dict[str, Any]:
    """Trains until `steps` steps are done, and returns the trainer's log and what the stream says of itself.

    `model`: folder of the checkpoint to begin with. `folder`: that of the trainer's checkpoints. `more`: further fields
    of `AsyncGRPOConfig`.
    """
    last = get_last_checkpoint(folder) if folder.exists() else None
    weights, cursor = opening(last)
    with open_stream(CONFIG, [*overrides, *weights], cursor=cursor, max_staleness=2, min_group_size=2) as stream:
        rollouts = AsyncRollouts(stream)
        settings: dict[str, Any] = {
            "token_budget": 2048,
            "gradient_accumulation_steps": 1,
            "max_staleness": 3,
            "learning_rate": 1e-5,
            "max_steps": steps,
            "save_steps": 2,
            "logging_steps": 1,
            "report_to": [],
        }
        trainer = AsyncGRPOTrainer(
            model=model,
            args=AsyncGRPOConfig(output_dir=str(folder), **settings | more),
            train_dataset=placeholder_dataset(),
            processing_class=AutoTokenizer.from_pretrained(model),
            rollout_worker=rollouts.worker,
            weight_transfer=rollouts.transfer,
        )
        rollouts.attach(trainer)
        trainer.train(resume_from_checkpoint=last)
        found = {"served": stream.weights("policy").version, "status": stream.status(), "cursor": stream.cursor}
        return {"log": trainer.state.log_history, "counts": rollouts.worker and rollouts.worker.counts, **found}


if __name__ == "__main__":
    train(str(checkpoint_dir()), Path("runs/letters-trl-async"), int(sys.argv[1]) if len(sys.argv) > 1 else 5)
