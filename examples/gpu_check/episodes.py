"""Plays episodes by the command line, and checks their rows: `python -m examples.gpu_check.episodes`."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import ray_gym
from benchmarks.command import add_json, begin, not_negative, positive
from ray_gym.record.soundness import sample_problems

CONFIG = "configs/tic_tac_toe.yaml"
NAME = "gpu-check"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command, and returns its exit code: 1 if an episode failed, or a sample is not sound."""
    given, heading = begin(parser(), arguments)
    with tempfile.TemporaryDirectory(prefix="ray_gym_episodes_") as output:
        began = time.monotonic()
        code = subprocess.run(command_of(given.episodes, given.gpus, Path(output)), check=False).returncode
        seconds = time.monotonic() - began
        if code != 0:
            print(f"error: ray-gym rollout ended with exit code {code}", file=sys.stderr)
            return 1
        run = ray_gym.load(Path(output) / NAME)
        completed = run.episodes.column("status").to_pylist().count("completed")
        samples = run.samples.to_pylist()
    problems = list(dict.fromkeys(problem for sample in samples for problem in sample_problems(sample)))
    if completed != given.episodes:
        problems.append(f"{completed} episodes were completed, but {given.episodes} were asked for")
    tokens = sum(sum(sample["loss_mask"]) for sample in samples)
    numbers = {"asked": given.episodes, "completed": completed, "seconds": seconds, "tokens": tokens}
    print(f"{numbers}, problems: {problems}")
    heading.write(given.json, **numbers, problems=problems)
    return int(bool(problems))


def command_of(episodes: int, gpus: float, output: Path) -> list[str]:
    """Returns the command that plays so many episodes, each of another task. On GPUs vLLM uses CUDA graphs."""
    place = [f"run.name={NAME}", f"output.dir={output}", f"tasks.generate={episodes}", "tasks.repeats=1"]
    engine = [f"models.small.gpus={gpus:g}", f"models.small.engine_args.enforce_eager={str(not gpus).lower()}"]
    return [sys.executable, "-m", "ray_gym", "rollout", CONFIG, *place, *engine]


def parser() -> argparse.ArgumentParser:
    """Makes the parser of the command line."""
    made = argparse.ArgumentParser(prog="python -m examples.gpu_check.episodes", description=__doc__)
    made.add_argument("--episodes", type=positive, default=200, help="number of episodes (default 200)")
    made.add_argument("--gpus", type=not_negative, default=0, help="GPUs of the engine (default 0: CPU)")
    add_json(made)
    return made


if __name__ == "__main__":
    sys.exit(main())
