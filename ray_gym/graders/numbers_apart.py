"""Tells numbers in a judge's answer that are no scores: those of a list, the top of a scale, and counts."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Literal

from ray_gym.graders.finder import OF

_ITEM = re.compile(r"^[ \t]{0,8}(?:[*_]{1,2})?(?P<number>\d{1,3})[.)](?:[*_]{1,2})?[ \t]+\S", re.MULTILINE)
_TOP = re.compile(
    r"(?i:\b(?:max(?:imum)?|min(?:imum)?|top|highest|lowest|scale|full)(?:[\s_-](?:possible|available))?"
    r"(?:[\s_-](?:scores?|points|marks?|ratings?|values?|grades?))?[\"'*_`]{0,4}\s{0,2}(?:[:=]|is\b)[\s\"'*_`]{0,4}\Z"
    r"|\(max(?:imum)?[.:]?\s\Z)"
)
_OUT_OF = re.compile(rf"(?i:\bout\s+of\s|\(/\s?|\d[\s\"'*_`)\]]{{0,4}}[^\W\d]{{0,9}}\s?[(,/]?\s?(?:\b{OF}|/)\s?)\Z")
_COUNTED = re.compile(
    r"\s(?!(?:points?|pts|stars?|marks?|out|of|plus|minus|less|because|as|is|was|this|thus|it|he|she|they|that|there|the)\b)(?:[a-z]{2,20}\s)?(?:criteria|[a-z]{3,20}s)\b"
)
_OF_A_THING = re.compile(
    r"(?i:[ \t](?:(?:clear|final|valid)\s)?(?:answer|verdict|label|rating|score|decision|conclusion|evidence)(?![^\W_]))"
)

_TITLE = re.compile(
    r"(?i:(?:(?:\A|(?<![:\uff1a])\n)[\s*_#]{0,9}|(?P<key>[{,]\s{0,4}\"))(?:(?:final|overall|total|my)[\s_]){0,2}"
    r"(?:score|rating|grade)[\s*_\"]{0,4}[:=\uff1a][\s*_\"]{0,6}\Z)"
)
_TITLE_ENDS = re.compile(r"[\s*_\"]{0,6}(?:[.}\s*_]{0,6}(?:\n|\Z)|,\s{0,4}\")")
"""These two are around a score behind its title, on a line or in a JSON object."""
_BEGUN = re.compile(
    r"(?i:(?:\A|[\n:=|>\uff1a])[\s*_#\"'`(\[{-]{0,9}\Z"
    r"|(?:\A|\n)[\s*_#]{0,9}(?:\w{1,12}\s){0,2}(?:score|rating|grade|verdict)[\s*_]{0,4}[:=\uff1a][^\n]{0,40}\Z)"
)
"""Begins a line, or what stands behind a title."""


def numbers_of_list(said: str) -> frozenset[int]:
    """Returns the places of the numbers of lists: all at the beginnings of lines, if one of them follows another."""
    items = [(int(found["number"]), found.start("number")) for found in _ITEM.finditer(said)]
    is_list = any(number == before + 1 for (before, _), (number, _) in pairwise(items))
    return frozenset(place for _, place in items if is_list)


def is_lack(said: str, end: int) -> bool:
    """Returns True if `no` belongs to the noun behind it: no answer."""
    return _OF_A_THING.match(said, end) is not None


def is_top_of_scale(said: str, start: int) -> bool:
    """Returns True if a number is the largest or smallest score that there is: Max score: 5, 8 von 10."""
    before = [sign for sign in said[max(0, start - 8) : start] if not sign.isspace() and sign not in "\"'*_`"]
    if not before or not (before[-1].isalpha() or before[-1] in "/:=.("):
        return False  # soon told: both expressions end with one of these
    if _OUT_OF.search(said, max(0, start - 24), start):
        return True
    return _TOP.search(said, max(0, start - 60), start) is not None


def is_count(said: str, end: int) -> bool:
    """Returns True if words follow a number as what it counts: 3 criteria."""
    return _COUNTED.match(said, end) is not None


def title_of_score(said: str, start: int, end: int) -> Literal["line", "key"] | None:
    """Returns what a score has as its title, with nothing else beside it: a line's (`Rating: 5`), or a key of JSON."""
    title = _TITLE.search(said, max(0, start - 60), start)
    if title is None or not _TITLE_ENDS.match(said, end):
        return None
    return "key" if title["key"] else "line"


def is_within_a_line(said: str, start: int) -> bool:
    """Returns True if a number neither begins its line nor stands behind a title."""
    return _BEGUN.search(said, max(0, start - 100), start) is None
