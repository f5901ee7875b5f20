"""Tells thoughts apart that stand between words and calls, or whose marks stand in a call's arguments.

vLLM's reasoning parsers know one thought, before all else. Of what is before or behind a second one they lose words and
calls, and they take marks out of arguments.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ray_gym.messages import is_blank
from ray_gym.models.thoughts import (
    ends_of_nothing,
    first_end,
    has_mark,
    has_mention,
    has_one_at_most,
    start_of_unclosed,
    tell_apart,
)

_FIRST = 0xF0000
"""Code of the first stand-in: a private character of Unicode, which no model writes."""
_STAND_INS = f"{chr(_FIRST)}-{chr(0xFFFFD)}"
_STAND_IN = re.compile(f"[{_STAND_INS}]")
_CALL_OF_ITS_OWN = re.compile(rf"(?:\A|[\n>\]▷{_STAND_INS}])[ \t]*[{_STAND_INS}]\s*\Z")
"""Call at the end of a text, with no words before it on its line."""


def is_interleaved(text: str, frames: Sequence[tuple[int, int]]) -> bool:
    """Says whether a text has more thoughts than one before all else, or marks where they are text: in a call, or in a
    mention. `frames`: start and end of each frame of calls.
    """
    hidden = _with_stand_ins(text, frames)
    inside = (text[start:end] for start, end in frames)
    return (
        not has_one_at_most(hidden)
        or has_mention(hidden)
        or any(has_mark(call) or has_mention(call) for call in inside)
    )


def is_weighed_up(
    text: str, is_opened: bool, frames: Sequence[tuple[int, int]], has_call_mark: Callable[[str], bool]
) -> bool:
    """Says whether a call, or its mark, stands in the first thought, and an answer behind it: parsers end the thought
    there. `is_opened`: whether the prompt opened the thought. `has_call_mark`: finds a call's beginning in a text.
    """
    hidden = _with_stand_ins(text, frames)
    stop, end = first_end(hidden)
    thought = hidden[:stop]
    if is_blank(hidden[end:]) or not (is_opened or has_mark(thought)):
        return False
    return _STAND_IN.search(thought) is not None or has_call_mark(thought)


def thoughts_and_answer(text: str, is_opened: bool, frames: Sequence[tuple[int, int]]) -> tuple[str, str]:
    """Returns the thoughts in a text, and its answer: words and calls as they stand. Calls within thoughts are a part of
    these, but a thought that nothing else ends is ended by a call.

    `is_opened`: whether the prompt opened the first thought.
    """
    hidden = _with_stand_ins(text, frames)
    first, start = first_end(hidden) if is_opened else (0, 0)
    if is_opened and start == len(hidden) and (called := _STAND_IN.search(hidden)):
        first = start = called.start()
    rest = _without_stray_ends(hidden[start:], is_closed=is_opened)
    call = _STAND_IN.search(rest, start_of_unclosed(rest))
    end = call.start() if call else len(rest)
    later, answer = tell_apart(rest[:end], has_calls=call is not None)
    thoughts = "\n".join(filter(None, (hidden[:first].strip(), later)))
    answer += rest[end:]
    for index, (start, end) in enumerate(frames):
        stand_in, written = chr(_FIRST + index), text[start:end]
        thoughts, answer = thoughts.replace(stand_in, written), answer.replace(stand_in, written)
    return thoughts, answer


def _without_stray_ends(hidden: str, is_closed: bool) -> str:
    """Returns a text without the marks that end a thought right behind a call though it was ended before the call: else
    the call would be a part of it. A call within a line may be one that is only weighed up.

    `is_closed`: whether a thought has ended before the text.
    """
    parts, position, is_stray = [], 0, False
    for start, end in ends_of_nothing(hidden, is_closed):
        between = hidden[position:start]
        is_stray = _CALL_OF_ITS_OWN.search(between) is not None if between.strip() else is_stray
        parts.append(hidden[position : start if is_stray else end])
        position = end
    return "".join([*parts, hidden[position:]])


def _with_stand_ins(text: str, frames: Sequence[tuple[int, int]]) -> str:
    """Returns a text with one character in the place of each frame."""
    parts, position = [], 0
    for index, (start, end) in enumerate(frames):
        parts += [text[position:start], chr(_FIRST + index)]
        position = end
    return "".join([*parts, text[position:]])
