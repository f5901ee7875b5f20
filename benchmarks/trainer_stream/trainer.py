"""A toy trainer in a process of its own: eats batches, "trains", publishes a version, saves. It ends when the file `stop` is there."""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from benchmarks.trainer_stream.checkpoint import Checkpoint
from ray_gym.stream import Group, Stream, open_stream

REPEATS = 4
CONCURRENCY = 32


def config_of(folder: Path, delay_s: float) -> dict[str, Any]:
    play = "benchmarks.trainer_stream.play"
    return {
        "run": {"name": "stream"},
        "environment": {"id": f"{play}:Ask"},
        "tasks": {"generate": 1000, "repeats": REPEATS},
        "models": {
            "toy": {"engine": f"{play}:VersionedEngine", "weights": str(folder / "weights"), "delay_s": delay_s}
        },
        "participants": {"policy": {"model": "toy"}},
        "fanout": {"workers": 1, "concurrency": CONCURRENCY},
        "output": {"dir": str(folder)},
    }


async def train(folder: Path, batch: int, staleness: int, groups_per_s: float | None, delay_s: float) -> None:
    config = folder / "config.yaml"
    config.write_text(yaml.safe_dump(config_of(folder, delay_s)))
    saved = Checkpoint.load(folder)
    publish(folder, saved.version)
    options: dict[str, Any] = {"max_staleness": staleness, "groups_per_version": batch, "min_group_size": REPEATS}
    async with open_stream(config, cursor=saved.cursor, **options) as stream:
        next_at = time.monotonic()
        taken: list[Group] = []
        async for group in stream:
            taken.append(group)
            if len(taken) < batch:
                continue
            if groups_per_s is not None:
                next_at = max(next_at + batch / groups_per_s, time.monotonic())
                await asyncio.sleep(next_at - time.monotonic())
            step(folder, stream, taken, saved)
            taken = []
            if (folder / "stop").exists():
                (folder / "status.json").write_text(json.dumps(await stream.status()))
                return


def step(folder: Path, stream: Stream, batch: list[Group], saved: Checkpoint) -> None:
    """One update: of the weights, of everyone who generates with them, and of the checkpoint."""
    saved.stalest = max(saved.stalest, *(stream.version - (group.version or 0) for group in batch))
    saved.consumed += [group.number for group in batch]
    saved.version += 1
    publish(folder, saved.version)
    stream.advance(saved.version)
    stream.acknowledge(*batch)
    saved.cursor = stream.cursor
    saved.save(folder)


def publish(folder: Path, version: int) -> None:
    scratch = folder / "weights.new"
    scratch.write_text(str(version))
    scratch.rename(folder / "weights")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--staleness", type=int, default=2)
    parser.add_argument("--groups-per-s", type=float)
    parser.add_argument("--delay-s", type=float, default=0.5)
    given = parser.parse_args(arguments)
    asyncio.run(train(given.folder, given.batch, given.staleness, given.groups_per_s, given.delay_s))


if __name__ == "__main__":
    main()
