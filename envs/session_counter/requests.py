"""Makes requests about the counter with the values that they lead to, and conversations that have already begun."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from typing import Any

Request = tuple[str, int]
"""Text of a request, and the counter's value after it."""
Messages = list[dict[str, Any]]

TIMES = {2: "twice", 3: "three times", 4: "four times"}


def additions(rng: random.Random, count: int) -> Request:
    """Draws a request to add one to three numbers, with the counter's value after it. `count`: its value before."""
    numbers = [rng.randint(1, 40) for _ in range(rng.randint(1, 3))]
    asked = ", then ".join(str(number) for number in numbers)
    return f"Add {asked} to the counter.", count + sum(numbers)


def repetition(rng: random.Random, count: int) -> Request:
    """Draws a request to add a number several times, with the counter's value after it. `count`: its value before."""
    number, times = rng.randint(2, 30), rng.choice(list(TIMES))
    return f"Add {number} to the counter {TIMES[times]}.", count + number * times


def subtraction(rng: random.Random, count: int) -> Request:
    """Draws a request to subtract a number, with the counter's value after it. `count`: its value before."""
    number = rng.randint(1, 30)
    return f"Take {number} off the counter.", count - number


def target(rng: random.Random, count: int) -> Request:
    """Draws a request to bring the counter to a higher value, with that value. `count`: its value before."""
    wanted = count + rng.randint(1, 60)
    return f"Bring the counter to exactly {wanted}.", wanted


def doubling(rng: random.Random, count: int) -> Request:
    """Draws a request to double the counter and add a number, with its value after that. `count`: its value before."""
    number = rng.randint(1, 30)
    return f"Double what the counter shows, then add {number}.", 2 * count + number


REQUESTS: Sequence[Callable[[random.Random, int], Request]] = (additions, repetition, subtraction, target, doubling)


def earlier_turns(rng: random.Random, count: int) -> tuple[Messages, int]:
    """Draws a request, and returns the messages in which it is carried out, and the counter's value after it.
    `count`: its value before.
    """
    asked, after = rng.choice((additions, repetition, target))(rng, count)
    messages: Messages = [{"role": "user", "content": asked}]
    messages += _tool_messages("earlier_0", "get_counter_value", {}, {"count": count})
    messages += _tool_messages("earlier_1", "increment_counter", {"count": after - count}, {"success": True})
    return [*messages, {"role": "assistant", "content": f"Done: the counter is at {after}."}], after


def _tool_messages(call_id: str, name: str, arguments: dict[str, Any], result: dict[str, Any]) -> Messages:
    call = {"id": call_id, "name": name, "arguments": json.dumps(arguments)}
    return [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": json.dumps(result), "tool_call_id": call_id},
    ]
