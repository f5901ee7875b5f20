"""Runs the recipe of TRL's AsyncGRPOTrainer on a tiny model: `async_steps.py FOLDER STEPS`. Prints what it returns, as
JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import cpu_attention
from handmade import save_tiny

from examples.trainers.trl.asynchronous import train

ROWS = 10


def main(folder: Path, steps: int) -> None:
    cpu_attention.install()
    tiny = save_tiny(folder / "tiny")
    overrides = [f"models.policy.model={tiny}", f"output.dir={folder / 'runs'}", "environment.fails=0.25"]
    batches = {"token_budget": -1, "per_device_train_batch_size": ROWS, "learning_rate": 1e-3}
    on_cpu = {"use_cpu": True, "bf16": False, "gradient_checkpointing": False, "disable_tqdm": True}
    print(json.dumps(train(str(tiny), folder / "trainer", steps, overrides, **batches, **on_cpu)))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
