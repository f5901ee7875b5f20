"""Gives ids to the calls of conversations that have none, as data for chat templates, where a result follows its call."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any


def with_ids(items: Sequence[Any]) -> list[Any]:
    """Returns chat messages in which each tool call without an id that has a result behind it, and this result, have one:
    `call_` with a number. A result without an id belongs to the first such call of its `name`, or without a name to the
    first. All other messages are the same objects.
    """
    found, opened = list(items), dict[tuple[int, int], Any]()
    taken = {item["tool_call_id"] for item in items if isinstance(item, Mapping) and _is_text(item.get("tool_call_id"))}
    ids = (call_id for number in itertools.count() if (call_id := f"call_{number}") not in taken)
    for number, item in enumerate(items):
        if not isinstance(item, Mapping):
            continue
        if item.get("role") == "tool" and item.get("tool_call_id") is None:
            place = next((place for place, name in opened.items() if item.get("name") in (None, name)), None)
            if place is not None:
                del opened[place]
                call_id = next(ids)
                found[place[0]] = _with_id(found[place[0]], place[1], call_id)
                found[number] = {**item, "tool_call_id": call_id}
        elif item.get("role") != "tool":
            made = item.get("tool_calls")
            calls = made if isinstance(made, list | tuple) else ()
            opened = {(number, at): _name(call) for at, call in enumerate(calls) if _has_no_id(call)}
    return found


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _has_no_id(call: Any) -> bool:
    return isinstance(call, Mapping) and call.get("id") is None


def _name(call: Mapping[str, Any]) -> Any:
    function = call.get("function")
    return (function if isinstance(function, Mapping) else call).get("name")


def _with_id(message: Mapping[str, Any], at: int, call_id: str) -> dict[str, Any]:
    calls = [{**call, "id": call_id} if place == at else call for place, call in enumerate(message["tool_calls"])]
    return {**message, "tool_calls": calls}
