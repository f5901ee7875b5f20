"""What a conversation that was begun elsewhere has made of the counter. Its tool calls are not made again, only added up."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ray_gym.conversation import EarlierCall, EarlierMessage


def count_after(initial: int, messages: Sequence[EarlierMessage]) -> int:
    """Where the counter stands after the calls that were made. One that was answered with an error has changed nothing.

    Errors: ValueError for arguments that can't be read, and for a value in the conversation that the calls don't lead to.
    """
    count = initial
    calls: dict[str | None, EarlierCall] = {}
    for number, message in enumerate(messages):
        calls |= {call.id: call for call in message.tool_calls}
        call = calls.get(message.tool_call_id) if message.role == "tool" else None
        answer = _json_object(message.content)
        if call is None or "error" in answer:
            continue
        if call.name == "increment_counter":
            count += _count_in(call)
        elif call.name == "get_counter_value" and answer.get("count", count) != count:
            raise ValueError(
                f"messages[{number}]: the counter is {answer['count']} here, but the calls before lead to {count}"
            )
    return count


def _count_in(call: EarlierCall) -> int:
    count = _json_object(call.arguments).get("count")
    if not isinstance(count, int) or isinstance(count, bool):
        raise ValueError(
            f"messages: call {call.id!r} was carried out, but has no whole number as its count: {call.arguments}"
        )
    return count


def _json_object(text: str) -> dict[str, Any]:
    try:
        read = json.loads(text)
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}
