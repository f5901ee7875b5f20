"""`ray-gym rollout` from start to end: plan, directory, cluster, play, summary."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from ray_gym.config import RunConfig
from ray_gym.config_file import read_config
from ray_gym.errors import UserError
from ray_gym.run import cluster
from ray_gym.run.directory import RunDirectory, create, plan_directory, reopen
from ray_gym.run.driver import Outcome, carry_out
from ray_gym.run.plan import Plan, make_plan
from ray_gym.run.progress import Reporter
from ray_gym.tasks import locate

RESUMABLE_OVERRIDES = (
    "fanout.",
    "output.roll",
    "limits.episode_deadline_s",
    "limits.call_deadline_s",
    "limits.tool_deadline_s",
)
"""What may differ when a run is gone on with: how fast it is played, not what is played."""


@dataclass(frozen=True, slots=True)
class Submitted:
    directory: Path
    summary: dict[str, Any]
    interrupted: bool


def submit(config_path: Path, overrides: Sequence[str], console: Console, *, wait: bool = False) -> Submitted:
    """Play a config as a new run. Errors: UserError, with nothing left behind; RunFailed."""
    config = _with_absolute_path(read_config(config_path, overrides), config_path)
    plan = make_plan(config, config_path)
    directory = plan_directory(config, config_path)
    with _terminable(), cluster.connected():
        cluster.check_cpus(config.fanout.workers, config.fanout.cpus_per_worker)
        cluster.check_gpus(plan.engines, wait)
        create(directory)
        directory.write_config(config)
        try:
            return _play(plan, directory, console)
        except UserError:
            directory.remove()
            raise
        finally:
            directory.close()


def resume(run: Path, overrides: Sequence[str], console: Console, *, wait: bool = False) -> Submitted:
    """Go on with a run: committed episodes are left alone, the others are played. Errors: UserError, RunFailed."""
    for override in overrides:
        if not override.startswith(RESUMABLE_OVERRIDES):
            allowed = ", ".join(f"{prefix}*" if prefix.endswith(".") else prefix for prefix in RESUMABLE_OVERRIDES)
            raise UserError(f"--resume: {override}: a run is gone on with as it was; only these may change: {allowed}")
    directory = reopen(run)
    try:
        plan = make_plan(read_config(directory.config_file, overrides), directory.config_file)
        with _terminable(), cluster.connected():
            cluster.check_gpus(plan.engines, wait)
            return _play(plan, directory, console)
    finally:
        directory.close()


@contextmanager
def _terminable() -> Iterator[None]:
    """SIGTERM unwinds like Ctrl-C also while models are loading, so that they are taken down."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _with_absolute_path(config: RunConfig, config_path: Path) -> RunConfig:
    """So that the run can be gone on with from anywhere."""
    if config.tasks.path is None:
        return config
    path = str(locate(config.tasks.path, config_path.parent).absolute())
    return config.model_copy(update={"tasks": config.tasks.model_copy(update={"path": path})})


def _play(plan: Plan, directory: RunDirectory, console: Console) -> Submitted:
    def say(text: str) -> None:
        console.print(text, soft_wrap=True, highlight=False, markup=False)

    say(f"run {directory.path}: {len(plan.specs)} episodes of {plan.config.environment.id}")
    for warning in plan.warnings:
        say(f"note: {warning}")
    with Reporter(console) as reporter:
        outcome = carry_out(plan, directory, say, reporter)
    return _close(plan, directory, outcome)


def _close(plan: Plan, directory: RunDirectory, outcome: Outcome) -> Submitted:
    silent = [name for name, gives in plan.gives_tokens.items() if not gives]
    summary = {
        "run": directory.name,
        "environment": plan.config.environment.id,
        "interrupted": outcome.interrupted,
        "failure": outcome.failure,
        **outcome.tally.summary(),
        "models_without_token_ids": silent,
        "command": sys.argv,
    }
    directory.write_summary(summary)
    return Submitted(directory.path, summary, outcome.interrupted)
