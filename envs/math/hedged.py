"""Reads how the last line of an answer without a box commits itself to its last number, or does not."""

from __future__ import annotations

import re

from ray_gym.envs.math.unit_table import MONEY_CODES
from ray_gym.envs.math.units import PLAIN_NUMBER
from ray_gym.graders.denials import NOT, is_called_wrong

_TAIL = 200
"""Number of characters at the end of an answer that are read."""
_CODE = rf"\b(?:{MONEY_CODES})\s?(?=\.?\d)"
_MARKS = re.compile(rf"\\?\$|[*`€£]|\\[()\[\]]|{_CODE}|\\text\{{([^{{}}]*)\}}")
_NUMBER = PLAIN_NUMBER.pattern
_UNIT = r"(?:\s{0,2}[A-Za-z%°/^\\{}]{1,15}){0,2}"
_NAME = r"(?:[A-Za-z]\s?=\s?)?"
_AT_END = r"[^\d\n]{0,60}\Z"
_EITHER = re.compile(
    rf"({_NUMBER}){_UNIT},?\s{{1,3}}(?:or|maybe|perhaps|possibly)\s{{1,3}}(?:maybe\s)?{_NAME}({_NUMBER}){_AT_END}",
    re.IGNORECASE,
)
_CONTRASTED = re.compile(
    rf"(?:[,;(–—-]\s{{0,3}}(?:and\s)?not|\s(?:rather\sthan|instead\sof|unlike))\s{{1,3}}[\\$*(]{{0,4}}(?:{_CODE})?{_NAME}"  # noqa: RUF001
    rf"{_NUMBER}{_AT_END}",
    re.IGNORECASE,
)
_DENIED_BEFORE = re.compile(
    rf"(?:{NOT}|\bcannot)(?:\s(?:be|equal(?:\sto)?|exactly))?\s{{1,3}}[\\$*(]{{0,4}}{_NAME}{_NUMBER}"
    rf"(?=[^\d\n]{{1,60}}{_NUMBER}{_AT_END})",
    re.IGNORECASE,
)
"""Number that is denied before another one at the end."""
_HEDGED = re.compile(
    rf"(?:{NOT}(?:\s(?:be|equal(?:\sto)?|exactly))?"
    r"|\b(?:more|less|fewer|greater|larger|smaller|bigger|higher|lower)\sthan|\bat\s(?:least|most)|\bup\sto|\b(?:above|below)"
    rf"|\b(?:between|from)\s{{1,3}}{_NUMBER}{_UNIT}\s{{1,3}}(?:and|to))"
    rf":?\s{{1,3}}{_NAME}{_NUMBER}{_AT_END}"
    rf"|{_NUMBER}{_UNIT}?\s{{1,3}}or\s(?:more|less|fewer|greater|larger|smaller|higher|lower)\b{_AT_END}",
    re.IGNORECASE,
)
"""Number at the end that is denied, or only bounds the answer."""
_LAST = re.compile(rf"{_NUMBER}({_AT_END})")


def without_contrast(text: str) -> str:
    """Returns a text without a number at its end that it only tells from its answer: `It is 13, not 12`, `It isn't 12, it
    is 13`.
    """
    return text[:-_TAIL] + _DENIED_BEFORE.sub(" is", _CONTRASTED.sub("", text[-_TAIL:]))


_DENIED_QUESTION = re.compile(r"(?i:(?<=[.!])\s+(?:is|could|can|would)\b[^.!?\n]{0,80}\?\s*no\b[.!]?\s*\Z)")
"""A question about another value, which is denied: Is it 13? No."""


def is_hedged(text: str) -> bool:
    """Says whether the last line of a text denies its last number (`not 12`, `12 is wrong`), or bounds by it (`at least 12`)."""
    line = _DENIED_QUESTION.sub("", _last_line(text))
    last = _LAST.search(line)
    return _HEDGED.search(line) is not None or (last is not None and is_called_wrong(last[1]))


def alternatives(text: str) -> tuple[str, str] | None:
    """Returns the two numbers between which the end of a text leaves the choice (`12 or 13`); None if it has none."""
    found = _EITHER.search(_last_line(text))
    return (found[1], found[2]) if found is not None else None


def _last_line(text: str) -> str:
    return _MARKS.sub(r"\1", text.rstrip()[-_TAIL:].rpartition("\n")[2])
