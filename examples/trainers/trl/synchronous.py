"""Trains with TRL's GRPOTrainer on a stream: `python -m examples.trainers.trl.synchronous [STEPS]`.

It runs in the venv of `make trainer NAME=trl`, and goes on from the last checkpoint in `runs/letters-trl`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from transformers import AutoTokenizer
from transformers.trainer_utils import get_last_checkpoint
from trl import GRPOConfig, GRPOTrainer

from ray_gym.deployments.small_model import checkpoint_dir
from ray_gym.stream import open_stream
from ray_gym.trainers.trl import Rollouts, opening, placeholder_dataset

CONFIG = Path(__file__).parents[1] / "letters.yaml"
EPISODES, GROUPS = 8, 4
"""Episodes of a group, as in the config, and groups of a step."""


def train(model: str, folder: Path, steps: int, overrides: Sequence[str] = (), **more: Any) -> dict[str, Any]:
    """Trains until `steps` steps are done, and returns the trainer's log and what the stream says of itself.

    `model`: folder of the checkpoint to begin with. `folder`: that of the trainer's checkpoints. `more`: further fields
    of `GRPOConfig`.
    """
    last = get_last_checkpoint(folder) if folder.exists() else None
    weights, cursor = opening(last)
    bounds = {"max_staleness": 0, "groups_per_version": GROUPS, "min_group_size": 2}
    with open_stream(CONFIG, [*overrides, *weights], cursor=cursor, **bounds) as stream:
        rollouts = Rollouts(stream, forks="longest")
        settings: dict[str, Any] = {
            "per_device_train_batch_size": EPISODES * GROUPS,
            "num_generations": EPISODES,
            "max_completion_length": 64,
            "learning_rate": 1e-5,
            "max_steps": steps,
            "save_steps": 5,
            "logging_steps": 1,
            "beta": 0.0,
            "bf16": False,
            "use_cpu": True,
            "report_to": [],
        }
        trainer = GRPOTrainer(
            model=model,
            args=GRPOConfig(output_dir=str(folder), **settings | more),
            reward_funcs=rollouts.reward,
            rollout_func=rollouts,
            train_dataset=placeholder_dataset(),
            processing_class=AutoTokenizer.from_pretrained(model),
        )
        rollouts.attach(trainer)
        trainer.train(resume_from_checkpoint=last)
        found = {
            "served": stream.weights("policy").version,
            "status": stream.status(),
            "cursor": stream.cursor,
            "counts": rollouts.counts,
        }
        return {"log": trainer.state.log_history, **found}


if __name__ == "__main__":
    train(str(checkpoint_dir()), Path("runs/letters-trl"), int(sys.argv[1]) if len(sys.argv) > 1 else 5)
