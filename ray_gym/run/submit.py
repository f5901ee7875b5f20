"""`ray-gym rollout` from start to end: plan, directory, cluster, play, summary."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ray
from rich.console import Console

from ray_gym.config import RunConfig
from ray_gym.config_file import read_config
from ray_gym.errors import UserError
from ray_gym.run import cluster
from ray_gym.run.directory import RunDirectory, create, output_root, reopen
from ray_gym.run.driver import Outcome, carry_out
from ray_gym.run.plan import Plan, make_plan
from ray_gym.run.progress import Reporter
from ray_gym.tasks import locate

RESUMABLE_OVERRIDES = ("fanout.", "output.roll", "limits.episode_deadline_s", "limits.call_deadline_s", "limits.tool_deadline_s")
"""What may differ when a run is gone on with: how fast it is played, not what is played."""


@dataclass(frozen=True, slots=True)
class Submitted:
    directory: Path
    summary: dict[str, Any]
    interrupted: bool


def submit(config_path: Path, overrides: Sequence[str], console: Console, *, wait: bool = False) -> Submitted:
    """Play a config as a new run. Errors: UserError before anything is written; RunFailed."""
    config = read_config(config_path, overrides)
    if config.tasks.path is not None:
        found = str(locate(config.tasks.path, config_path.parent).absolute())
        config = config.model_copy(update={"tasks": config.tasks.model_copy(update={"path": found})})
    plan = make_plan(config, config_path)
    output_root(config)
    return _run(plan, lambda: _new_directory(config, config_path), console, wait)


def resume(run: Path, overrides: Sequence[str], console: Console, *, wait: bool = False) -> Submitted:
    """Go on with a run: committed episodes are left alone, the others are played. Errors: UserError, RunFailed."""
    for override in overrides:
        if not override.startswith(RESUMABLE_OVERRIDES):
            allowed = ", ".join(f"{prefix}*" if prefix.endswith(".") else prefix for prefix in RESUMABLE_OVERRIDES)
            raise UserError(f"--resume: {override}: a run is gone on with as it was; only these may change: {allowed}")
    directory = reopen(run)
    plan = make_plan(read_config(directory.config_file, overrides), directory.config_file)
    return _run(plan, lambda: directory, console, wait)


def _new_directory(config: RunConfig, config_path: Path) -> RunDirectory:
    directory = create(config, config_path)
    directory.write_config(config)
    return directory


def _run(plan: Plan, open_directory: Any, console: Console, wait: bool) -> Submitted:
    try:
        cluster.connect()
        cluster.check_gpus(plan.engines, wait)
        directory: RunDirectory = open_directory()
        say = lambda text: console.print(text, soft_wrap=True, highlight=False)  # noqa: E731
        say(f"run {directory.path}: {len(plan.specs)} episodes of {plan.config.environment.id}")
        try:
            with Reporter(console) as reporter:
                outcome = carry_out(plan, directory, say, reporter)
            return _close(plan, directory, outcome)
        finally:
            directory.close()
    finally:
        ray.shutdown()


def _close(plan: Plan, directory: RunDirectory, outcome: Outcome) -> Submitted:
    silent = [name for name, gives in plan.gives_tokens.items() if not gives]
    summary = {
        "run": directory.name,
        "environment": plan.config.environment.id,
        "interrupted": outcome.interrupted,
        **outcome.tally.summary(),
        "models_without_token_ids": silent,
        "command": sys.argv,
    }
    directory.write_summary(summary)
    return Submitted(directory.path, summary, outcome.interrupted)
