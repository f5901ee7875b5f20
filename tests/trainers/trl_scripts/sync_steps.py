"""Runs the recipe of TRL's GRPOTrainer on a tiny model: `sync_steps.py FOLDER STEPS`. Prints what it returns, as JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from handmade import save_tiny

from examples.trainers.trl.synchronous import train


def main(folder: Path, steps: int) -> None:
    tiny = save_tiny(folder / "tiny")
    overrides = [f"models.policy.model={tiny}", f"output.dir={folder / 'runs'}", "environment.fails=0.25"]
    more = {"learning_rate": 1e-2, "lr_scheduler_type": "constant", "gradient_checkpointing": False}
    print(json.dumps(train(str(tiny), folder / "trainer", steps, overrides, disable_tqdm=True, **more)))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
