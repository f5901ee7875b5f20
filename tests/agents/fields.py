"""Lists the fields of agents' requests: where they are, and what they hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from agent_shapes import Call
from shaping import PROTOCOL, SCHEMAS

Place = tuple[str | int, ...]
"""Keys and indices that lead to a value in a body."""
WHOLE = SCHEMAS | {"input"}
"""Fields whose objects are looked at as a whole: schemas, and arguments of calls."""


def fields_of(calls: Iterable[Call]) -> dict[str, set[str]]:
    """Returns what the fields of requests hold, by their paths: a type, or the protocol's own values in quotes."""
    found: dict[str, set[str]] = {}
    for call in calls:
        for place, value in leaves(call.body) if call.body else ():
            found.setdefault(path_of(place), set()).add(kind_of(place, value))
    return found


def leaves(value: Any, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Yields the values in a body that hold no others, after their places."""
    if isinstance(value, dict) and value and not (place and place[-1] in WHOLE):
        for name, one in value.items():
            yield from leaves(one, (*place, name))
    elif isinstance(value, list) and value:
        for number, one in enumerate(value):
            yield from leaves(one, (*place, number))
    else:
        yield place, value


def path_of(place: Place) -> str:
    """Returns a place as a path in which all items of a list are alike: `tools[].name`."""
    return "".join("[]" if isinstance(part, int) else f".{part}" for part in place).removeprefix(".")


def kind_of(place: Place, value: Any) -> str:
    """Returns the type of a value; for a text that is the protocol's own, the text in quotes."""
    name = next(part for part in reversed(place) if isinstance(part, str))
    if isinstance(value, str):
        return f'"{value}"' if name in PROTOCOL else "text"
    if name in SCHEMAS:
        return "schema"
    kinds = {bool: str(value).lower(), int: "number", float: "number", dict: "object", list: "empty list"}
    return "null" if value is None else kinds[type(value)]
