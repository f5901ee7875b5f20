"""Carries out a plan: starts its models, has a driver play its episodes, and takes everything down."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from ray_gym.config.interpolations import unfilled
from ray_gym.metrics.committing import RunMetrics
from ray_gym.metrics.pulse import Export, beating
from ray_gym.metrics.ray_export import RayExport
from ray_gym.metrics.recorder import Recorder
from ray_gym.run.directory.copies import held_twice
from ray_gym.run.directory.directory import RunDirectory
from ray_gym.run.driver.commits import Commits, Notify
from ray_gym.run.driver.dispatcher import Dispatcher
from ray_gym.run.driver.driver import Driver, Outcome
from ray_gym.run.driver.fences import Fences
from ray_gym.run.driver.grants import Grants
from ray_gym.run.driver.tally import Tally
from ray_gym.run.plan import Plan
from ray_gym.run.signals import call_on_signals, unwind_on_signals
from ray_gym.run.worker.garbage import freeze_objects
from ray_gym.run.worker.worker import WorkerSetup


def carry_out(
    plan: Plan,
    directory: RunDirectory,
    say: Callable[[str], None],
    notify: Notify,
    export: Callable[[], Export] = RayExport,
    wait_s: float = math.inf,
    close: Callable[[Outcome], None] = lambda outcome: None,
) -> Outcome:
    """Plays a whole plan on the connected cluster, and says how the run ended. Blocks. SIGINT, SIGTERM and SIGHUP stop the run
    while episodes are played.

    directory: the run's open directory. say: prints a message to the user. notify: is called with the progress after
    each report of a worker. export: makes the exporter of metrics, in each process. wait_s: seconds for which a
    first worker waits for CPUs that others hold; then the run ends. close: is called once when the outcome is known,
    before the models are taken down, and before a signal can interrupt anything again.

    Errors: UserError, RunFailed if a model does not come up, and unexpected exceptions. A RunFailed while episodes are
    played becomes the outcome's `failure`. The models and workers that it started are gone when it returns or raises.
    """
    recorder = Recorder()
    commits = load_commits(plan, directory, notify, recorder)
    for problem in commits.fences.problems:
        say(f"journal: {problem}")
    freeze_objects()
    with ExitStack() as started:
        for name, engine in plan.engines.items():
            started.callback(engine.stop)
            engine.start(directory.name, name, say)
        with unwind_on_signals():
            return asyncio.run(_until_signalled(plan, directory, commits, recorder, export, wait_s, close))


async def _until_signalled(
    plan: Plan,
    directory: RunDirectory,
    commits: Commits,
    recorder: Recorder,
    export: Callable[[], Export],
    wait_s: float,
    close: Callable[[Outcome], None],
) -> Outcome:
    loop, stopping = asyncio.get_running_loop(), asyncio.Event()
    # The loop's own handlers would end with it: SIGTERM would be left to the system, which ends what is taken down.
    with call_on_signals(lambda: loop.call_soon_threadsafe(stopping.set)):
        async with beating(recorder, "driver", export()):
            outcome = await drive(plan, directory, commits, stopping, export, wait_s)
        close(outcome)
    return outcome


async def drive(
    plan: Plan,
    directory: RunDirectory,
    commits: Commits,
    stopping: asyncio.Event,
    export: Callable[[], Export] = RayExport,
    wait_s: float = math.inf,
) -> Outcome:
    """Plays a plan whose models are up, until it is done or `stopping` is set, and says how the run ended. Deletes the
    journals if no episode is missing.

    commits: state that the run begins with. export: makes the exporter of metrics, in each process. wait_s: seconds for
    which a first worker waits for CPUs that others hold; then the run ends.

    Errors: UserError, and unexpected exceptions. A RunFailed while episodes are played becomes the outcome's `failure`.
    The workers are gone when it returns or raises.
    """
    setup = replace(setup_of(plan, directory), export=export)
    outcome = await Driver(setup, directory, commits, stopping, wait_s=wait_s).run()
    if not outcome.interrupted:
        await asyncio.to_thread(commits.fences.remove)
        outcome.tally.refused_bytes = commits.fences.refused_bytes
    return outcome


def load_commits(plan: Plan, directory: RunDirectory, notify: Notify, recorder: Recorder | None = None) -> Commits:
    """Returns the state with which a driver begins: the committed episodes, the episodes to be played, and the records
    of those that an earlier driver had under way. Blocks.

    It fences the journals of that driver's workers, and deletes those that no episode needs. notify: is called with the
    progress after each report. recorder: gets the metrics; None makes a new one.

    Errors: OSError; pa.ArrowException for a damaged file of rows; UserError for a file of rows of an unknown version,
    for an episode that is there twice, or if there is no place for journals.
    """
    planned = {spec.episode_id: spec for spec in plan.specs}
    done = [receipt for receipt in directory.committed() if receipt.episode.episode_id in planned]
    for receipt in done:
        if planned.pop(receipt.episode.episode_id, None) is None:
            raise held_twice(directory.storage, receipt.episode.episode_id)
    fences = Fences(directory.journal if directory.keeps_journal else None, directory.name)
    tally = Tally.of_resumed(len(plan.specs), done, plan.environment.reward_range)
    metrics = RunMetrics(recorder or Recorder(), plan.config.environment.id)
    dispatcher = Dispatcher.of(planned.values(), fences.take_over(planned))
    max_cost = plan.config.limits.max_cost
    grants = Grants.load(max_cost, directory, done) if max_cost is not None else None
    return Commits(directory, dispatcher, fences, tally, notify, grants=grants, metrics=metrics)


def setup_of(plan: Plan, directory: RunDirectory) -> WorkerSetup:
    """Returns the setup of the workers of a plan; metrics are exported to Ray. Errors: UserError if there is no place
    for journals.
    """
    config = plan.config
    return WorkerSetup(
        run_id=directory.name,
        env_id=config.environment.id,
        environment=plan.environment,
        participants=plan.participants,
        engines=plan.engines,
        crew=plan.crew,
        limits=config.limits,
        groups=config.groups,
        fanout=config.fanout,
        output=config.output,
        storage=directory.storage,
        journal=directory.journal if directory.keeps_journal else None,
        export=RayExport,
        log=config.log,
        filled_in=config.filled_in,
        prices=plan.prices,
    )


def summary_of(plan: Plan, run: str, outcome: Outcome) -> dict[str, Any]:
    """Returns the content of summary.json, without the command line. `run`: name of the run."""
    return {
        "run": run,
        "environment": plan.config.environment.id,
        "interrupted": outcome.interrupted,
        "failure": outcome.failure and unfilled(outcome.failure, plan.config.filled_in),
        **outcome.tally.summary(),
        "notes": plan.notes,
        "models_without_token_ids": [name for name, gives in plan.gives_tokens.items() if not gives],
    }
