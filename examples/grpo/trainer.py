"""Trains a policy: takes batches from the stream, learns, saves, and gives the engine the new weights.

A step is saved before the engine gets its weights, so nothing is ever played with weights that a crash can lose.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import torch

from examples.grpo import checkpoint, curves
from examples.grpo.annotations import write_annotations
from examples.grpo.batches import Batches
from examples.grpo.checks import check_plain
from examples.grpo.evaluation import evaluate
from examples.grpo.learner import Learner
from examples.grpo.outcomes import outcomes_of, steps_to
from examples.grpo.policies import load_model, make_policy
from examples.grpo.sabotage import Sabotage, overrides, spoil
from examples.grpo.settings import Settings
from examples.grpo.update import give_weights
from examples.grpo.waiting import EngineWatch
from ray_gym.stream import Group, open_stream

KEPT = 3
"""Number of the newest checkpoints that are kept, beside one for each version that a token may be older than."""


@dataclass(slots=True)
class Trainer:
    """Trains until the last step of its settings, from the newest checkpoint of its folder on."""

    settings: Settings
    folder: Path
    """Folder of the training: checkpoints, the stream's run, evaluations and curves."""
    temperature: float
    """Temperature at which tokens are said to be drawn."""
    sabotage: Sabotage | None = None

    def train(self, start: Path) -> list[dict[str, Any]]:
        """Trains and returns a row of measured values for each step. `start`: the model's folder before the first step.

        Errors: CheckFailed; UserError and RunFailed of the stream.
        """
        torch.set_num_threads(self.settings.threads)
        policy = make_policy(start, self.settings)
        at = checkpoint.newest(self._checkpoints) or policy.save(self._checkpoints, checkpoint.State())
        state = checkpoint.load_state(at)
        policy.load(at, self.settings)
        weights_of = lru_cache(self.kept)(lambda version: load_model(checkpoint.folder_of(self._checkpoints, version)))
        learner = Learner(
            policy.model, policy.optimizer, load_model(start), weights_of, self.settings, self.temperature
        )
        config = self._overrides(at, state.step)
        with open_stream(self.settings.rollouts, config, cursor=state.cursor, **bounds_of(self.settings)) as stream:
            engine, batches = stream.weights("policy"), Batches(stream, self.settings.groups)
            with EngineWatch(stream) as watch:
                while not self._is_done(state):
                    if state.step % self.settings.evaluate_every == 0:
                        self._evaluate(stream, config, state)
                    self._step(stream, batches, learner, watch, state)
                    saved = policy.save(self._checkpoints, state)
                    give_weights(engine, state.step, saved)
                    checkpoint.prune(self._checkpoints, self.kept, (checkpoint.folder_of(self._checkpoints, 0), at))
                    curves.write_table(state.history, self.folder)
                    print(line_of(state.history[-1]), flush=True)
                self._evaluate(stream, config, state)
        return state.history

    def _is_done(self, state: checkpoint.State) -> bool:
        until = self.settings.until_reward
        is_good = until is not None and steps_to(until, state.history) is not None
        return is_good or state.step >= self.settings.steps

    @property
    def kept(self) -> int:
        """Returns the number of checkpoints that are kept: the importance ratio of a token is checked under its own."""
        return KEPT + self.settings.max_staleness

    @property
    def _checkpoints(self) -> Path:
        return self.folder / "checkpoints"

    def _overrides(self, at: Path, version: int) -> list[str]:
        """Returns what the trainer sets in the config of the rollouts. `at`: the weights that the engine begins with."""
        place = [f"run.name=grpo-{self.folder.name}", f"output.dir={self.folder}", f"run.seed={self.settings.seed}"]
        weights = [f"models.policy.model={at}", f"models.policy.weights_version={version}"]
        return [*place, *weights, *overrides(self.sabotage)]

    def _step(
        self, stream: Any, batches: Batches, learner: Learner, watch: EngineWatch, state: checkpoint.State
    ) -> None:
        """Takes a batch, learns from it, and brings the state to the next step. Errors: CheckFailed, RunFailed."""
        began = time.monotonic()
        groups = batches.take(state.step)
        taken = time.monotonic()
        row = self._learn(learner, groups, state.step, stream.location)
        stream.acknowledge(*groups)
        learned = time.monotonic()
        state.step, state.cursor = state.step + 1, stream.cursor
        row |= {"step": state.step, "wait_s": taken - began, "learn_s": learned - taken}
        row["trainer_waits"] = (taken - began) / (learned - began)
        row["engine_waits"] = watch.waiting_share(began, learned)
        row["at_s"] = learned - watch.entered_at
        row["tokens_per_s"] = row["generated_tokens"] / (learned - began)
        state.history.append(row)

    def _learn(self, learner: Learner, groups: list[Group], step: int, run: str) -> dict[str, Any]:
        """Makes a step on groups, annotates their tokens, and returns the measured values. Errors: CheckFailed."""
        joined = Group.joined(groups)
        if step == 0 and self.sabotage is None:
            check_plain(joined.samples, self.temperature)
        tensors = joined.tensors()
        measured, annotations = learner.learn(spoil(tensors, self.sabotage, step), step)
        write_annotations(annotations.table(joined.samples, tensors.rows), run, step + 1)
        measured["withheld_tokens"] += pc.sum(joined.samples.column("withheld_tokens")).as_py()
        outcomes = outcomes_of(joined.episodes)
        return {
            "reward": outcomes.reward,
            "legal": outcomes.legal_share,
            "length": outcomes.generated / joined.episodes.num_rows,
            "episodes": joined.episodes.num_rows,
            "failed": outcomes.failed,
            "samples": len(tensors.rows),
            "generated_tokens": outcomes.generated,
            "groups": [group.number for group in groups],
            "task_ids": [group.task_id for group in groups],
            "groups_dropped": self.settings.groups - len(groups),
            "groups_without_spread": sum(1 for group in groups if not group.advantages().any()),
            **measured,
        }

    def _evaluate(self, stream: Any, config: list[str], state: checkpoint.State) -> None:
        outcomes = evaluate(stream, self.settings, config, self.folder, state.step)
        print(
            f"evaluation after {state.step} steps: mean reward {outcomes.reward:.3f} of {len(outcomes.rewards)} episodes, "
            f"legal moves {outcomes.legal_share:.3f}",
            flush=True,
        )


def bounds_of(settings: Settings) -> dict[str, Any]:
    """Returns the options of the stream.

    A group that waits for its turn counts as open. So with this many open ones, all groups that are played with the
    weights of a step are trained on at most `max_staleness` steps later, but for a few that are begun between the
    acknowledgement of a step and its update; their oldest tokens are withheld, and no group is dropped for its age.
    """
    return {
        "max_staleness": settings.max_staleness,
        "stale": "withhold",
        "groups_per_version": settings.groups,
        "max_open_groups": (settings.max_staleness + 1) * settings.groups,
        "min_group_size": 2,
    }


def line_of(row: dict[str, Any]) -> str:
    """Returns a line of text on a step."""
    return (
        f"step {row['step']}: reward {row['reward']:.3f}, legal {row['legal']:.3f}, kl {row['kl']:.4f}, "
        f"ratio off by {row['ratio_error']:.1e} ({row['fresh_tokens']} tokens fresh), stale {row['staleness']:.2f}, "
        f"entropy {row['entropy']:.3f}, without spread {row['groups_without_spread']}, waited {row['wait_s']:.1f} s, "
        f"learned {row['learn_s']:.1f} s, engine idle {row['engine_waits']:.0%}"
    )
