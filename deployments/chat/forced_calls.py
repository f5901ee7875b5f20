"""Reads forced calls of models without a structural tag: JSON of the form [{"name": ..., "parameters": {...}}], which is
vLLM's. A model that reasons writes its thoughts before it, since vLLM's grammar begins behind these.
"""

from __future__ import annotations

import re

import msgspec

from ray_gym.deployments.chat.call_spelling import Call
from ray_gym.deployments.chat.interleaved import thoughts_and_answer
from ray_gym.messages import is_blank

MOST_STARTS = 100
"""Places in an answer at which its calls are looked for."""

_START = re.compile(r"\[\s*\{")


class _ForcedCall(msgspec.Struct):
    """Holds a forced call. The parameters stay as the model wrote them."""

    name: str
    parameters: msgspec.Raw


_decode_forced = msgspec.json.Decoder(list[_ForcedCall]).decode


def read(text: str) -> list[Call]:
    """Returns the calls of an answer that is nothing else. An answer in another form gives one call without a name, with
    the whole text as its arguments.
    """
    calls = _decode(text)
    return [("", "", text)] if calls is None else calls


def read_behind_thoughts(text: str, is_opened: bool) -> tuple[str | None, str, list[Call]]:
    """Returns the thoughts before the calls of an answer, the words there, and the calls (see `read`). An answer that is
    nothing but thoughts has no calls.

    `is_opened`: whether the prompt opened the first thought.
    """
    if (calls := _decode(text)) is not None:
        return None, "", calls
    starts = [found.start() for found in _START.finditer(text)][-MOST_STARTS:]
    for start in starts:
        if (calls := _decode(text[start:])) is not None:
            thoughts, answer = thoughts_and_answer(text, is_opened, [(start, len(text))])
            return thoughts or None, answer.removesuffix(text[start:]).strip(), calls
    thoughts, answer = thoughts_and_answer(text, is_opened, [])
    return thoughts or None, "", [] if thoughts and is_blank(answer) else read(answer)


def _decode(text: str) -> list[Call] | None:
    """Returns the calls that a text is; None if it is anything else."""
    try:
        return [("", call.name, bytes(call.parameters).decode()) for call in _decode_forced(text)]
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError):
        return None
