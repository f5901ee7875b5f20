"""Runs a trainer that reads a stream and updates its model's weights, for `test_stream_of_vllm.py`.

Its arguments are FOLDER (with the checkpoints) and RESULTS.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from pathlib import Path
from typing import Any

import ray
import yaml

from ray_gym import Environment, Episode, Message, Opening, Task
from ray_gym.models.base import CompletionRequest
from ray_gym.stream import Group, Stream, open_stream
from ray_gym.weights.client import Weights

STALENESS, BATCH, TURNS, MAX_TOKENS = 1, 4, 3, 24
ENGINE_ARGS = {
    "enforce_eager": True,
    "max_model_len": 1024,
    "max_num_seqs": 32,
    "block_size": 32,
    "kv_cache_memory_bytes": 2**27,
    "dtype": "float32",
}


class Chat(Task):
    topic: int


class Talk(Environment[Chat, int]):
    """The user answers every message of the policy with the same words."""

    participants = ("policy", "user")

    def generate(self, rng: random.Random, index: int) -> Chat:
        return Chat(topic=index)

    def setup(self, task: Chat, episode: Episode) -> int:
        return task.topic

    def opening(self, task: Chat, state: int) -> Opening:
        return Opening(messages={"policy": f"Speak of {state}."})

    def score(self, state: int, episode: Episode) -> float:
        return 1.0


def nodding(request: CompletionRequest, rng: random.Random) -> Message:
    return Message("assistant", "Go on.")


def config_of(folder: Path) -> Path:
    path = folder / "config.yaml"
    model = {
        "engine": "vllm",
        "model": str(folder / "first"),
        "gpus": 0,
        "tool_parser": None,
        "engine_args": ENGINE_ARGS,
    }
    config = {
        "run": {"name": "stream"},
        "environment": {"id": "stream_weights:Talk"},
        "tasks": {"generate": 1000, "repeats": 2},
        "models": {"tiny": model, "nodding": {"engine": "scripted", "player": "stream_weights:nodding"}},
        "participants": {
            "policy": {"model": "tiny", "sampling": {"max_tokens": MAX_TOKENS}},
            "user": {"model": "nodding"},
        },
        "limits": {"max_turns": TURNS},
        "fanout": {"workers": 1, "concurrency": 16},
        "output": {"dir": str(folder / "runs"), "roll_s": 0.2},
    }
    path.write_text(yaml.safe_dump(config))
    return path


class Trainer:
    def __init__(self, stream: Stream, folder: Path) -> None:
        self._stream = stream
        self._folder = folder
        self.weights = stream.weights("tiny")
        self.taken: list[dict[str, Any]] = []

    async def take(self, count: int) -> None:
        """Groups, each with what served when it was asked for."""
        groups = []
        for _ in range(count):
            served = await asyncio.to_thread(lambda: self.weights.version)
            group = await anext(self._stream)
            groups.append(group)
            self.taken.append(
                {
                    "number": group.number,
                    "served": served,
                    "known": self._stream.version,
                    "version": group.version,
                    "samples": samples_of(group),
                }
            )
        self._stream.acknowledge(*groups)

    async def update(self, version: int, name: str) -> None:
        await asyncio.to_thread(self.weights.update, version, self._folder / name)

    async def until_some_wait(self) -> None:
        async with asyncio.timeout(120):
            while not (await self._stream.status())["waiting"]:  # noqa: ASYNC110  another process's state
                await asyncio.sleep(0.05)


def samples_of(group: Group) -> list[dict[str, Any]]:
    columns = ["token_ids", "loss_mask", "logprobs", "versions"]
    rows = group.samples.select(columns).to_pylist()
    return [
        {**row, "versions": [[span["version"], span["start"], span["end"]] for span in row["versions"]]} for row in rows
    ]


async def first_life(config: Path, folder: Path) -> dict[str, Any]:
    async with open_stream(config, max_staleness=STALENESS, groups_per_version=BATCH) as stream:
        trainer = Trainer(stream, folder)
        await trainer.take(BATCH)
        await asyncio.gather(trainer.update(1, "second"), trainer.take(BATCH))  # it eats on while they change
        await trainer.take(BATCH)
        elsewhere = Weights(trainer.weights.app)
        await asyncio.to_thread(elsewhere.update, 2, folder / "third")
        await trainer.take(2 * BATCH)
        await trainer.update(3, "first")
        await trainer.until_some_wait()
        await trainer.update(5, "second")
        await trainer.take(BATCH)
        return {"taken": trainer.taken, "cursor": stream.cursor, "status": await stream.status()}


async def second_life(config: Path, folder: Path, cursor: Any) -> dict[str, Any]:
    """It goes on from the trainer's own checkpoint."""
    weights = [f"models.tiny.model={folder / 'second'}", "models.tiny.weights_version=5"]
    async with open_stream(config, weights, cursor=cursor, max_staleness=0, groups_per_version=BATCH) as stream:
        trainer = Trainer(stream, folder)
        began = stream.version
        await trainer.take(BATCH)
        return {"taken": trainer.taken, "began": began}


async def lives(folder: Path) -> dict[str, Any]:
    config = config_of(folder)
    first = await first_life(config, folder)
    return {"first": first, "second": await second_life(config, folder, first["cursor"])}


if __name__ == "__main__":
    ray.init(log_to_driver=False)
    Path(sys.argv[2]).write_text(json.dumps(asyncio.run(lives(Path(sys.argv[1])))))
