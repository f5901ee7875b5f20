"""Writes sets in a fixed order. The order in which Python has the texts of a set is another one in each process."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Set
from functools import lru_cache
from typing import Any

from pydantic import BaseModel, RootModel
from pydantic_core import to_json

from ray_gym.core_schemas import NO_TYPES, parts_of


@lru_cache(maxsize=64)
def has_sets(model: type[BaseModel]) -> bool:
    """Says whether a field of a model, or of a model or a dataclass within it, is a set."""
    return _has_sets(model.__pydantic_core_schema__)


def _has_sets(schema: Any) -> bool:
    if isinstance(schema, Mapping):
        parts = (part for _, part in parts_of(schema, without=NO_TYPES))
        return schema.get("type") in ("set", "frozenset") or any(map(_has_sets, parts))
    return isinstance(schema, list | tuple) and any(map(_has_sets, schema))


def in_order(value: Any, written: Any) -> Any:
    """Returns the JSON data that pydantic wrote for a value, with the items of each set in order: numbers by size, other
    items by their JSON.
    """
    if not isinstance(written, dict | list):
        return written
    if isinstance(value, RootModel):
        return in_order(value.root, written)
    if isinstance(written, dict) and not isinstance(value, Mapping):
        kind: Any = type(value)
        names = _names_by_alias(kind)
        return {key: in_order(getattr(value, names.get(key, str(key)), None), item) for key, item in written.items()}
    if not isinstance(value, Collection) or len(value) != len(written):
        return written
    if isinstance(value, Mapping) and isinstance(written, dict):
        return dict(zip(written, map(in_order, value.values(), written.values()), strict=True))
    if isinstance(value, Set) and all(isinstance(item, str) for item in written):
        return sorted(written)
    items = map(in_order, value, written)
    return sorted(items, key=_place) if isinstance(value, Set) else list(items)


@lru_cache(maxsize=256)
def _names_by_alias(kind: type) -> dict[str, str]:
    """Returns the names of the fields of a pydantic model or dataclass by the aliases under which they may be written."""
    fields = getattr(kind, "__pydantic_fields__", {})
    aliases = {info.serialization_alias: name for name, info in fields.items() if info.serialization_alias}
    return aliases | {name: name for name in fields}


def _place(item: Any) -> tuple[float, bytes]:
    """Returns the key by which an item of a set is sorted."""
    return item if isinstance(item, int | float) else 0, to_json(item)
