"""Carries out `ray-gym rollout` from start to end: plan, directory, cluster, play, summary."""

from __future__ import annotations

import logging
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from ray_gym.config.interpolations import errors_unfilled, unfilled
from ray_gym.errors import RESUME, UserError
from ray_gym.hosting.import_paths import import_from
from ray_gym.logs import configure, is_json
from ray_gym.printable import printable
from ray_gym.run.cluster import cluster
from ray_gym.run.directory.directory import STREAM, RunDirectory, begin, find_run, plan_directory, reopen
from ray_gym.run.driver.carrying_out import carry_out, summary_of
from ray_gym.run.driver.driver import Outcome
from ray_gym.run.driver.progress import LoggedProgress, Reporter
from ray_gym.run.fingerprint import Fingerprint
from ray_gym.run.plan import Plan, make_plan
from ray_gym.run.resume import config_to_resume, load_config
from ray_gym.run.signals import ignore_signals, unwind_on_signals

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Submitted:
    """Describes a run that has ended."""

    location: str
    """Path or URI of the run's directory."""
    summary: dict[str, Any]
    """Content of summary.json."""
    interrupted: bool
    """True if planned episodes are not committed."""


def submit(
    config_path: Path,
    overrides: Sequence[str],
    console: Console,
    *,
    show: Callable[[Submitted], None] = lambda submitted: None,
    wait: bool = False,
    wait_deadline_s: float | None = None,
) -> Submitted:
    """Plays a config as a new run, and describes how it ended. If the run has to stop while episodes are played (too
    many of them failed, or its workers died, for example), no error is raised: the summary names the failure.

    overrides: changes of the config, as key=value. console: gets messages and progress. show: tells the user how the
    run ended, also if its models then can't be taken down. wait: whether to wait for GPUs that the cluster lacks, and
    then for CPUs that others hold, each for `wait_deadline_s` seconds at most (None: no limit).

    Once it is known how the run ended, signals that stop do nothing until this process ends.

    Errors: UserError for a wrong config, a taken name, a wrong RAY_ADDRESS, or a cluster that lacks CPUs or (without
    `wait`) GPUs; then the run's directory is removed again, unless an episode is committed. RunFailed if the cluster is
    out of reach, the GPUs don't come in time, a model does not come up, or the directory can't be written.
    KeyboardInterrupt if the process is told to stop before episodes are played.
    """
    config = load_config(config_path, overrides)
    configure(config.log, config.filled_in)
    plan = make_plan(config, config_path)
    directory = plan_directory(config, config_path)
    configure(config.log, config.filled_in, run=directory.name)
    with errors_unfilled(config.filled_in), unwind_on_signals(), cluster.connect():
        _check_room(plan, wait, wait_deadline_s)
        begin(directory, config, Fingerprint.of(plan, config_path.parent))
        try:
            return _play(plan, directory, console, show, _cpu_wait_s(wait, wait_deadline_s))
        except UserError:
            directory.remove()
            raise
        finally:
            directory.close()


def resume(
    run: str,
    overrides: Sequence[str],
    console: Console,
    *,
    show: Callable[[Submitted], None] = lambda submitted: None,
    config_path: Path | None = None,
    wait: bool = False,
    wait_deadline_s: float | None = None,
) -> Submitted:
    """Resumes a run: plays the episodes that are not committed, and describes how the run ended. If the run has to stop
    while episodes are played, no error is raised: the summary names the failure.

    run: location of the run's directory. config_path: file of a whole new config; None takes the run's own. overrides:
    changes of that config, as key=value; only keys that match `MAY_CHANGE` may differ from the run's own config.
    console: gets messages and progress. show: tells the user how the run ended, also if its models then can't be taken
    down. wait: whether to wait for GPUs that the cluster lacks, and then for CPUs that others hold, each for
    `wait_deadline_s` seconds at most (None: no limit).

    Once it is known how the run ended, signals that stop do nothing until this process ends.

    Errors: UserError if there is no such run, if it is a trainer's stream, if another driver writes it, if the config,
    the tasks or the environment are not those that the run began with, for a wrong RAY_ADDRESS, or if the cluster lacks
    CPUs or (without `wait`) GPUs. RunFailed if the cluster is out of reach, the GPUs don't come in time, a model does
    not come up, or the directory can't be written. KeyboardInterrupt if the process is told to stop before episodes are
    played.
    """
    before = find_run(run)
    if before.storage.exists(STREAM):
        raise UserError(f"--resume: {before.location} is a stream: its trainer resumes it (docs/training.md)")
    config = config_to_resume(before.read_config(), before.location, config_path, overrides)
    began = before.read_fingerprint()
    if began is not None and began.folder:
        import_from(Path(began.folder))
    configure(config.log, config.filled_in)
    plan = make_plan(config, config_path or before.config_file)
    if began is not None:
        began.check(Fingerprint.of(plan), before.location, config.tasks.path or "the generator")
    directory = reopen(run, config.output)
    configure(config.log, config.filled_in, run=directory.name)
    try:
        with errors_unfilled(config.filled_in), unwind_on_signals(), cluster.connect():
            _check_room(plan, wait, wait_deadline_s)
            return _play(plan, directory, console, show, _cpu_wait_s(wait, wait_deadline_s))
    finally:
        directory.close()


def _check_room(plan: Plan, wait: bool, wait_deadline_s: float | None) -> None:
    """Checks that the cluster has the CPUs for the workers and the GPUs for the models. Errors: UserError, RunFailed."""
    fanout = plan.config.fanout
    cluster.check_cpus(min(fanout.workers, max(1, len(plan.specs))), fanout.cpus_per_worker)
    cluster.check_gpus(plan.engines, wait, wait_deadline_s)


def _cpu_wait_s(wait: bool, wait_deadline_s: float | None) -> float:
    """Returns for how many seconds a first worker waits for CPUs that others hold."""
    if not wait:
        return 0
    return math.inf if wait_deadline_s is None else wait_deadline_s


def _play(
    plan: Plan, directory: RunDirectory, console: Console, show: Callable[[Submitted], None], wait_s: float
) -> Submitted:
    def say(text: str) -> None:
        text = unfilled(text, plan.config.filled_in)
        if is_json():
            logger.info(text)
        else:
            console.print(printable(text), soft_wrap=True, highlight=False, markup=False)

    say(f"run {directory.location}: {len(plan.specs)} episodes of {plan.config.environment.id}")
    for note in plan.notes:
        say(f"note: {note}")
    participants = {name: one.model for name, one in plan.config.participants.items()}
    ended: list[Submitted] = []
    try:
        with LoggedProgress() if is_json() else Reporter(console, participants) as reporter:
            carry_out(
                plan,
                directory,
                say,
                reporter,
                wait_s=wait_s,
                close=lambda outcome: ended.append(_close(plan, directory, outcome)),
            )
    finally:
        for submitted in ended:
            show(submitted)
    return ended[0]


def _close(plan: Plan, directory: RunDirectory, outcome: Outcome) -> Submitted:
    ignore_signals()
    summary = {**summary_of(plan, directory.name, outcome), "command": sys.argv}
    directory.write_summary(summary, RESUME)
    return Submitted(directory.location, summary, outcome.interrupted)
