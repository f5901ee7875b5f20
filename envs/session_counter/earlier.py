"""Computes the counter's value after a conversation that began elsewhere. Its tool calls are not made again."""

from __future__ import annotations

from collections.abc import Sequence

from ray_gym.openai_api.conversation import EarlierCall, EarlierMessage, answered_calls, json_object


def count_after(initial: int, messages: Sequence[EarlierMessage]) -> int:
    """Returns the counter's value after the answered calls in a conversation. `initial`: its value before them.

    Errors: ValueError for an increment without a whole number, and for a reading that contradicts the calls before it.
    """
    count = initial
    for done in answered_calls(messages):
        if done.call.name == "increment_counter":
            count += _count_in(done.call)
        elif done.call.name == "get_counter_value":
            read = json_object(done.answer).get("count", count)
            if read != count:
                raise ValueError(
                    f"messages[{done.number}]: the counter is {read} here, but the calls before lead to {count}"
                )
    return count


def _count_in(call: EarlierCall) -> int:
    count = json_object(call.arguments).get("count")
    if not isinstance(count, int) or isinstance(count, bool):
        raise ValueError(
            f"messages: call {call.id!r} was carried out, but has no whole number as its count: {call.arguments}"
        )
    return count
