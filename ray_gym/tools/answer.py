"""Defines the result of a tool, and the answer that its caller gets."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any, Literal, TypeVar
from uuid import UUID

import numpy as np
from pydantic import BaseModel
from pydantic_core import PydanticSerializationError, to_json, to_jsonable_python

from ray_gym.aio.clock import ActiveClock
from ray_gym.messages import plain_text, utf8
from ray_gym.tools.declared import dump_declared

Result = TypeVar("Result")
_SCALARS = (date, time, timedelta, Decimal, UUID, PurePath)
"""Types beside JSON's own whose values have a text of their own."""
_FINER = ("ns", "ps", "fs", "as")
"""Units of numpy's dates and durations that Python's don't have."""


WhenLost = Literal["retry", "fail"]
"""Action if a worker died while it made an effect, so that it is not known whether the effect was made: make it again
(`retry`), or fail the episode (`fail`).
"""


class IdempotencyKey(str):
    """Names one call of a tool with an effect. It is the same in every attempt; a tool passes it to the service that it
    calls.
    """


class ToolError(Exception):
    """Answers the caller of a tool with an error, when the tool raises it. The episode continues.

    `content` is the text that the caller gets; by default `{"error": message}`. Errors: TypeError if one of them is no
    text: the text of an object might show what its caller is not to see.
    """

    def __init__(self, message: str = "", content: str | None = None) -> None:
        for name, given in (("message", message), ("content", "" if content is None else content)):
            if not isinstance(given, str):
                raise TypeError(f"ToolError: {name} is a {type(given).__name__}; give a text (json.dumps makes one)")
        super().__init__(plain_text(message))
        self.content = None if content is None else plain_text(content)


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """Holds the text that the caller of a tool gets. `error` is the message of an error; None if the tool gave a
    result.
    """

    content: str
    error: str | None = None


async def within(result: Awaitable[Result], deadline_s: float, clock: ActiveClock | None = None) -> Result:
    """Awaits a result for at most `deadline_s` seconds, and returns it. `clock`: an episode's, whose waits are left out.

    Errors: TimeoutError that names `tool_deadline_s` if the deadline passes; those that the awaitable raises.
    """
    try:
        limit = asyncio.timeout(deadline_s) if clock is None else clock.limit(clock.elapsed_s + deadline_s)
        async with limit as deadline:
            return await result
    except TimeoutError as error:
        if not deadline.expired():
            raise
        raise TimeoutError(f"no result within tool_deadline_s ({deadline_s:g} s)") from error


def as_text(result: Any) -> str:
    """Returns a tool's result as the text that the caller gets: a string as it is, all else as JSON. Lone surrogates
    become "?".

    Errors: TypeError for an object that JSON does not have (a dataclass, a set), which might show the caller what it is
    not to see; ValueError for NaN and infinity, for keys of a mapping that are one key in JSON, for data that holds
    itself, and for a pydantic model that can't be dumped.
    """
    if isinstance(result, str):
        return utf8(result)
    try:
        return to_json(_plain(result)).decode()
    except RecursionError:
        raise ValueError("it returned data that holds itself, or is nested too deeply") from None


def _plain(value: Any) -> Any:
    """Returns a value as plain JSON data. Errors: TypeError, ValueError and RecursionError, as `as_text`."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return utf8(value)
    if isinstance(value, float):
        _require_finite(value)
        return value
    if isinstance(value, BaseModel):
        return _plain(_dump(value))
    if isinstance(value, Mapping):
        _require_distinct(value)
        return {_plain_key(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return [_plain(item) for item in value]
    if isinstance(value, Enum):
        return _plain(value.value)
    if isinstance(value, np.generic):
        return _plain(_python_of(value))
    if isinstance(value, Decimal):
        _require_finite(value)
    if isinstance(value, _SCALARS):
        return _dump_scalar(value)
    raise _might_show_all(value)


def _python_of(value: np.generic) -> Any:
    """Returns a number or a date of numpy as Python's. Dates, whose `item` is an integer if they are finer, are rounded
    down to microseconds.
    """
    if isinstance(value, np.datetime64 | np.timedelta64) and np.datetime_data(value.dtype)[0] in _FINER:
        value = value.astype(f"{value.dtype.kind}8[us]")
    return value.item()


def _require_finite(number: float | Decimal) -> None:
    """Checks that JSON has a number. Errors: ValueError for NaN and infinity."""
    if not (number.is_finite() if isinstance(number, Decimal) else math.isfinite(number)):
        raise ValueError(f"it returned {number}, which is no number that JSON has")


def _dump_scalar(value: object) -> Any:
    """Returns a value of one of `_SCALARS` as JSON data. Errors: ValueError for pandas' `NaT`, a date that is none."""
    try:
        return str(value) if isinstance(value, PurePath) else to_jsonable_python(value)
    except TypeError:
        raise ValueError(f"it returned {value}, which is no date that JSON has") from None


def _dump(model: BaseModel) -> Any:
    """Returns a pydantic model as JSON data. Errors: ValueError that names the model and its field."""
    try:
        return dump_declared(model, _plain, _with_plain_keys)
    except (UnicodeDecodeError, PydanticSerializationError) as error:
        raise ValueError(
            f"it returned a pydantic model, of which {_undumpable(model)} can't be JSON: {error}"
        ) from error


def _undumpable(model: BaseModel) -> str:
    """Returns the name of a model that can't be dumped, with that of its first field that can't, as in `Answer.text`;
    of models in models, those of the innermost one.
    """
    name = type(model).__name__
    for field, value in model:
        if not _can_be_dumped(model, {field}):
            inner = next((one for one in _models_in(value) if not _can_be_dumped(one)), None)
            return f"{name}.{field}" if inner is None else _undumpable(inner)
    return name


def _can_be_dumped(model: BaseModel, fields: set[str] | None = None) -> bool:
    try:
        model.model_dump(mode="json", by_alias=True, include=fields, warnings=False)
    except (TypeError, ValueError):
        return False
    return True


def _models_in(value: Any) -> list[BaseModel]:
    """Returns the models that a field's value is or holds."""
    if isinstance(value, Mapping):
        value = list(value.values())
    return [one for one in (value if isinstance(value, list | tuple) else [value]) if isinstance(one, BaseModel)]


def _might_show_all(value: object) -> TypeError:
    return TypeError(
        f"it returned a {type(value).__name__}, of which all might be shown: return a text, numbers, lists, mappings, or "
        "a pydantic model"
    )


def _require_distinct(mapping: Mapping[Any, Any]) -> None:
    """Checks that no two keys of a mapping have the same text in JSON. Errors: ValueError that names both."""
    seen: dict[str, Any] = {}
    for key in mapping:
        text = _spelled(key)
        if text in seen:
            raise ValueError(
                f"it returned a mapping with the keys {seen[text]!r} and {key!r}, which are both {text!r} in JSON"
            )
        seen[text] = key


def _with_plain_keys(mapping: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Returns a mapping with Python's values for keys that are numpy's. Errors: as of `_require_distinct`."""
    _require_distinct(mapping)
    if not any(isinstance(key, np.generic) for key in mapping):
        return mapping
    return {_python_of(key) if isinstance(key, np.generic) else key: item for key, item in mapping.items()}


def _spelled(key: Any) -> str:
    """Returns the text of a key of a mapping, which may also be a date, say, in a pydantic model."""
    if isinstance(key, str | int | np.generic):
        return _plain_key(key)
    if isinstance(key, PurePath):
        return str(key)
    try:
        (text,) = to_jsonable_python({key: None})
    except (TypeError, ValueError):  # it can't be dumped, and is refused for that
        return repr(key)
    return str(text)


def _plain_key(key: Any) -> str:
    if isinstance(key, np.generic):
        key = _python_of(key)
    if isinstance(key, str):
        return utf8(key)
    if isinstance(key, Enum):
        return _plain_key(key.value)
    if isinstance(key, float):
        _require_finite(key)
        return str(key)
    if isinstance(key, int):
        return str(key).lower() if isinstance(key, bool) else str(int(key))
    if isinstance(key, _SCALARS):
        return str(_dump_scalar(key))
    raise TypeError(f"it returned a mapping with a {type(key).__name__} as a key, and JSON has texts")
