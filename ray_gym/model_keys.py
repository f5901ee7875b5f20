"""Tells which keys pydantic models read, and finds those that they pass over without a word."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from pydantic import AliasChoices, AliasPath, BaseModel, RootModel
from pydantic.fields import FieldInfo

Location = tuple[Any, ...]
"""Keys and indices that lead to a value."""


def keys_of(name: str, field: FieldInfo) -> list[str]:
    """Returns the keys that the input may use for a field of a model: its name and its aliases. Of an alias that is a
    path, it is the first key.
    """
    alias = field.validation_alias
    choices = alias.choices if isinstance(alias, AliasChoices) else [alias]
    aliases = [str(choice.path[0]) if isinstance(choice, AliasPath) else choice for choice in choices if choice]
    return list(dict.fromkeys([name, *aliases]))


@cache
def keys_by_field(model: type[BaseModel]) -> tuple[tuple[str, str], ...]:
    """Returns the names of a model's fields, each with a key that the input may use for it."""
    return tuple((name, key) for name, field in model.model_fields.items() for key in keys_of(name, field))


def unread_keys(given: Any, read: Any, location: Location = ()) -> Iterator[Location]:
    """Yields the place of each key in JSON data that a model made from them has no field for. pydantic ignores such keys
    by default; models that declare `extra`, or have a validator that sees the data first, are left alone.

    `given`: the data; `read`: what they were read as; `location`: the place of both.
    """
    if isinstance(read, RootModel):
        yield from unread_keys(given, read.root, location)
    elif isinstance(read, BaseModel) and isinstance(given, Mapping):
        fields = keys_by_field(type(read))
        if _ignores_unawares(type(read)):
            known = {key for _, key in fields}
            yield from ((*location, key) for key in given if key not in known)
        for name, key in fields:
            if key in given:
                yield from unread_keys(given[key], getattr(read, name), (*location, key))
    elif dataclasses.is_dataclass(read) and isinstance(given, Mapping):
        for field in dataclasses.fields(read):
            if field.name in given:
                yield from unread_keys(given[field.name], getattr(read, field.name), (*location, field.name))
    elif isinstance(read, list | tuple) and isinstance(given, list) and len(given) == len(read):
        for index, pair in enumerate(zip(given, read, strict=True)):
            yield from unread_keys(*pair, (*location, index))
    elif isinstance(read, Mapping) and isinstance(given, Mapping):
        for key in given.keys() & read.keys():
            yield from unread_keys(given[key], read[key], (*location, key))


@cache
def _ignores_unawares(model: type[BaseModel]) -> bool:
    """Returns True if a model ignores other keys only because nobody said anything about them."""
    if model.model_config.get("extra") is not None:
        return False
    validators = model.__pydantic_decorators__.model_validators.values()
    return all(validator.info.mode == "after" for validator in validators)
