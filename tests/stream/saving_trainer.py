"""A toy trainer, to be killed: takes batches of groups, publishes a version of the weights for each, and saves a checkpoint.

saving_trainer.py FOLDER goes on from the checkpoint in FOLDER until its process is killed.
"""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import yaml

from ray_gym.stream import Group, Stream, open_stream

REPEATS = 4
BATCH = 8
STALENESS = 2


@dataclass(slots=True)
class Checkpoint:
    version: int = 0
    cursor: dict[str, Any] | None = None
    trained_on: list[int] = field(default_factory=list)
    """Numbers of the groups that went into the weights."""
    stalest: int = 0
    """The most versions that a group was behind when it was trained on."""

    @classmethod
    def load(cls, folder: Path) -> Checkpoint:
        path = folder / "checkpoint.json"
        return cls(**json.loads(path.read_text())) if path.exists() else cls()

    def save(self, folder: Path) -> None:
        _replace(folder / "checkpoint.json", json.dumps(asdict(self)))


def config_of(folder: Path) -> dict[str, Any]:
    toy = {"engine": "lucky_questions:VersionedEngine", "weights": str(folder / "weights"), "delay_s": 0.2}
    return {
        "run": {"name": "stream"},
        "environment": {"id": "lucky_questions:Ask"},
        "tasks": {"generate": 1000, "repeats": REPEATS},
        "models": {"toy": toy},
        "participants": {"policy": {"model": "toy"}},
        "fanout": {"workers": 1, "concurrency": 32},
        "output": {"dir": str(folder)},
    }


async def train(folder: Path) -> None:
    config = folder / "config.yaml"
    config.write_text(yaml.safe_dump(config_of(folder)))
    saved = Checkpoint.load(folder)
    _replace(folder / "weights", str(saved.version))
    options: dict[str, Any] = {"max_staleness": STALENESS, "groups_per_version": BATCH, "min_group_size": REPEATS}
    async with open_stream(config, cursor=saved.cursor, **options) as stream:
        taken: list[Group] = []
        async for group in stream:
            taken.append(group)
            if len(taken) == BATCH:
                step(folder, stream, taken, saved)
                taken = []


def step(folder: Path, stream: Stream, batch: list[Group], saved: Checkpoint) -> None:
    """Updates the weights once, and saves that the batch is in them."""
    saved.stalest = max(saved.stalest, *(stream.version - (group.version or 0) for group in batch))
    saved.trained_on += [group.number for group in batch]
    saved.version += 1
    _replace(folder / "weights", str(saved.version))
    stream.advance(saved.version)
    stream.acknowledge(*batch)
    saved.cursor = stream.cursor
    saved.save(folder)


def _replace(path: Path, text: str) -> None:
    """Writes a file whole or not at all."""
    scratch = path.with_suffix(".new")
    scratch.write_text(text)
    scratch.rename(path)


if __name__ == "__main__":
    asyncio.run(train(Path(sys.argv[1])))
