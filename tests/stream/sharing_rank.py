"""Plays one rank of three that share a stream, to be killed by a test: sharing_rank.py FOLDER RANK COUNT.

It acknowledges COUNT groups (all if COUNT is -1) and prints `acknowledged NUMBER` for each. Then rank 0 saves the
cursor whenever it reads a line, and any other rank takes one group more, prints `holds NUMBER`, and waits to be killed.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import yaml

from ray_gym.stream import BlockingStream, open_stream

WORLD_SIZE = 3
TASKS = 30


def config_of(folder: Path) -> Path:
    """Writes the config of the stream, the same for each rank, and returns its path."""
    config = {
        "run": {"name": "stream"},
        "environment": {"id": "lucky_questions:Ask"},
        "tasks": {"generate": TASKS, "repeats": 2},
        "models": {
            "toy": {"engine": "lucky_questions:VersionedEngine", "weights": str(folder / "weights"), "delay_s": 0.02}
        },
        "participants": {"policy": {"model": "toy"}},
        "fanout": {"workers": 1, "concurrency": 8},
        "output": {"dir": str(folder), "roll_s": 0.1},
    }
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(config))
    return path


def play(folder: Path, rank: int, count: int) -> None:
    saved = folder / "cursor.json"
    cursor = json.loads(saved.read_text()) if saved.exists() else None
    shared = {"rank": rank, "world_size": WORLD_SIZE}
    with open_stream(folder / "config.yaml", cursor=cursor, version=0, epochs=1, min_group_size=2, **shared) as stream:
        acknowledge(stream, count)
        if count < 0:
            return
        if rank != 0:
            say(f"holds {next(stream).number}")
        for _ in sys.stdin:
            saved.write_text(json.dumps(stream.cursor))
            say("saved")


def acknowledge(stream: BlockingStream, count: int) -> None:
    """Acknowledges the next groups: `count` of them, or all if that is below 0."""
    while count:
        group = next(stream, None)
        if group is None:
            return
        stream.acknowledge(group)
        say(f"acknowledged {group.number}")
        count -= 1


def say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    play(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
