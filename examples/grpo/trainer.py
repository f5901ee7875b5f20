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
from transformers import AutoModelForCausalLM, AutoTokenizer

from examples.grpo import checkpoint, curves
from examples.grpo.annotations import write_annotations
from examples.grpo.batches import Batches
from examples.grpo.checks import check_plain
from examples.grpo.evaluation import evaluate
from examples.grpo.learner import Learner
from examples.grpo.lora import add_low_rank, load_low_rank
from examples.grpo.outcomes import outcomes_of
from examples.grpo.sabotage import Sabotage, overrides, spoil
from examples.grpo.settings import Settings
from examples.grpo.update import give_weights
from examples.grpo.waiting import EngineWatch
from ray_gym.stream import Group, open_stream

KEPT = 4
"""Number of the newest checkpoints that are kept: tokens may be of these versions."""


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
        checkpoints = self.folder / "checkpoints"
        torch.manual_seed(self.settings.seed)
        model, tokenizer = self._policy(start), AutoTokenizer.from_pretrained(start)
        optimizer = self._optimizer(model)
        at = checkpoint.newest(checkpoints)
        if at is None:
            at = checkpoint.save(checkpoints, model, tokenizer, optimizer, checkpoint.State())
        state = checkpoint.load_state(at)
        self._load(model, at)
        checkpoint.load_trainer(at, optimizer)
        weights_of = lru_cache(KEPT)(lambda version: load_model(checkpoint.folder_of(checkpoints, version)))
        learner = Learner(model, optimizer, load_model(start), weights_of, self.settings, self.temperature)
        config = [f"run.name=grpo-{self.folder.name}", f"output.dir={self.folder}", f"run.seed={self.settings.seed}"]
        config += [
            f"models.policy.model={at}",
            f"models.policy.weights_version={state.step}",
            *overrides(self.sabotage),
        ]
        bounds = bounds_of(self.settings)
        kept = (checkpoint.folder_of(checkpoints, 0), at)
        with (
            open_stream(self.settings.rollouts, config, cursor=state.cursor, **bounds) as stream,
            EngineWatch(stream) as watch,
        ):
            policy, batches = stream.weights("policy"), Batches(stream, self.settings.groups)
            while True:
                if state.step % self.settings.evaluate_every == 0 or state.step >= self.settings.steps:
                    self._evaluate(stream, config, state)
                if state.step >= self.settings.steps:
                    return state.history
                began = time.monotonic()
                groups = batches.take(state.step)
                taken = time.monotonic()
                row = self._learn(learner, groups, state.step, stream.location)
                stream.acknowledge(*groups)
                state.step, state.cursor = state.step + 1, stream.cursor
                learned = time.monotonic()
                row |= {"step": state.step, "wait_s": taken - began, "learn_s": learned - taken}
                row["trainer_waits"] = (taken - began) / (learned - began)
                row["engine_waits"] = watch.waiting_share(began, learned)
                row["tokens_per_s"] = row["generated_tokens"] / (learned - began)
                state.history.append(row)
                saved = checkpoint.save(checkpoints, model, tokenizer, optimizer, state)
                give_weights(policy, state.step, saved)
                checkpoint.prune(checkpoints, KEPT, kept)
                curves.write_table(state.history, self.folder)
                print(line_of(row), flush=True)

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

    def _policy(self, start: Path) -> Any:
        """Returns the model that is trained, as it is before the first step."""
        model = load_model(start)
        if self.settings.lora is not None:
            add_low_rank(model, self.settings.lora)
        return model

    def _load(self, model: Any, at: Path) -> None:
        """Loads the trained weights of a checkpoint."""
        if self.settings.lora is None:
            model.load_state_dict(load_model(at).state_dict())
        else:
            load_low_rank(model, at)

    def _optimizer(self, model: Any) -> torch.optim.Optimizer:
        options = self.settings.optimizer
        trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
        return torch.optim.AdamW(trained, lr=options.lr, betas=options.betas, weight_decay=0.0)


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


def load_model(folder: Path) -> Any:
    """Returns the causal language model of a folder, in float32."""
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)


def line_of(row: dict[str, Any]) -> str:
    """Returns a line of text on a step."""
    return (
        f"step {row['step']}: reward {row['reward']:.3f}, legal {row['legal']:.3f}, kl {row['kl']:.4f}, "
        f"ratio off by {row['ratio_error']:.1e} ({row['fresh_tokens']} tokens fresh), stale {row['staleness']:.2f}, "
        f"entropy {row['entropy']:.3f}, without spread {row['groups_without_spread']}, waited {row['wait_s']:.1f} s, "
        f"learned {row['learn_s']:.1f} s, engine idle {row['engine_waits']:.0%}"
    )
