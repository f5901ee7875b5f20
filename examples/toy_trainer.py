"""Shows a trainer's loop over a stream of groups: `python -m examples.toy_trainer`.

It may be killed at any time, and started again.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from ray_gym.stream import Group, open_stream

BATCH = 8
CHECKPOINT = Path("runs/toy_trainer.checkpoint.json")


async def train(config: str, steps: int) -> None:
    saved = read()
    last, batch = saved["step"] + steps, list[Group]()
    bounds = {"max_staleness": 1, "groups_per_version": BATCH, "min_group_size": 2}
    async with open_stream(config, cursor=saved["cursor"], **bounds) as stream:
        async for group in stream:
            batch.append(group)
            if len(batch) < BATCH:
                continue
            saved["step"] += 1
            update(saved["step"], batch)  # here the models would get the new weights
            stream.advance(saved["step"])
            stream.acknowledge(*batch)
            saved["cursor"], batch = stream.cursor, []
            write(saved)
            if saved["step"] == last:
                return


def update(step: int, batch: list[Group]) -> None:
    """Stands for an update of the weights: prints the groups of the batch and their mean reward."""
    rewards = [pc.mean(group.episodes.column("reward")).as_py() for group in batch]
    print(
        f"step {step}: groups {[group.number for group in batch]}, mean reward {sum(rewards) / BATCH:.3f}", flush=True
    )


def read() -> dict[str, Any]:
    """Reads the checkpoint: the last step and the stream's cursor. Without a file it returns those of a new training."""
    return json.loads(CHECKPOINT.read_text()) if CHECKPOINT.exists() else {"step": 0, "cursor": None}


def write(saved: dict[str, Any]) -> None:
    """Writes the checkpoint, so that a crash leaves either the old one or the new one."""
    scratch = CHECKPOINT.with_suffix(".new")
    scratch.write_text(json.dumps(saved))
    scratch.rename(CHECKPOINT)


if __name__ == "__main__":
    asyncio.run(train("examples/toy_trainer.yaml", steps=int(sys.argv[1]) if len(sys.argv) > 1 else 5))
