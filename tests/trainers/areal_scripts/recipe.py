"""Has AReaL read the config of the recipe, and checks it as the recipe does."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from absent import pretend

pretend("swanlab", "trackio")  # loggers, which AReaL imports

from areal.api.cli_args import GRPOConfig, load_expr_config

from ray_gym.trainers.areal.trajectory import check_config


def main(config: Path, folder: str) -> None:
    """Prints one JSON object. `folder`: scratch folder for what AReaL writes."""
    read, _ = load_expr_config(
        ["--config", str(config), f"cluster.fileroot={folder}", f"cluster.name_resolve.nfs_record_root={folder}"],
        GRPOConfig,
    )
    check_config(read)
    print(
        json.dumps(
            {
                "temperature": read.actor.temperature,
                "batch": read.train_dataset.batch_size,
                "longest": read.actor.mb_spec.max_tokens_per_mb,
            }
        )
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
