"""Plays held-out tasks on the stream's models, and compares what a policy got before and after training."""

from __future__ import annotations

import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import ray_gym
from examples.grpo.outcomes import Outcomes, outcomes_of
from examples.grpo.settings import Settings

FOLDER = "evaluations"
DRAWS = 10_000
CONFIDENCE = 0.95


def evaluate(stream: Any, settings: Settings, overrides: list[str], folder: Path, step: int) -> Outcomes:
    """Plays the held-out tasks with the weights of a step, unless it was done before. `overrides`: the stream's.

    One that was interrupted begins anew, since its config names the weights that an earlier process began with. Errors:
    UserError, RunFailed.
    """
    name, place = f"step-{step:06d}", folder / FOLDER
    if not (place / name / "summary.json").exists():
        shutil.rmtree(place / name, ignore_errors=True)
        held_out = [f"run.seed={settings.evaluation.seed}", f"tasks.generate={settings.evaluation.episodes}"]
        own = [*overrides, *held_out, "tasks.repeats=1", f"output.dir={place}"]
        stream.evaluate(settings.rollouts, own, name=name)
    return outcomes_of(episodes_of(folder, step))


def episodes_of(folder: Path, step: int) -> pa.Table:
    """Returns the rows of the evaluation at a step."""
    return ray_gym.load(folder / FOLDER / f"step-{step:06d}").episodes


@dataclass(frozen=True, slots=True)
class Comparison:
    """Compares two evaluations of the same tasks."""

    episodes: int
    """Number of tasks that were completed in both."""
    before: float
    """Mean reward before training, over those tasks; likewise `after`."""
    after: float
    difference: float
    low: float
    """Lower end of the bootstrap interval of the difference; likewise `high`."""
    high: float
    legal_before: float
    legal_after: float

    def as_json(self) -> dict[str, float]:
        """Returns the values by their names."""
        return asdict(self)

    def as_text(self) -> str:
        """Returns two lines for a reader."""
        return (
            f"held out, {self.episodes} episodes: mean reward {self.before:.3f} before, {self.after:.3f} after, difference "
            f"{self.difference:+.3f} ({CONFIDENCE:.0%} interval {self.low:+.3f} to {self.high:+.3f})\n"
            f"legal moves: {self.legal_before:.3f} of the policy's messages before, {self.legal_after:.3f} after"
        )


def compare(before: pa.Table, after: pa.Table) -> Comparison:
    """Compares the episodes of two evaluations, task by task. Errors: ValueError without a task in common."""
    rewards = [_by_task(episodes) for episodes in (before, after)]
    tasks = sorted(rewards[0].keys() & rewards[1].keys())
    if not tasks:
        raise ValueError("the evaluations have no completed task in common")
    old, new = (np.array([of_task[task] for task in tasks]) for of_task in rewards)
    low, high = bootstrap(new - old)
    shares = [outcomes_of(episodes).legal_share for episodes in (before, after)]
    return Comparison(len(tasks), old.mean(), new.mean(), (new - old).mean(), low, high, *shares)


def bootstrap(differences: np.ndarray[Any, Any], draws: int = DRAWS, seed: int = 0) -> tuple[float, float]:
    """Returns the percentile bootstrap interval of a mean (Efron 1979). `differences`: float64 [tasks]."""
    chosen = np.random.default_rng(seed).integers(0, len(differences), (draws, len(differences)))
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(differences[chosen].mean(1), [tail, 1 - tail])
    return float(low), float(high)


def _by_task(episodes: pa.Table) -> dict[str, float]:
    rows = episodes.select(["task_id", "status", "reward"]).to_pylist()
    return {row["task_id"]: row["reward"] for row in rows if row["status"] == "completed"}
