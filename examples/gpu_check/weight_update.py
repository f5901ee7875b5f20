"""Checks that an engine's logprobs follow its weights: `python -m examples.gpu_check.weight_update`.

An engine plays with the small model, gets other weights by a folder, plays, gets the first ones back from memory, and
plays. Each time the recorded logprobs have to be those of a forward pass with the weights of that time, and far from
those of the others. Bounds and comparison are those of `benchmarks.parity`.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file

import ray_gym
from benchmarks.command import add_json, begin, not_negative, positive
from benchmarks.measure import MeasurementFailed
from benchmarks.parity import PRECISIONS, Compared, compare, config_of, make_engine
from benchmarks.rollout import play, serve_engine
from ray_gym.deployments.small_model import checkpoint_dir
from ray_gym.errors import RunFailed, UserError
from ray_gym.models.base import EngineCheck
from ray_gym.run.cluster import cluster
from ray_gym.trainers.recorded_logprobs import Grammars, Reference

DTYPE, CASE, FILE = "float32", "plain-1.0", "model.safetensors"
SCALE = 1.1
"""Factor of the down projections of the other weights."""
LEAST_OTHER = 100 * PRECISIONS[DTYPE].mean
"""Mean difference from the logprobs of the other weights that is too small, for then nothing was told apart."""


@dataclass(frozen=True, slots=True)
class Phase:
    """Holds what was played with the weights of a version."""

    version: int
    versions: set[int]
    """Versions that its tokens carry."""
    own: Compared
    """Comparison with the weights of the version; `other`: with the other ones."""
    other: Compared

    def problems(self) -> list[str]:
        """Returns a text for each thing that is wrong."""
        found = self.own.problems()
        if self.versions != {self.version}:
            found.append(f"tokens carry the versions {sorted(self.versions)}, not {self.version}")
        if not self.other.mean >= LEAST_OTHER:
            found.append(
                f"logprobs are {self.other.mean:.1e} from those of other weights, not {LEAST_OTHER:.0e} or more"
            )
        return [f"version {self.version}: {problem}" for problem in found]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command, and returns its exit code: 1 if the engine, an update or a comparison failed."""
    given, heading = begin(parser(), arguments)
    try:
        with tempfile.TemporaryDirectory(prefix="ray_gym_update_") as output:
            phases, seconds = measure(given.gpus, given.episodes, Path(output))
    except (MeasurementFailed, RunFailed, UserError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    problems = [problem for phase in phases for problem in phase.problems()]
    told = [{"version": phase.version, "own": phase.own.mean, "other": phase.other.mean} for phase in phases]
    heading.write(given.json, phases=told, update_s=seconds, problems=problems)
    print(f"phases: {told}, seconds of updates: {seconds}", *(f"error: {problem}" for problem in problems), sep="\n")
    return int(bool(problems))


def measure(gpus: float, episodes: int, output: Path) -> tuple[list[Phase], list[float]]:
    """Plays with three versions of weights. Returns what came of each, and the seconds that the two updates took.

    Errors: MeasurementFailed, RunFailed or UserError if something can't be played, or an update fails.
    """
    first, other = checkpoint_dir(), change_weights(checkpoint_dir(), output / "other")
    updates: list[dict[str, Any]] = [{"path": other}, {"state_dict": load_file(first / FILE)}]
    runs, seconds = play_all(gpus, episodes, output, updates)
    references, grammars = [Reference(first), Reference(other)], Grammars.of(first)
    phases = []
    for version, run in enumerate(runs):
        own, others = references[version % 2], references[(version + 1) % 2]
        compared = [compare(DTYPE, CASE, episodes, run, reference, grammars) for reference in (own, others)]
        phases.append(Phase(version, versions_of(run), *compared))
    return phases, seconds


def play_all(
    gpus: float, episodes: int, output: Path, updates: Sequence[dict[str, Any]]
) -> tuple[list[ray_gym.Run], list[float]]:
    """Plays before the updates and after each, on one engine. Returns the runs, and the seconds that each update took."""
    engine, check, seconds = make_engine(DTYPE, gpus=gpus), EngineCheck("small", {}, uses_tools=True), list[float]()
    with cluster.connect(), serve_engine(engine, "update", check) as app:
        weights = ray_gym.Weights(app)
        runs = [play(config_of(DTYPE, CASE, episodes, app, output / "version-0"))]
        for version, update in enumerate(updates, start=1):
            began = time.monotonic()
            weights.update(version, **update)
            seconds.append(time.monotonic() - began)
            runs.append(play(config_of(DTYPE, CASE, episodes, app, output / f"version-{version}")))
    return [ray_gym.load(run) for run in runs], seconds


def change_weights(checkpoint: Path, folder: Path) -> Path:
    """Writes a checkpoint with other weights than the given one, and returns its folder."""
    shutil.copytree(checkpoint, folder)
    weights = load_file(checkpoint / FILE)
    changed = {name: tensor * SCALE if "down_proj" in name else tensor for name, tensor in weights.items()}
    save_file(changed, folder / FILE, metadata={"format": "pt"})
    return folder


def versions_of(run: ray_gym.Run) -> set[int]:
    """Returns the versions that generated tokens of a run carry."""
    return {span["version"] for sample in run.samples.to_pylist() for span in sample["versions"]}


def parser() -> argparse.ArgumentParser:
    """Makes the parser of the command line."""
    made = argparse.ArgumentParser(prog="python -m examples.gpu_check.weight_update", description=__doc__)
    made.add_argument("--episodes", type=positive, default=16, help="episodes with each version (default 16)")
    made.add_argument("--gpus", type=not_negative, default=0, help="GPUs of the engine (default 0: CPU)")
    add_json(made)
    return made


if __name__ == "__main__":
    sys.exit(main())
