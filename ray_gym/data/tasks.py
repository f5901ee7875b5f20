"""Reads the tasks of a run from a file or from the environment's generator, and gives each a stable id."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from ray_gym.config.sections import TasksSection
from ray_gym.data.checking import BadRow, play_problems, task_of
from ray_gym.data.file_kind import no_file
from ray_gym.data.rows import TaskFile
from ray_gym.data.slow_generators import told_if_slow, told_if_slowly_made
from ray_gym.environment import Environment
from ray_gym.errors import UserError, code_place, placed, wrong_return
from ray_gym.paths import home_expanded, refuse_variable
from ray_gym.seeds import derive_seed, stable_id
from ray_gym.task import Task, task_json

Placed = tuple[str, Task]
"""A task with its place, for messages."""
MAX_PROBLEMS = 20
"""Number of problems of a file that are shown. Further ones are only counted."""
MOST_EPISODES = 10_000_000
"""Most episodes that are planned: a driver holds them all."""


@dataclass(frozen=True, slots=True)
class TaskRow:
    """Holds a validated task as text, with its id."""

    task_id: str
    task: str
    """The task as JSON text, which goes into the record."""


class TaskRows(list[TaskRow]):
    """Holds the tasks of a run, in order, and notes on what was left out of their rows."""

    def __init__(self, rows: Iterable[TaskRow], notes: Sequence[str] = ()) -> None:
        """Makes a list of tasks with notes."""
        super().__init__(rows)
        self.notes = tuple(notes)


def read_tasks(section: TasksSection, environment: Environment[Any, Any], seed: int, config_dir: Path) -> TaskRows:
    """Returns all tasks of a run, in order, from its file or from the generator with `seed`. `config_dir`: the config's
    folder, in which a relative path starts.

    Errors: UserError for a file that is missing or can't be read, a row that is no task (with file, line and field), an
    id that is given twice, a generator that fails, no tasks at all, or more than MOST_EPISODES of them.
    """
    notes: list[str] = []
    if section.path is not None:
        file = TaskFile(locate(section.path, config_dir))
        tasks: Iterable[Placed] = _from_file(file, environment, section.limit)
        notes = file.notes
    else:
        count = min(section.generate or 0, section.limit or section.generate or 0)
        check_number(count)
        tasks = told_if_slowly_made(
            generate_tasks(environment, seed, count), f"{type(environment).__name__}.generate", count
        )
    rows = TaskRows(with_ids(tasks), notes)
    if not rows:
        raise UserError(f"tasks: {section.path or 'the generator'} gave no tasks")
    return rows


def check_number(episodes: int) -> None:
    """Checks that no more than MOST_EPISODES are planned. Errors: UserError."""
    if episodes > MOST_EPISODES:
        raise UserError(
            f"tasks: these are more than {MOST_EPISODES:,} episodes; lower tasks.generate, tasks.repeats or groups.extra, or set "
            "tasks.limit"
        )


def locate(path: str, config_dir: Path) -> Path:
    """Returns the path of a task file, in the config's folder or else in the working directory. Errors: UserError if
    neither has it, if it is a folder, or if a `~` in it stands for no folder.
    """
    written = home_expanded(path, "tasks.path")
    candidates = [config_dir / written, written]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    try:
        refuse_variable(path)
    except UserError as error:
        raise UserError(f"tasks.path: {error}") from None
    raise UserError(f"tasks.path: {no_file(*(candidates if '://' not in path else [path]))}")


def _from_file(file: TaskFile, environment: Environment[Any, Any], limit: int | None) -> list[Placed]:
    tasks: list[Placed] = []
    problems: list[str] = []
    for row in told_if_slow(islice(file.rows(), limit), lambda read: f"{file.path}: {read:,} tasks are read"):
        try:
            tasks.append((row.place, task_of(row, environment)))
        except BadRow as error:
            problems += [f"{row.place}: {problem}" for problem in error.problems]
    if problems:
        more = f"\n... and {len(problems) - MAX_PROBLEMS} more" if len(problems) > MAX_PROBLEMS else ""
        raise UserError("\n".join(problems[:MAX_PROBLEMS]) + more)
    return tasks


def generate_tasks(environment: Environment[Any, Any], seed: int, count: int) -> Iterator[Placed]:
    """Yields the first `count` tasks that the environment's generator makes under a seed.

    Errors: UserError for a generator that fails or is missing, and for a task that the participants can't play.
    """
    for index in range(count):
        yield f"generated task {index}", generate_task(environment, seed, index)


def generate_task(environment: Environment[Any, Any], seed: int, index: int) -> Task:
    """Returns task number `index` of the environment's generator under a seed. Errors: as `generate_tasks`."""
    try:
        task: object = environment.generate(random.Random(derive_seed(seed, "task", index)), index)
    except NotImplementedError as error:
        raise UserError(f"tasks.generate: {error}") from None
    except (Exception, SystemExit) as error:
        raise UserError(f"tasks.generate: the generator failed on task {index}: {placed(error)}") from error
    if not isinstance(task, Task):
        wrong = wrong_return(environment, "generate", task, "a Task").failure
        raise UserError(f"tasks.generate: {wrong.where}: {wrong.message}")
    if not _is_played(task, environment.task_type):
        made, plays = type(task).__name__, environment.task_type.__name__
        name = type(environment).__name__
        raise UserError(
            f"tasks.generate: {name}.generate{code_place(type(environment).generate)}: it returned a {made}, and {name} plays "
            f"{plays}: write class {name}(Environment[{made}, ...]), or return a {plays}"
        )
    for problem in play_problems(task, environment):
        raise UserError(f"generated task {index}: {problem}")
    return task


def _is_played(task: Task, task_type: type[Task]) -> bool:
    """Says whether a task can be read back as one of a type, which may lack none of its fields."""
    has_all = type(task).model_fields.keys() <= task_type.model_fields.keys()
    return isinstance(task, task_type) and (has_all or task_type.model_config.get("extra") == "allow")


def with_ids(tasks: Iterable[Placed]) -> Iterator[TaskRow]:
    """Yields the tasks with their ids: the one that the row gives, or a hash of its content. Equal rows without ids get
    numbered hashes.

    Errors: UserError for an id that is given twice, or equals the hash of another row.
    """
    counts: dict[str, int] = {}
    places: dict[str, str] = {}
    for place, task in tasks:
        text = task_json(task)
        task_id = task.task_id or _hash_id(text, counts)
        if task_id in places:
            how = "is given already at" if task.task_id else "is the hash of this row, and that of"
            raise UserError(f"{place}: task_id: {task_id!r} {how} {places[task_id]}")
        places[task_id] = place
        yield TaskRow(task_id, text)


def _hash_id(text: str, counts: dict[str, int]) -> str:
    base = stable_id(text)
    count = counts.get(base, 0)
    counts[base] = count + 1
    return base if not count else f"{base}-{count}"
