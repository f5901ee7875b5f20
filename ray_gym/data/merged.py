"""Says what of a row's values is lost when pydantic reads them: keys or items that become one, digits of a second."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from collections.abc import Set as AnySet
from datetime import datetime, time
from functools import cache
from typing import Any

from pydantic import BaseModel

from ray_gym.each_key_once import RepeatedKey, each_key_once
from ray_gym.field_types import keys_of
from ray_gym.openai_api.conversation import EarlierMessage

_FINER = re.compile(r"\.\d{6}\d*[1-9]")
"""Fraction of a second that is finer than microseconds."""
_WHOLE = frozenset({str, int, float, bool, type(None), EarlierMessage})
"""Types of which nothing is lost. The messages of a conversation are read by rules of their own."""


def merged_values(given: Any, read: Any, location: tuple[Any, ...] = ()) -> Iterator[str]:
    """Yields a line for each value of a row of which a part is lost, as two keys of a mapping became one. `given`: the
    row's JSON data; `read`: what became of it; `location`: the path to both.
    """
    if type(read) in _WHOLE:  # most values
        return
    if isinstance(read, BaseModel) and isinstance(given, Mapping):
        for name, key in _keys_by_field(type(read)):
            if key in given:
                yield from merged_values(given[key], getattr(read, name), (*location, key))
    elif isinstance(read, list | tuple) and isinstance(given, list) and len(given) == len(read):
        for index, pair in enumerate(zip(given, read, strict=True)):
            yield from merged_values(*pair, (*location, index))
    elif isinstance(read, Mapping) and isinstance(given, Mapping):
        if len(read) < len(given):
            yield f"{_dotted(location)}: two of its keys stand for the same one (found {list(given)!r:.60})"
        for key in given.keys() & read.keys():
            yield from merged_values(given[key], read[key], (*location, key))
    elif isinstance(read, AnySet) and isinstance(given, list) and len(read) < len({json.dumps(one) for one in given}):
        yield f"{_dotted(location)}: two of its items become the same one (found {given!r:.60})"
    elif isinstance(given, str):
        yield from _lost_of_text(given, read, location)


def _lost_of_text(given: str, read: Any, location: tuple[Any, ...]) -> Iterator[str]:
    """Yields a line for what is lost of a text that was read as another value."""
    if isinstance(read, datetime | time) and _FINER.search(given):
        yield f"{_dotted(location)}: times are kept to the microsecond; round it (found {given!r:.60})"
    if isinstance(read, dict | list | BaseModel):
        try:
            inner = json.loads(given, object_pairs_hook=each_key_once)
        except RepeatedKey as error:
            yield f"{_dotted(location)}: {error}"
        except (ValueError, RecursionError):  # a form of the task's own
            return
        else:
            yield from merged_values(inner, read, location)


@cache
def _keys_by_field(model: type[BaseModel]) -> tuple[tuple[str, str], ...]:
    """Returns the names of a model's fields, each with a key that a row may use for it."""
    return tuple((name, key) for name, field in model.model_fields.items() for key in keys_of(name, field))


def _dotted(location: tuple[Any, ...]) -> str:
    return ".".join(map(str, location))
