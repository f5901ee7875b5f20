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
    if isinstance(value, RootModel):
        return in_order(value.root, written)
    if isinstance(written, dict) and not isinstance(value, Mapping):
        return {key: in_order(getattr(value, key, None), item) for key, item in written.items()}
    if not isinstance(value, Collection) or not isinstance(written, dict | list) or len(value) != len(written):
        return written
    if isinstance(value, Mapping) and isinstance(written, dict):
        return dict(zip(written, map(in_order, value.values(), written.values()), strict=True))
    items = map(in_order, value, written)
    return sorted(items, key=_place) if isinstance(value, Set) else list(items)


def _place(item: Any) -> tuple[float, bytes]:
    """Returns the key by which an item of a set is sorted."""
    return item if isinstance(item, int | float) else 0, to_json(item)
