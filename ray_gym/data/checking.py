"""Checks that a row is a task of an environment, or says why not. Runs, `data validate` and `data prepare` use the same
checks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, time, timedelta
from enum import Enum
from functools import cache
from math import isfinite
from typing import Any, Literal, get_origin

from pydantic import BaseModel, Strict, ValidationError

from ray_gym.config.file import explain, explained
from ray_gym.data.nemo_gym import is_nemo_gym, task_fields
from ray_gym.data.rows import FileRow, not_json
from ray_gym.environment import Environment
from ray_gym.errors import UserError, placed, text_of, wrong_return
from ray_gym.field_types import keys_of, kinds_at, refuses_key, types_inside
from ray_gym.openai_api.conversation import WAS_READ
from ray_gym.task import Task

STRICT = frozenset(
    {"int_type", "float_type", "bool_type", "string_type", "int_from_float", "enum"}
    | {"date_type", "datetime_type", "time_type", "time_delta_type"}
)
"""Kinds of pydantic's problems that say that a value has another type than its field."""
_NUMBER = re.compile(r"[-+]?[0-9]+(\.[0-9]*)?")


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
        fields = _fields(row.fields, task_type)
        if problem := not_json(fields):
            raise BadRow([problem])
        text = json.dumps(fields)
        task = task_type.model_validate_json(text)
        require_types(text, task_type)
        if wrong := list(_other_values(fields, task, task_type, ())):
            raise BadRow(wrong)
    except BadRow:
        raise
    except ValidationError as error:
        raise BadRow(explain(error, task_type)) from None
    except (ValueError, UserError) as error:
        raise BadRow([str(error)]) from None
    except Exception as error:
        raise BadRow([f"(top level): the task's validator failed: {placed(error)}"]) from None
    _check(task, environment)
    problems = play_problems(task, environment)
    if problems:
        raise BadRow(problems)
    return task


def _check(task: Task, environment: Environment[Any, Any]) -> None:
    """Has the environment check a task. Errors: BadRow with what `check` says, or with the place at which it failed."""
    try:
        given: object = environment.check(task)  # type: ignore[func-returns-value]
    except ValidationError as error:
        raise BadRow(explain(error, type(task))) from None
    except (ValueError, UserError) as error:
        raise BadRow([text_of(error)]) from None
    except Exception as error:
        raise BadRow([f"(top level): {type(environment).__name__}.check failed: {placed(error)}"]) from None
    if given is not None:
        wrong = wrong_return(environment, "check", given, "a ValueError that says what is wrong, or nothing").failure
        raise BadRow([f"(top level): {wrong.where}: {wrong.message}"])


def require_types(text: str, task_type: type[Task]) -> None:
    """Checks that the values of a row have the types of their fields, as arguments of tools must: a number as text, a
    decimal number for a whole one, and a truth value for a number are refused. Fields and models that are declared lax
    (`strict=False`) are not checked. Keys that no field has are refused at any depth (`refuses_key`).

    Errors: BadRow with a line for each wrong value and each such key.
    """
    try:
        _validate_strictly(text, task_type)
    except ValidationError as error:
        wrong = [
            line
            for line, at in explained(error, task_type)
            if refuses_key(task_type, at) or (at["type"] in STRICT and not is_lax(task_type, at["loc"]))
        ]
        if wrong:
            raise BadRow(wrong) from None


def _validate_strictly(text: str, task_type: type[Task]) -> None:
    """Validates a row in pydantic's strict mode, and without unknown keys at any depth. Its conversations are left out:
    they have no types but those that their reader makes. Errors: ValidationError; those of the task's own validators.
    """
    try:
        task_type.model_validate_json(text, strict=True, extra="forbid", context=WAS_READ)
    except ValidationError:
        raise
    except Exception:  # of a validator of the task's own, which missed the messages
        task_type.model_validate_json(text, strict=True, extra="forbid")


def _other_values(given: Any, read: Any, task_type: type[BaseModel], location: tuple[Any, ...]) -> Iterator[str]:
    """Yields a line for each value of a row that pydantic's strict mode takes for what it is not: a number as text for a
    date or a time, true or 1.0 for a 1 that an enumeration or a `Literal` allows, and for a number that no float holds.
    """
    if type(read) is str:  # most values are texts
        return
    if isinstance(read, BaseModel) and isinstance(given, Mapping):
        for name, key in _keys_by_field(type(read)):
            if key in given:
                yield from _other_values(given[key], getattr(read, name), task_type, (*location, key))
    elif isinstance(read, list | tuple) and isinstance(given, list) and len(given) == len(read):
        for index, pair in enumerate(zip(given, read, strict=True)):
            yield from _other_values(*pair, task_type, (*location, index))
    elif isinstance(read, Mapping) and isinstance(given, Mapping):
        if len(read) < len(given):
            yield f"{'.'.join(map(str, location))}: two of its keys stand for the same one (found {list(given)!r:.60})"
        for key in given.keys() & read.keys():
            yield from _other_values(given[key], read[key], task_type, (*location, key))
    elif isinstance(read, float) and not isfinite(read):  # of a whole number, say, that is too large for a float
        yield f"{'.'.join(map(str, location))}: {read} is no number that JSON has (found {given!r:.60})"
    elif _is_other(given, read, task_type, location) and not is_lax(task_type, location):
        yield f"{'.'.join(map(str, location))}: Input should not stand for {read!r:.60} (found {given!r:.60})"


@cache
def _keys_by_field(model: type[BaseModel]) -> tuple[tuple[str, str], ...]:
    """Returns the names of a model's fields, each with a key that a row may use for it."""
    return tuple((name, key) for name, field in model.model_fields.items() for key in keys_of(name, field))


def _is_other(given: Any, read: Any, task_type: type[BaseModel], location: Sequence[Any]) -> bool:
    if isinstance(read, (date, time, timedelta)):
        return isinstance(given, str) and _NUMBER.fullmatch(given.strip()) is not None
    value = read.value if isinstance(read, Enum) else read
    if not isinstance(given, int | float) or not isinstance(value, int | float):
        return False
    if isinstance(given, bool) == isinstance(value, bool) and (isinstance(given, int) or isinstance(value, float)):
        return False
    return isinstance(read, Enum) or any(get_origin(kind) is Literal for kind in kinds_at(task_type, location))


def is_lax(task_type: type[BaseModel], location: Sequence[Any]) -> bool:
    """Says whether a field of a model, or of a model within it, is declared lax: by `strict=False` of the field or in
    the config of its model.
    """
    kinds: list[Any] = [task_type]
    for part in location:
        models = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)]
        if any(kind.model_config.get("strict") is False for kind in models):
            return True
        fields = [info for kind in models for name, info in kind.model_fields.items() if part in keys_of(name, info)]
        if any(Strict(False) in info.metadata for info in fields):
            return True
        kinds = [inner for kind in kinds for inner in types_inside(kind, part)] or kinds
    return False


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
