"""Tells the base of a number, and that in which a question asks for one."""

from __future__ import annotations

import re

_NAMES = {
    **{
        "two": "2",
        "three": "3",
        "four": "4",
        "five": "5",
        "six": "6",
        "seven": "7",
        "eight": "8",
        "nine": "9",
        "ten": "10",
    },
    **{"twelve": "12", "sixteen": "16"},
}
_SYSTEMS = {"binary": "2", "octal": "8", "decimal": "10", "hexadecimal": "16"}
_ASKED = re.compile(
    r"(?<!from\s)(?<!given\sin\s)\b"
    rf"(?:base[\s$-]{{1,3}}({'|'.join(_NAMES)}|\d\d?)|in\s({'|'.join(_SYSTEMS)}))\b",
    re.IGNORECASE,
)
"""Base that a question names, but for that of the number which it gives."""
_GIVEN = re.compile(
    r"(?:\A|[.?!])\s*(?!(?:if|when|suppose|let)\b)[^.?!]{1,80}\b(?:is|are)\swritten\sin\s\Z", re.IGNORECASE
)
_SENTENCE_ENDS = re.compile(r"\s*\$?\s*[.]")
_LAST_SUBSCRIPT = re.compile(r"(?<=[0-9A-F])_(?:\{\s*(?:\\text\w*\s?\{\s*(\w+)\s*\}|\(?(\w+)\)?)\s*\}|(\w))\s*\Z")
"""Base behind the number with which an answer ends."""
_SUBSCRIPT = re.compile(r"(?<=\d)_(?:\{([^{}]*(?:\{[^{}]*\})?)\}|(\w))")
"""Base behind a number."""


def without_asked_base(answer: str, question: str) -> str:
    """Returns an answer without the base behind its number, if that is the only one that the question asks for."""
    found = _LAST_SUBSCRIPT.search(answer)
    if found is None:
        return answer
    base = next(filter(None, found.groups())).lower()
    asked = {_number(found[1] or found[2]) for found in _ASKED.finditer(question) if not _is_given(question, found)}
    return answer[: found.start()] if asked == {_number(base)} else answer


def _is_given(question: str, base: re.Match[str]) -> bool:
    """Says whether a sentence of the question ends by telling in which base a number is written."""
    ends = _SENTENCE_ENDS.match(question, base.end())
    return ends is not None and _GIVEN.search(question[: base.start()]) is not None


def are_in_bases(given: str, gold: str) -> bool:
    """Says whether the bases of an answer's numbers are those that are expected. Ten is that of a number without a base."""
    bases, expected = _bases_in(given), _bases_in(gold)
    others = expected - {"10"}
    return bases - {"10"} <= others and not ("10" in bases and others)


def _bases_in(expression: str) -> set[str]:
    return {first or second for first, second in _SUBSCRIPT.findall(expression)}


def _number(name: str) -> str:
    return (_NAMES | _SYSTEMS).get(name.lower(), name)
