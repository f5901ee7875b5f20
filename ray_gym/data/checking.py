"""Checks that a row is a task of an environment, or says why not. Runs, `data validate` and `data prepare` use the same
checks.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import Any

from pydantic import ValidationError

from ray_gym.config.file import explain, keys_of
from ray_gym.data.nemo_gym import is_nemo_gym, task_fields
from ray_gym.data.rows import FileRow
from ray_gym.environment import Environment
from ray_gym.errors import UserError, describe
from ray_gym.task import Task


class BadRow(Exception):
    """Says that a row is no playable task. `problems` has a line for each reason, which begins with the field."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = list(problems)


def task_of(row: FileRow, environment: Environment[Any, Any]) -> Task:
    """Makes a task from a row, and checks it. Errors: BadRow with the problems if the row can't be read, or is no task
    that the environment can play.
    """
    task_type = environment.task_type
    if row.fields is None:
        raise BadRow([row.problem])
    try:
        task = task_type.model_validate_json(json.dumps(_fields(row.fields, task_type), default=str))
        environment.check(task)
    except ValidationError as error:
        raise BadRow(explain(error, task_type)) from None
    except (ValueError, UserError) as error:
        raise BadRow([str(error)]) from None
    except Exception as error:
        raise BadRow([f"(top level): the task's validator failed: {describe(error)}"]) from None
    problems = play_problems(task, environment)
    if problems:
        raise BadRow(problems)
    return task


def _fields(fields: dict[str, Any], task_type: type[Task]) -> dict[str, Any]:
    """Returns the fields of a row, those of a NeMo Gym row under our names unless the task takes such rows as they are.

    Errors: ValueError for a NeMo Gym row that `task_fields` refuses (without a conversation, say).
    """
    if not is_nemo_gym(fields) or task_type.takes_nemo_gym_rows:
        return fields
    return task_fields(fields, names_of(task_type))


def play_problems(task: Task, environment: Environment[Any, Any]) -> list[str]:
    """Returns a line for each problem of a task: a system prompt for an unknown participant, or `messages` that the
    environment can't continue. Returns an empty list if there is none.
    """
    participants = environment.participants
    problems = [
        f"system_prompts.{name}: known participants: {', '.join(participants)}"
        for name in task.system_prompts
        if name not in participants
    ]
    if environment.opening_observes and any(message.role in ("assistant", "tool") for message in task.messages):
        problems.append(
            "messages: here they may be a prompt, but hold no words of the policy's: the game can't be brought to where those left it"
        )
    elif task.messages and task.messages[-1].role == "assistant" and len(participants) == 1:
        problems.append("messages: the policy spoke last, and there is nobody else who could answer it")
    return problems


@cache
def names_of(task_type: type[Task]) -> frozenset[str]:
    """Returns the names and the aliases under which a row may give the fields of a task."""
    return frozenset(key for name, field in task_type.model_fields.items() for key in keys_of(name, field))
