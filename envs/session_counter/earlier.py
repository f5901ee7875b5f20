"""What a conversation that was begun elsewhere has made of the counter. Its tool calls are not made again, only added up."""

from __future__ import annotations

from collections.abc import Sequence

from ray_gym.openai_api.conversation import EarlierCall, EarlierMessage, carried_out, json_object


def count_after(initial: int, messages: Sequence[EarlierMessage]) -> int:
    """Where the counter stands after the calls that were made.

    Errors: ValueError for arguments that can't be read, and for a value in the conversation that the calls don't lead to.
    """
    count = initial
    for done in carried_out(messages):
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
