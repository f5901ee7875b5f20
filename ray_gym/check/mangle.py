"""Spoils right answers. A spoilt answer gets further into the code that reads answers than noise does."""

from __future__ import annotations

import random

from msgspec.structs import replace

from ray_gym.check.texts import HUGE, odd_text
from ray_gym.messages import Message, ToolCall

_NUMBERS = ("-1", "0", "1e999", "NaN", "9" * 5_000, "\u0663", "\u00b2", "3.0", "null", "[]", '""', "007", "1_0")


def mangle(message: Message, rng: random.Random) -> Message:
    """Returns a copy of a message whose text and arguments are spoilt at random. Its tool calls may be doubled."""
    calls = tuple(ToolCall(call.id, call.name, _mangle(call.arguments, rng)) for call in message.tool_calls)
    text = _mangle(message.content, rng) if message.content else ""
    return replace(message, content=text, tool_calls=calls * rng.choice((1, 1, 2)))


def _mangle(text: str, rng: random.Random) -> str:
    place = rng.randrange(len(text) + 1)
    match rng.randrange(9):
        case 0:
            return text[:place]
        case 1:
            return text[:place] + odd_text(rng) + text[place:]
        case 2:
            return text * (HUGE // max(len(text), 1))
        case 3:
            return text[: place + 1] * 2 + text[place:]
        case 4:
            return text.swapcase()
        case 5 | 6:
            return _other_number(text, rng)
        case 7:
            return text.replace(rng.choice(text or " "), rng.choice("{}[]<>\\\"' \n,:"), rng.choice((1, -1)))
        case _:
            return text[::-1]


def _other_number(text: str, rng: random.Random) -> str:
    """Returns the text with an odd number in the place of one number; appended if the text has no digit."""
    digits = [place for place, character in enumerate(text) if character.isdecimal()]
    if not digits:
        return text + rng.choice(_NUMBERS)
    start = end = rng.choice(digits)
    while start and text[start - 1].isdecimal():
        start -= 1
    while end < len(text) and text[end].isdecimal():
        end += 1
    return text[:start] + rng.choice(_NUMBERS) + text[end:]
