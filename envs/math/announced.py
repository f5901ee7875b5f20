"""Finds the value that an answer without a box announces before its end: `The answer is 12. Check: 12 - 5 = 7`."""

from __future__ import annotations

import re
from typing import NamedTuple

from ray_gym.envs.math.last_expression import is_closed, last_expression
from ray_gym.graders.denials import is_disowned

_ANNOUNCES = re.compile(r"\banswers?\b(?:[\s*]*(?:is|are|:|=)|[ *]*\n)[\s*`:]*", re.IGNORECASE)
_SEEKS = re.compile(r"\b(?:find|get|check|verify|compute|calculate|reach|obtain)\s(?:the|an|my|our)\s\Z", re.IGNORECASE)
_FINAL = re.compile(r"\bfinal\s\Z", re.IGNORECASE)
_CLAUSE_ENDS = re.compile(
    r"[.:;?]\s|!\s(?=(?-i:[A-Z\n]))|(?P<named>,\s(?:and\s)?|\sand\s)(?=[\s$(\[{\\]*[A-Za-z]\s?=)"
    r"|,\s(?![-+\s$(\[{\\]*(?:\d|[A-Za-z]\s?=|\\)|(?:and|or)\b)|\n|\s(?=(?-i:[A-Z][a-z]+)\s)"
    r"|\s(?=\([a-z]{2,}\s)|\s[-\u2013\u2014]\s(?=[a-z]{2})"
    r"|(?<![A-Za-z\\])(?=(?:because|since|as|where|when|with|if|for|at|so|thus|hence|therefore|but)\b)",
    re.IGNORECASE,
)
"""Ends of a clause; `named` is one before a value with a name (`, n = 7`)."""
_BEGINS_AS_VALUE = re.compile(r"(?:[\s$(\[{]|\\[({\[]|[A-Za-z]\s?=)*(?:[-+.\u2013\u2212]?\d|\\[A-Za-z])")
_JOINT = re.compile(r"(?:,|\b(?:and|or))\s*\Z")
_CONCLUDES = re.compile(r"\b(?:so|thus|hence|therefore|total)\b", re.IGNORECASE)
_SAYS_WHAT_IS = re.compile(r"\b(?:that|it)(?:\sis|['\u2019]s)\b", re.IGNORECASE)
_TAKES_BACK = re.compile(r"\b(?:but|oops|wait|actually|answers?)\b", re.IGNORECASE)
_SENTENCE = re.compile(r"[.!?;]\s|(?<!:)\n\s*\n")


class Announced(NamedTuple):
    """Holds the value that an answer announces before its end, and what follows it."""

    value: str
    rest: str
    """Text behind the value's clause, which ends with an expression."""
    is_followed: bool
    """Says whether this expression may be the answer, too, as a conclusion or as another value."""


def announced_value(said: str) -> Announced | None:
    """Returns the value of the last announcement of an answer, if another clause follows that ends with an expression; None
    if there is none, or if the author disowns it (`a wrong answer is 9`) or still seeks it (`to find the answer:`).
    """
    start = next(reversed(list(_ANNOUNCES.finditer(said))), None)
    if start is None or is_disowned(said, start.start()) or _SEEKS.search(said, 0, start.start()):
        return None
    value, rest = _first_clause(said[start.end() :])
    is_value = _BEGINS_AS_VALUE.match(value) or (value and last_expression(f"Answer: {value}") == value)
    end = last_expression(rest)
    if not is_value or end is None:
        return None
    sentence = _SENTENCE.split(rest[: rest.rindex(end)])[-1]
    is_final = _FINAL.search(said, 0, start.start()) is not None
    is_conclusion = _SAYS_WHAT_IS.search(sentence) or (_CONCLUDES.search(sentence) and not is_final)
    return Announced(value, rest, bool(is_conclusion or _TAKES_BACK.search(rest)))


def _first_clause(text: str) -> tuple[str, str]:
    """Returns the value with which a text begins, and what is behind its clause. No clause ends within brackets, or before a
    further value with a name if the first has one (`x = 5, y = 7`).
    """
    for found in _CLAUSE_ENDS.finditer(text):
        value = text[: found.start()]
        if is_closed(value) and not (found["named"] and "=" in value):
            return _JOINT.sub("", value).strip(" *`"), text[found.end() :].lstrip(" .,:;!?*`\n")
    return text, ""
