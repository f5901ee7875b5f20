"""Writes batches for prime-rl's trainer from a ray_gym stream. It needs GPUs: two venvs, two terminals.

In prime-rl's checkout (commit 559b447), on the trainer's GPUs, which waits for the files of step 1:

    uv run torchrun --nproc-per-node 2 src/prime_rl/trainer/rl/train.py @ trainer.toml --output-dir /shared/prime_rl

In ray_gym's venv, on the rollout GPUs; `--resume N` continues after prime-rl's checkpoint of step N:

    python orchestrate.py config.yaml /shared/prime_rl --start /models/Qwen3-0.6B --checkout prime-rl
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ray_gym import open_stream
from ray_gym.errors import UserError
from ray_gym.trainers.prime_rl.orchestrator import Options, Orchestrator
from ray_gym.trainers.prime_rl.resuming import opening

GROUPS = 32
"""Number of groups of a step."""


def main() -> None:
    """Writes the steps that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", help="ray_gym's config; its policy is the model that the trainer begins with")
    parser.add_argument("folder", type=Path, help="prime-rl's output_dir")
    parser.add_argument("--start", required=True, help="folder of the model that the trainer begins with")
    parser.add_argument("--checkout", type=Path, help="folder of prime-rl, whose commit is checked")
    parser.add_argument("--any-version", action="store_true", help="accept every commit of prime-rl")
    parser.add_argument("--resume", type=int, help="step of prime-rl's checkpoint to continue after")
    parser.add_argument("--ranks", type=int, default=2, help="data-parallel ranks of the trainer")
    parser.add_argument("--seq-len", type=int, default=16384, help="model.seq_len of the trainer")
    parser.add_argument("--steps", type=int, default=1000)
    given = parser.parse_args()
    options = Options(given.folder, given.ranks, given.seq_len, GROUPS, given.start, given.checkout, given.any_version)
    overrides, cursor = opening(given.folder, given.resume, given.start)
    bounds = {"max_staleness": 1, "groups_per_version": GROUPS, "min_group_size": 2}
    with open_stream(given.config, overrides, cursor=cursor, **bounds) as stream:
        Orchestrator(stream, options, first_step=(given.resume or 0) + 1).run(given.steps)


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        sys.exit(str(error))
