"""Tells the thoughts in a message from its words, for models whose engine has not done so.

Models that reason write their thoughts between marks, such as `<think>` and `</think>` (`MARKS` has them all). A prompt
may have opened the first thought, so that its first mark is missing.
"""

from __future__ import annotations

import re
from collections import defaultdict

from msgspec.structs import replace

from ray_gym.messages import Message

_TAG = r"(?:\w{1,20}:)?(?:think(?:ing)?|thoughts?|reasoning)"

MARKS = (
    (rf"<(?P<tag>{_TAG})\s*>", rf"</(?P<end_of_tag>{_TAG})\s*>"),  # most models: <think>, <thinking>, <seed:think>
    (r"\[THINK\]", r"\[/THINK\]"),  # Mistral
    (r"◁think▷", r"◁/think▷"),  # Kimi
    (r"<\|START_THINKING\|>", r"<\|END_THINKING\|>"),  # Command A
    (r"<\|channel>thought", r"<channel\|>"),  # Gemma
    (  # gpt-oss: the thought ends where the final channel begins
        r"<\|channel\|>analysis(?:<\|message\|>)?",
        r"(?:<\|end\|>\s*)?(?:<\|start\|>assistant\s*)?<\|channel\|>final<\|message\|>",
    ),
)
"""Regular expressions of the marks where a thought begins and ends, in any letter case. A tag is ended by the tag of
the same name.
"""
_ANY = "|".join(f"(?P<begin{number}>{begin})|(?P<end{number}>{end})" for number, (begin, end) in enumerate(MARKS))
_MARK = re.compile(rf"(?=[<\[◁])(?:{_ANY})", re.IGNORECASE)  # what every mark begins with comes first: it is faster


def has_mark(text: str) -> bool:
    """Returns True if a thought begins or ends in a text."""
    return _MARK.search(text) is not None


def count_marks(text: str) -> int:
    """Returns the number of marks in a text."""
    return sum(1 for _ in _MARK.finditer(text))


def tell_apart(text: str) -> tuple[str, str]:
    """Returns the thoughts in a text, and its words without them; both are stripped if there are marks, and else the
    thoughts are "" and the words the text as it is. It takes linear time.

    A thought that is not closed goes to the end of the text. An end without a beginning makes all words before it a
    thought. Of thoughts within a thought, the outermost counts.
    """
    if not has_mark(text):
        return "", text
    pieces = _split(text)
    thoughts = [piece.strip() for is_thought, piece in pieces if is_thought]
    return "\n".join(filter(None, thoughts)), "".join(piece for is_thought, piece in pieces if not is_thought).strip()


def last_words(text: str) -> str:
    """Returns the words after the last thought in a text; if it has none there, those before that thought; the whole
    text if it has no thoughts.
    """
    if not has_mark(text):
        return text
    said = [piece.strip() for is_thought, piece in _split(text) if not is_thought]
    return next(filter(None, reversed(said)), "")


def with_thoughts_apart(message: Message) -> Message:
    """Returns a message whose thoughts are its `reasoning`, after those that it has there already."""
    thoughts, said = tell_apart(message.content)
    if said == message.content:
        return message
    reasoning = "\n".join(part for part in (message.reasoning, thoughts) if part)
    return replace(message, content=said, reasoning=reasoning or None)


def _split(text: str) -> list[tuple[bool, str]]:
    """Returns the pieces of a text between marks, in order, each after True if it is a thought."""
    pieces: list[tuple[bool, str]] = []
    marks = [(_kind(found), found) for found in _MARK.finditer(text)]
    ends = _ends_of_thoughts(marks)
    position = settled = 0  # the pieces before the number `settled` are known to be no words
    for (_, is_end), found in marks:
        if found.start() < position:  # it is in a thought
            continue
        pieces.append((False, text[position : found.start()]))
        position = found.end()
        if is_end:
            pieces[settled:] = [(True, piece) for _, piece in pieces[settled:]]
            settled = len(pieces)
            continue
        end = ends.get(found.start())
        pieces.append((True, text[position : end.start() if end else len(text)]))
        position = end.end() if end else len(text)
    return [*pieces, (False, text[position:])]


_Kind = tuple[str, bool]
"""Kind of a mark: which marks it belongs to, and whether it is an end."""


def _kind(found: re.Match[str]) -> _Kind:
    tag = found["tag"] or found["end_of_tag"]
    name = found.lastgroup or ""
    number = name.removeprefix("begin").removeprefix("end")
    return (tag.lower() if tag else number), name.startswith("end")


def _ends_of_thoughts(marks: list[tuple[_Kind, re.Match[str]]]) -> dict[int, re.Match[str]]:
    """Returns the ends of thoughts by the index where the thought begins. An end belongs to the last beginning of its
    kind that is open. A beginning that stays open has the last end of its kind, if one comes after it.
    """
    opened: dict[str, list[int]] = defaultdict(list)
    last: dict[str, re.Match[str]] = {}
    ends: dict[int, re.Match[str]] = {}
    for (kind, is_end), found in marks:
        if not is_end:
            opened[kind].append(found.start())
            continue
        last[kind] = found
        if opened[kind]:
            ends[opened[kind].pop()] = found
    for kind, starts in opened.items():
        ends |= {start: last[kind] for start in starts if kind in last and last[kind].start() > start}
    return ends
