"""Walks the core schemas that pydantic makes of types, where an author's name may be any word, such as `type`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

NO_TYPES = frozenset({"metadata", "cls", "function", "default", "expected", "members"})
"""Keys of a core schema under which there are no types."""
_BY_NAME = frozenset({"fields", "choices"})
"""Keys of a core schema whose mapping has types by the names of an author."""


def change_parts(node: Mapping[str, Any], change: Callable[[str, Any], Any], without: frozenset[str]) -> dict[str, Any]:
    """Returns a core schema with each of its parts changed. `change`: takes the key of a part in the schema, and the part.
    `without`: keys of the schema that are kept as they are.
    """
    return {key: value if key in without else _change(key, value, change) for key, value in node.items()}


def _change(key: str, value: Any, change: Callable[[str, Any], Any]) -> Any:
    if _is_by_name(key, value):
        return {name: change(key, part) for name, part in value.items()}
    return change(key, value)


def parts_of(node: Mapping[str, Any], without: frozenset[str]) -> Iterator[tuple[str, Any]]:
    """Yields the parts of a core schema, each with the name of the field that it is ("" for others), but for those at the
    keys `without`.
    """
    for key, value in node.items():
        if key in without:
            continue
        if not _is_by_name(key, value):
            yield "", value
        else:
            yield from ((name if key == "fields" else "", part) for name, part in value.items())


def _is_by_name(key: str, value: Any) -> bool:
    return key in _BY_NAME and isinstance(value, Mapping)
