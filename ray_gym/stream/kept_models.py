"""Plays given tasks now, in the caller's process and on models that stay up between calls.

    with open_models("config.yaml") as models:
        groups = models.play([{"secret": 3}, {"secret": 7}], repeats=8)

A trainer that chooses its tasks itself (a synchronous one) wants this; one that takes what comes wants a stream.
"""

from __future__ import annotations

import asyncio
import copy
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa
import ray

from ray_gym.config.interpolations import unfilled
from ray_gym.config.sections import RunConfig
from ray_gym.data.checking import BadRow, task_of
from ray_gym.data.rows import FileRow, notes_on_tasks
from ray_gym.data.tasks import Placed, TaskRows, with_ids
from ray_gym.environment import Environment
from ray_gym.errors import RunFailed, UserError
from ray_gym.installed.configs import find_config
from ray_gym.load import load
from ray_gym.models.engine import Served, line_of
from ray_gym.run.cluster import cluster
from ray_gym.run.directory.directory import create, plan_directory
from ray_gym.run.driver.carrying_out import drive, load_commits, summary_of
from ray_gym.run.driver.driver import Outcome
from ray_gym.run.plan import Plan, check_plan
from ray_gym.run.resume import load_config
from ray_gym.seeds import derive_seed
from ray_gym.stream.group import Group, oldest_version
from ray_gym.stream.starting import say
from ray_gym.task import Task
from ray_gym.weights.client import Weights

Given = Sequence[Task | Mapping[str, Any]]
"""Tasks to play: objects of the environment's task type, or rows of its fields."""


class OpenModels:
    """Plays tasks, whenever it is asked to, with the models of one config. `open_models` makes it.

    It blocks. Its methods raise UserError for a mistake in the config or in a task, and RunFailed.
    """

    def __init__(self, config: str | Path, overrides: Sequence[str]) -> None:
        self._config_path = find_config(Path(config))
        self._config = load_config(self._config_path, overrides)
        self._name = self._config.run.name or f"models-{secrets.token_hex(4)}"
        self._started = ExitStack()
        self._calls = 0
        """Number of the calls of `play`, from which each has a seed of its own."""

    def __enter__(self) -> OpenModels:
        """Joins the cluster and starts the models. What can be checked is checked before."""
        file = str(self._config_path)
        self._plan = check_plan(Plan.of(self._config, file), file)
        with ExitStack() as started:
            if not ray.is_initialized():
                started.enter_context(cluster.connect())
            cluster.check_cpus(self._config.fanout.workers, self._config.fanout.cpus_per_worker)
            for name, engine in self._plan.engines.items():
                started.callback(engine.stop)
                engine.start(self._name, name, lambda text: None)
            self._started = started.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._started.close()

    @property
    def config(self) -> RunConfig:
        """Returns the config, with its overrides."""
        return self._config

    def weights(self, model: str) -> Weights:
        """Returns a `Weights` object, which changes the weights of a model. `model`: name in the config.

        Errors: UserError for an unknown model, and for one whose weights can't be changed from here.
        """
        engine = self._plan.engines.get(model)
        if not isinstance(engine, Served):
            raise UserError(
                f"models.{model}: its weights can't be changed from here; up: {', '.join(self._plan.engines)}"
            )
        return Weights(engine.app, line_of(engine))

    def play(self, tasks: Given, *, repeats: int | None = None, seed: int | None = None) -> list[Group]:
        """Plays tasks and returns a group for each, in their order, once all are over.

        `repeats`: number of episodes of each task; None: `tasks.repeats` of the config. `seed`: seed of the call, from
        which ids and seeds of its episodes come; None: one of its own, from the config's `run.seed` and the number of the
        call, so that no call plays the same episodes again. The run has a directory of its own in `output.dir`, so what
        was played can be looked at. Errors: UserError for a task that is none (with its place and field), or no tasks;
        RunFailed if the run can't go on.
        """
        if repeats is not None and (type(repeats) is not int or repeats < 1):
            raise UserError(f"repeats: {repeats!r}, but it is a whole number from 1 on")
        if seed is None:
            seed = derive_seed(self._config.run.seed, "play", self._calls)
        self._calls += 1
        with ThreadPoolExecutor(1) as thread:  # the caller's may have an event loop, as in a notebook
            return thread.submit(self._play, tasks, repeats, seed).result()

    def _play(self, tasks: Given, repeats: int | None, seed: int) -> list[Group]:
        name = f"{self._name}-{secrets.token_hex(4)}"
        sections: dict[str, Any] = {"run": self._config.run.model_copy(update={"name": name, "seed": seed})}
        if repeats is not None:
            sections["tasks"] = self._config.tasks.model_copy(update={"repeats": repeats})
        config, file = self._config.model_copy(update=sections), str(self._config_path)
        engines = {name: copy.copy(engine) for name, engine in self._plan.engines.items()}  # a check may change one
        plan = Plan.of(
            config, file, tasks=lambda environment: _rows_of(tasks, environment), engines=engines.__getitem__
        )
        for note in check_plan(plan, file).notes:
            say(f"note: {unfilled(note, config.filled_in)}")
        directory = plan_directory(config, self._config_path)
        create(directory)
        try:
            directory.write_config(config)
            commits = load_commits(plan, directory, lambda tally, in_flight: None)
            outcome: Outcome = asyncio.run(drive(plan, directory, commits, asyncio.Event()))
            directory.write_summary(summary_of(plan, directory.name, outcome))
        finally:
            directory.close()
        if outcome.failure:
            raise RunFailed(f"{outcome.failure}; what was finished is in {directory.location}")
        order = list(dict.fromkeys(spec.group_id for spec in plan.specs))
        return list(groups_in_order(load(directory.location).episodes, order))


def groups_in_order(episodes: pa.Table, order: Sequence[str]) -> Iterator[Group]:
    """Yields the groups of a table of episodes in the order of their ids, numbered from 0."""
    rows: dict[str, list[int]] = {group_id: [] for group_id in order}
    for row, group_id in enumerate(episodes.column("group_id").to_pylist()):
        rows[group_id].append(row)
    for number, (group_id, members) in enumerate(rows.items()):
        group = episodes.take(pa.array(members, pa.int64()))
        yield Group(number, group_id, group.column("task_id")[0].as_py(), oldest_version(group), group)


def _rows_of(tasks: Given, environment: Environment[Any, Any]) -> TaskRows:
    given = list(_fields_of(tasks))
    if not given:
        raise UserError("tasks: none were given")
    return TaskRows(with_ids(_placed(given, environment)), notes_on_tasks(given))


def _fields_of(tasks: Given) -> Iterable[dict[str, Any]]:
    """Yields the fields of each task. Errors: UserError for one that has none."""
    if isinstance(tasks, Mapping | str) or not isinstance(tasks, Iterable):
        raise UserError(f"tasks: {tasks!r}; give a list of tasks")
    for index, given in enumerate(tasks):
        if not isinstance(given, Task | Mapping) or not all(isinstance(key, str) for key in dict(given)):
            raise UserError(f"tasks[{index}]: {given!r}; a task is an object of the task type, or a row of its fields")
        yield given.model_dump(mode="json") if isinstance(given, Task) else dict(given)


def _placed(tasks: Sequence[dict[str, Any]], environment: Environment[Any, Any]) -> Iterable[Placed]:
    """Yields each task with its place. Errors: UserError for one that is none."""
    for index, fields in enumerate(tasks):
        try:
            yield f"tasks[{index}]", task_of(FileRow.given(f"tasks[{index}]", index, fields), environment)
        except BadRow as error:
            raise UserError("\n".join(f"tasks[{index}]: {problem}" for problem in error.problems)) from None


def open_models(config: str | Path, overrides: Sequence[str] = ()) -> OpenModels:
    """Returns the models of a config's environment, for `with`. The tasks of the config are not played.

    Errors: UserError for a mistake in the config.
    """
    return OpenModels(config, overrides)


def play_tasks(
    config: str | Path,
    tasks: Given,
    overrides: Sequence[str] = (),
    *,
    repeats: int | None = None,
    seed: int | None = None,
) -> list[Group]:
    """Plays tasks once, with models that come up for it, and returns a group for each, in their order.

    `OpenModels.play` describes the rest; `open_models` keeps the models between calls.
    """
    with open_models(config, overrides) as models:
        return models.play(tasks, repeats=repeats, seed=seed)
