"""Says which values of a task are lost when it is written as JSON and read again, as every task is on its way to a worker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from ray_gym.config.file import explain
from ray_gym.errors import placed
from ray_gym.openai_api.conversation import WAS_READ
from ray_gym.strict_types import read_back
from ray_gym.task import Task, task_json

_HOW = "make the task type read what it writes as JSON"


def lost_values(task: Task) -> list[str]:
    """Returns a line for each value of a task that is another one after a round trip through the task's JSON, and for
    each reason why there is no way back. Conversations are left out: they are written as they are read.
    """
    try:
        again = _read_back(task)
    except ValidationError as error:
        return [f"{line} in the task's own JSON; {_HOW}" for line in explain(error, type(task))]
    except (Exception, SystemExit) as error:
        return [f"(top level): the task can't be read from its own JSON: {placed(error)}; {_HOW}"]
    told = "it is {} in the row, and {} when the task's own JSON is read; " + _HOW
    names = sorted(task.model_fields_set - {"messages"})
    pairs = (_differences(getattr(task, name), getattr(again, name), name) for name in names)
    return [f"{place}: {told.format(*shown)}" for found in pairs for place, *shown in found]


def _read_back(task: Task) -> Task:
    text = task_json(task)
    try:
        return read_back(text, type(task), WAS_READ)
    except Exception:  # of a validator of the task's own, which missed the messages
        return read_back(text, type(task))


def _differences(value: Any, again: Any, place: str) -> Iterator[tuple[str, str, str]]:
    """Yields the place, and both values, of each difference. Fields with their defaults are made again, not read."""
    if isinstance(value, BaseModel) and type(value) is type(again):
        for name in value.model_fields_set:
            yield from _differences(getattr(value, name), getattr(again, name), f"{place}.{name}")
    elif isinstance(value, list | tuple) and isinstance(again, list | tuple) and len(value) == len(again):
        if type(value) is not type(again) or not _are_equal(value, again):
            for index, pair in enumerate(zip(value, again, strict=True)):
                yield from _differences(*pair, f"{place}.{index}")
    elif isinstance(value, Mapping) and isinstance(again, Mapping) and value.keys() == again.keys():
        for key, item in value.items():
            yield from _differences(item, again[key], f"{place}.{key}")
    elif not _are_equal(value, again):
        yield place, f"{value!r:.60}", f"{again!r:.60}"


def _are_equal(value: Any, again: Any) -> bool:
    """Says whether two values are equal. Objects that can't be compared are taken as equal if they have one type."""
    is_comparable = any("__eq__" in vars(kind) for kind in type(value).__mro__[:-1])
    try:
        return bool(value == again) if is_comparable else type(value) is type(again)
    except Exception:  # numpy's arrays have no one truth value
        return type(value) is type(again)
