r"""Finds the expression with which an answer without a box ends: `The answer is $v_{\text{max}}$.`"""

from __future__ import annotations

import re

from ray_gym.envs.math.unit_table import powers_of
from ray_gym.envs.math.units import SYMBOL
from ray_gym.graders.denials import NOT

_TEXT = r"\\(?:text\w*|math\w*|operatorname|mbox|begin|end)\s?\{[^{}]*\}"
_FUNCTION = r"(?:pi|sqrt|log|ln|sin|cos|tan|exp)(?![A-Za-z])"
_LETTERS = (
    rf"(?<=[\d\s)}}*/])(?:{_FUNCTION}|{SYMBOL}(?![A-Za-z]))|(?<=\d)[A-Za-z]{{2}}(?![A-Za-z])|[A-Za-z](?![A-Za-z]|\s*\d)"
)
_SIGN = (
    r"[-\d .,;+*/^_(){}\[\]|!'\"%=<>\u00b0\u00b1\u00b2\u00b3\u00b7\u00b9\u00d7\u0370-\u03ff\u2070-\u209c\u2150-\u22ff]"
)
_BARE = rf"{_TEXT}|(?!{_TEXT})\\[A-Za-z]++|\\[^A-Za-z]|{_LETTERS}|{_SIGN}|(?<=\d):(?=\d(?!\d))|(?<=\d\s):(?=\s\d(?!\d))"
"""Part of an expression: a colon only in a ratio, and no word but the symbol of a unit."""
_BEFORE = (
    r"(?:\A|\n|:(?!\s?\d)|(?<!\d)(?<!\d\s):|(?<![<>!=~/])="
    r"|\b(?:is|are|equals|(?i:so|then|thus|hence|therefore)|satisf(?:y|ies)|have|get)\b"
    r"|(?<=[A-Za-z]{2}[\s,])(?=[^=:$\n]{0,40}?[A-Za-z][^=:$\n]{0,40}=))"
)
_MARK = r"(?:[\s*#\u2192\u21d2\u27f9\u2234]|[-=]>|(?<=\n)>)"
_FURTHEST = 300
"""Number of characters at the end of an answer in which its expression is looked for."""
_LAST = re.compile(
    rf"{_BEFORE}{_MARK}{{0,9}}(?:\([A-Ea-e]\)\s{{1,3}})?"
    r"(?:\$\$?([^$]{1,200})\$\$?|\\\(((?:(?!\\[()]).){1,200})\\\)|\\\[((?:(?!\\[\[\]]).){1,200})\\\]"
    rf"|((?![\s*$:]|[-=]>)(?:{_BARE}){{1,80}}?))[\s.*]{{0,9}}\Z",
    re.DOTALL,
)
_MORE = re.compile(
    r"\u2248|\\approx|[\u2192\u21d2]|\\(?:to|(?:Long)?[rR]ightarrow)(?![A-Za-z])|\d!\Z|\.\s|\s\([^()]*\)\Z|[,;][^,;]*="
)
"""Rounded value, further step or equation, exclamation mark, or remark in brackets behind a value."""
_TWO_VALUES = re.compile(r"([A-Za-z])\s?=[^=]*[,;]\s*\1\s?=[^=]*")
"""Two values of one name."""
_NOT_ALONE = re.compile(
    rf"{NOT}|\b(?:never|either|neither|cannot|rul\w+ out|contradict\w*|exclude\w*|excluding|reject\w*)\b"
    r"|=[^=]{1,60}\b(?:or|and)\s{1,3}\Z",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[!?;\n]|\.\s")
_EQUALS = re.compile(r"(?<![<>!=:])=(?!=)")
_UNIT_WORDS = re.compile(
    r"(?:(?<=[\d)}\u03c0])|(?<=pi))\s{1,3}(?P<unit>[A-Za-z](?:[A-Za-z ./]|\^\d|[\u00b2\u00b3]){2,40}?)[\s.*]{0,9}\Z"
)
_NAME = re.compile(r"\\?[A-Za-z]{1,9}(?:_(?:\w|\{[^{}]*\}))?\s*")
_UNIT = re.compile(
    r"(?P<value>.*?[\d)}](?![\d.,]))[\s~]{0,3}(?:\\text\w*\s?\{[^{}]*\}|(?P<symbol>[^\W\d_][^=(){}\\]{0,20}))"
)


def may_have_more(expression: str) -> bool:
    """Says whether an expression may be a value with more behind it that is no part of it: the value rounded, an exclamation
    mark, another step or equation, or a remark in brackets.
    """
    return _MORE.search(expression) is not None and _TWO_VALUES.fullmatch(expression) is None


def without_name(expression: str) -> str:
    """Returns the value of an expression without the name, or the chain of equations, before it (`v = d/t = 5 m`)."""
    *names, value = _EQUALS.split(expression)
    is_value = len(names) > 1 or (names and _NAME.fullmatch(names[0]))
    return value.strip() if is_value and not re.search(r"[,;]\s", expression) else expression


def without_unit_words(said: str) -> str:
    """Returns an answer without the words of a unit with which it ends (`36π cubic inches`); others as they are."""
    found = _UNIT_WORDS.search(said, max(0, len(said) - _FURTHEST))
    return said if found is None or powers_of(found["unit"].rstrip(" .")) is None else said[: found.start()]


def without_last_unit(expression: str) -> str:
    """Returns an expression without the unit, or the words in LaTeX's text, at its end; others as they are."""
    found = _UNIT.fullmatch(expression)
    if found is None or (found["symbol"] and powers_of(found["symbol"]) is None):
        return expression
    return found["value"]


def last_expression(said: str) -> str | None:
    """Returns the expression with which an answer ends, if it is all of it or of its last line, or stands behind a colon, an
    equals sign, `is`, `so` and the like; None if it ends otherwise. One that no marks of mathematics are around has no words
    but symbols of units.
    """
    found = _LAST.search(said, max(0, len(said) - _FURTHEST))
    end = next(filter(None, found.groups())) if found else None
    return end if end is not None and _is_closed(end) else None


def is_left_open(said: str, end: str) -> bool:
    """Says whether the last sentence of an answer denies the expression with which it ends, or gives it as one of several."""
    before = said[: said.rindex(end)][-_FURTHEST:]
    return _NOT_ALONE.search(_SENTENCE.split(before)[-1]) is not None


def _is_closed(expression: str) -> bool:
    """Says whether as many brackets are opened as closed, but for a last box. Those of an interval may be of two kinds."""
    plain = re.sub(r"\\(?:boxed|fbox)\s?\{|\\.", "", expression)
    counts = [sum(map(plain.count, kinds)) for kinds in ("([", ")]", "{", "}")]
    return counts[0] == counts[1] and counts[2] == counts[3]
