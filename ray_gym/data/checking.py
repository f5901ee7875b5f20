"""Checks that a row is a task of an environment, or says why not. Runs, `data validate` and `data prepare` use the same
checks.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import Any

from pydantic import ValidationError
from pydantic_core import to_json

from ray_gym.config.file import explain, explained
from ray_gym.data.merged import merged_values
from ray_gym.data.nemo_gym import is_nemo_gym, task_fields, without_settings
from ray_gym.data.round_trip import lost_values
from ray_gym.data.rows import FileRow, not_json
from ray_gym.environment import Environment
from ray_gym.errors import UserError, placed, text_of, wrong_return
from ray_gym.field_types import keys_of
from ray_gym.messages import is_blank
from ray_gym.openai_api.conversation import EarlierMessage
from ray_gym.strict_types import read_strictly, refused_values
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
    text = ""
    try:
        fields = _fields(row.fields, task_type)
        text = _text_of(fields)
        task, problems = read_strictly(text, task_type)
        wrong = [line for line, _ in explained(problems, task_type)]
        if wrong := wrong or list(merged_values(fields, task)):
            raise BadRow(wrong)
    except BadRow:
        raise
    except ValidationError as error:
        raise BadRow(_all_problems(error, text, task_type)) from None
    except (ValueError, UserError) as error:
        raise BadRow([str(error)]) from None
    except (Exception, SystemExit) as error:
        raise BadRow([f"(top level): the task's validator failed: {placed(error)}"]) from None
    _check(task, environment)
    if wrong := play_problems(task, environment):
        raise BadRow(wrong)
    return task


def _all_problems(error: ValidationError, text: str, task_type: type[Task]) -> list[str]:
    """Returns a line for each place of a row that pydantic refuses, or only its strict mode does: none is told later."""
    lines: dict[tuple[int | str, ...], str] = {}
    for line, problem in explained([*error.errors(include_url=False), *refused_values(text, task_type)], task_type):
        lines.setdefault(problem["loc"], line)
    return list(lines.values())


def _check(task: Task, environment: Environment[Any, Any]) -> None:
    """Has the environment check a task. Errors: BadRow with what `check` says, or with the place at which it failed."""
    try:
        given: object = environment.check(task)  # type: ignore[func-returns-value]
    except ValidationError as error:
        raise BadRow(explain(error, type(task))) from None
    except (ValueError, UserError) as error:
        raise BadRow([text_of(error)]) from None
    except (Exception, SystemExit) as error:
        raise BadRow([f"(top level): {type(environment).__name__}.check failed: {placed(error)}"]) from None
    if given is not None:
        wrong = wrong_return(environment, "check", given, "a ValueError that says what is wrong, or nothing").failure
        raise BadRow([f"(top level): {wrong.where}: {wrong.message}"])


def _fields(fields: dict[str, Any], task_type: type[Task]) -> dict[str, Any]:
    """Returns the fields of a row, those of a NeMo Gym row under our names unless the task takes such rows as they are, and
    without settings of requests that the task does not have.

    Errors: ValueError for a NeMo Gym row that `task_fields` refuses (without a conversation, say).
    """
    if is_nemo_gym(fields) and task_type.takes_nemo_gym_rows:
        return fields
    if not is_nemo_gym(fields):
        keeps_all = task_type.model_config.get("extra") != "forbid"
        return fields if keeps_all else without_settings(fields, names_of(task_type))
    return task_fields(fields, names_of(task_type))


def _text_of(fields: dict[str, Any]) -> str:
    """Returns the JSON text of a row's fields. Errors: BadRow for fields that are nested too deeply."""
    try:
        return to_json(fields).decode()
    except ValueError:  # half a surrogate, or deep nesting, of which pydantic tells the place when it reads
        if problem := not_json(fields):
            raise BadRow([problem]) from None
        return json.dumps(fields)


def play_problems(task: Task, environment: Environment[Any, Any]) -> list[str]:
    """Returns a line for each problem of a task: a value that its JSON loses, a system prompt for an unknown participant,
    or `messages` that say nothing, or that the environment can't continue. Returns an empty list if there is none.
    """
    participants = environment.participants
    problems = lost_values(task)
    problems += [
        f"system_prompts.{name}: known participants: {', '.join(participants)}"
        for name in task.system_prompts
        if name not in participants
    ]
    if environment.opening_observes and any(message.role in ("assistant", "tool") for message in task.messages):
        problems.append(
            "messages: here they may be a prompt, but hold no words of the policy's: the game can't be brought to where those left it"
        )
    elif (asking := _asking(task, environment)) and all(is_blank(one.content) and not one.tool_calls for one in asking):
        those = "all of them" if all(is_blank(one.content) for one in task.messages) else "all but the system's"
        problems.append(f"messages: {those} are blank, so that they ask nothing")
    elif task.messages and task.messages[-1].role == "assistant" and len(participants) == 1:
        problems.append("messages: the policy spoke last, and there is nobody else who could answer it")
    return problems


def _asking(task: Task, environment: Environment[Any, Any]) -> list[EarlierMessage]:
    """Returns the messages of a task of which one has to say something: those that take the place of the opening's, and
    all where the opening's follow, as beside a system message alone.
    """
    said = [message for message in task.messages if message.role != "system"]
    return list(task.messages) if environment.opening_observes or not said else said


@cache
def names_of(task_type: type[Task]) -> frozenset[str]:
    """Returns the names and the aliases under which a row may give the fields of a task."""
    return frozenset(key for name, field in task_type.model_fields.items() for key in keys_of(name, field))
