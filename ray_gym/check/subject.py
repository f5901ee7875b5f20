"""Defines the subject of a check: an environment with its options, and the tasks that it is played on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from ray_gym.config.interpolations import Interpolation
from ray_gym.config.sections import TasksSection
from ray_gym.data.tasks import TaskRow, read_tasks
from ray_gym.environment import Environment
from ray_gym.errors import UserError
from ray_gym.plugins import construct
from ray_gym.strict_types import read_back
from ray_gym.task import Task


@dataclass(frozen=True, slots=True)
class Subject:
    """A subject is an environment with its options, and the tasks that it is played on."""

    name: str
    environment_class: type[Environment[Any, Any]]
    options: BaseModel
    tasks: tuple[TaskRow, ...]
    seed: int
    from_file: bool = False
    filled_in: tuple[Interpolation, ...] = ()
    """Values of the options that are given as ${...}, which failures are not to show."""

    def make(self) -> Environment[Any, Any]:
        """Makes a fresh instance of the environment."""
        return self.environment_class(self.options)

    def task(self, index: int) -> Task:
        """Returns a new object of the task with this index in `tasks`, read from its JSON."""
        return read_back(self.tasks[index].task, self.environment_class.task_type)


def subject_of(
    name: str,
    environment_class: type[Environment[Any, Any]],
    options: BaseModel,
    count: int,
    seed: int,
    tasks_file: Path | None = None,
) -> Subject:
    """Makes a subject with up to `count` tasks, of a file or of the environment's generator.

    `tasks_file`: file of tasks; None: they are generated from `seed`. Errors: UserError for bad rows, and for an
    environment that can't be made, or that has no generator if there is no file.
    """
    environment = construct(environment_class, options, f"ID: {name}")
    if tasks_file is not None:
        section = TasksSection(path=str(tasks_file), limit=count)
    elif environment_class.generate is Environment.generate:
        raise UserError(f"{name} has no task generator: give it a file of tasks, --tasks-file FILE")
    else:
        section = TasksSection(generate=count)
    rows = read_tasks(section, environment, seed, Path())
    return Subject(name, environment_class, options, tuple(rows), seed, tasks_file is not None)
