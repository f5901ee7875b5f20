"""Implements `ray-gym score`: it scores the episodes of a recorded run again, with other graders, options or judges."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from ray_gym.cli.closing_lines import print_failures, print_warnings, require_completed
from ray_gym.cli.output import make_console, say

if TYPE_CHECKING:
    from ray_gym.models.base import Engine, Model
    from ray_gym.rescoring.changes import Change


def score(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run directory: a path, or a URI like s3://...")],
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="RUN2", help="The directory of the new run, which must not exist.")
    ],
    overrides: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[KEY=VALUE]...",
            help="Changes of the run's config: options of the environment, and its judges.",
            show_default=False,
        ),
    ] = None,
    only_failed_judges: Annotated[
        bool, typer.Option("--only-failed-judges", help="Score only the episodes that failed by a judge.")
    ] = False,
) -> None:
    """Score the episodes of a recorded run again, and write them as a new run; see `docs/scoring.md`.

    Every episode is played again by its own record, so no model is called but judges, and those only for what they
    were not asked before. Uses Ray only if a judge's model needs it.

    Examples:

        ray-gym score runs/mine -o runs/mine-2 environment.partial_credit=true

        ray-gym score runs/mine -o runs/mine-2 models.judge.engine=openai models.judge.base_url=http://host:8000/v1

        ray-gym score runs/mine -o runs/mended --only-failed-judges
    """
    from ray_gym.cli.unfinished import unfinished_line
    from ray_gym.load import load
    from ray_gym.rescoring.places import score_run
    from ray_gym.run.signals import ignore_signals, unwind_on_signals

    with unwind_on_signals():
        made = score_run(
            run,
            out,
            overrides or [],
            lambda change, name: partial(_open_judges, change, name),
            only_failed=only_failed_judges,
            command=sys.argv,
        )
        ignore_signals()
    counts, mean = made.counts, made.summary["mean_reward"]
    console = make_console()
    if line := unfinished_line(load(run), counts.scored + counts.copied):
        console.print(line, highlight=False, soft_wrap=True)
    say(f"run {made.location}: {counts.scored} episodes scored again, {counts.copied} copied, {counts.changed} changed")
    for why, number in counts.copied_because.most_common():
        say(f"  copied: {number} {why}")
    say(f"judges: {counts.asked_record} answers from the record, {counts.asked_live} asked now")
    say(
        f"mean reward: {_figure(counts.mean_before)} before, {_figure(mean)} now, of {made.summary['rewarded']} episodes"
    )
    print_warnings(console, made.summary)
    print_failures(console, made.summary)
    require_completed(made.summary)


def _figure(mean: float | None) -> str:
    return "none" if mean is None else f"{mean:.4f}"


@contextmanager
def _open_judges(change: Change, run: str) -> Iterator[Mapping[str, Model]]:
    """Brings the models of judges up while the block runs, and yields connections to them by name. run: name of the run.

    Errors: UserError for a mistake in the config, or a cluster that lacks GPUs; RunFailed if a model does not come up.
    """
    from ray_gym.run.cluster import cluster
    from ray_gym.run.plan import Plan, check_plan, engines_of

    engines = engines_of(change.config, change.judges, f"{run}/run.yaml")
    plan = Plan(change.config, change.environment, change.judges, engines, [])
    check_plan(plan, f"{run}/run.yaml")
    with ExitStack() as started:
        if any(map(needs_cluster, engines.values())):
            started.enter_context(cluster.connect())
            cluster.check_gpus(engines, False, None)
        for name, engine in engines.items():
            started.callback(engine.stop)
            engine.start(run, name, say)
        yield {name: engine.connect() for name, engine in engines.items()}


def needs_cluster(engine: Engine) -> bool:
    """Says whether an engine may start something on a cluster: it is neither an endpoint nor a function in this process."""
    from ray_gym.engines.scripted import ScriptedEngine
    from ray_gym.models.base import Engine as Base
    from ray_gym.models.engine import OpensDoor

    if isinstance(engine, ScriptedEngine):
        return engine.options.replicas > 0
    return type(engine).start is not Base.start and not isinstance(engine, OpensDoor)
