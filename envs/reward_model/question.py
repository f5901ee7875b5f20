"""Writes the question to a generative reward model about two answers."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ray_gym import Message
from ray_gym.graders.comparison import FORM

_TAG = re.compile(r"</?\s*(?:conversation|first|second)\s*>", re.IGNORECASE)
_BRACKET = re.compile(r"([<>])")
_SPEAKERS = {"system": "Instructions", "user": "User", "assistant": "Assistant", "tool": "Tool"}


def question(conversation: Sequence[Message], first: str, second: str) -> str:
    """Returns the question to a reward model which of two answers to a conversation is better. Tags in all texts are
    removed, so that an answer can't forge its own end or the other answer.
    """
    said = "\n".join(f"{_SPEAKERS[message.role]}: {_remove_tags(message.content)}" for message in conversation)
    return (
        "Below is a conversation, and two answers with which the assistant could go on. Compare them: do they give what was asked for, "
        "are they right, clear and well written? The order in which they stand says nothing about them.\n\n"
        f"<conversation>\n{said}\n</conversation>\n\n<first>\n{_remove_tags(first)}\n</first>\n\n<second>\n{_remove_tags(second)}\n</second>\n\n"
        "Give each a score from 1 (poor) to 5 (excellent), and a ranking: 1: the first is much better, 2: better, 3: slightly better; "
        "4: the second is slightly better, 5: better, 6: much better. End with two lines in this form:\n"
        f"{FORM}"
    )


def _remove_tags(text: str) -> str:
    """Removes tags in one pass, because answers may be long. Text on both sides of a removed tag may form a new one."""
    kept: list[str] = []
    begins: list[int] = []  # where in `kept` a tag may have begun
    for piece in _BRACKET.split(text):
        kept.append(piece)
        if piece == "<":
            begins.append(len(kept) - 1)
        elif piece == ">" and begins and _TAG.fullmatch("".join(kept[begins[-1] :])):
            del kept[begins.pop() :]
        elif piece == ">":
            begins.clear()
    return "".join(kept).strip() or "(nothing)"
