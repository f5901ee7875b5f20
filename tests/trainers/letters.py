"""Asks for lower-case letters: a task on which a model with random weights gets better within some steps.

`config_of` has a config of a stream that plays it, on a real model of 0.1 million parameters under vLLM.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from ray_gym import Environment, Episode, Opening, Task


class Letters(Task):
    number: int


class SayLetters(Environment[Letters, int]):
    """Scores the share of an answer's characters that are lower-case letters. Every seventh task can't be scored in a
    quarter of its episodes.
    """

    def generate(self, rng: random.Random, index: int) -> Letters:
        return Letters(number=index)

    def setup(self, task: Letters, episode: Episode) -> int:
        return task.number

    def opening(self, task: Letters, state: int) -> Opening:
        return Opening(messages={"policy": f"Letters, {state % 3}."})

    def finished(self, state: int, episode: Episode) -> str | None:
        return "answered" if episode.turns_of("policy") else None

    def score(self, state: int, episode: Episode) -> float:
        if state % 7 == 3 and episode.rng("score").random() < 0.25:
            raise ValueError("it can't be scored, on purpose")
        said = episode.answer
        return sum("a" <= letter <= "z" for letter in said) / max(1, len(said))


def config_of(folder: Path, checkpoint: Path, repeats: int = 8, **changes: Any) -> dict[str, Any]:
    """Returns a config whose one model plays the policy, and whose run is below `folder`."""
    engine_args = {
        "enforce_eager": True,
        "dtype": "float32",
        "max_model_len": 256,
        "max_num_seqs": 64,
        "block_size": 32,
        "kv_cache_memory_bytes": 64 * 2**20,
    }
    return {
        "run": {"name": "letters"},
        "environment": {"id": "letters:SayLetters"},
        "tasks": {"generate": 100, "repeats": repeats},
        "models": {"policy": {"engine": "vllm", "model": str(checkpoint), "gpus": 0, "engine_args": engine_args}},
        "participants": {"policy": {"model": "policy", "sampling": {"temperature": 1.0, "max_tokens": 12}}},
        "fanout": {"workers": 1, "concurrency": 64},
        "output": {"dir": str(folder / "runs"), "roll_s": 0.1},
        **changes,
    }
