r"""Finds the expression with which an answer without a box ends: `The answer is $v_{\text{max}}$.`"""

from __future__ import annotations

import re

from ray_gym.envs.math.last_letter import GREEK
from ray_gym.envs.math.relations import EQUALS
from ray_gym.envs.math.unit_table import powers_of
from ray_gym.envs.math.units import SYMBOL
from ray_gym.graders.denials import NOT

_TEXT = r"\\(?:text\w*|math\w*|operatorname|mbox|begin|end)\s?\{[^{}]*\}"
_FUNCTION = r"(?:pi|sqrt|log|ln|sin|cos|tan|exp)(?![A-Za-z])"
_LETTERS = (
    rf"(?<=[\d\s)}}*/])(?:{_FUNCTION}|{SYMBOL}(?![A-Za-z]))|(?<=\d)[A-Za-z]{{2}}(?![A-Za-z])|[A-Za-z](?![A-Za-z]|\s*\d)"
)
_SIGN = (
    r"(?:[\d_\u00b2\u00b3\u00b9\u0370-\u03ff\u2070-\u209c\u2102-\u22ff\U0001d6a8-\U0001d7cb]|[^\w\\$:?#\n\u2032\u2033])"
)
"""Digit, Greek letter, or sign: all that is no letter of a word."""
_BARE = rf"{_TEXT}|(?!{_TEXT})\\[A-Za-z]++|\\[^A-Za-z]|{_LETTERS}|{_SIGN}|(?<=\d):(?=\d(?!\d))|(?<=\d\s):(?=\s\d(?!\d))"
"""Part of an expression: a colon only in a ratio, and no word but the symbol of a unit."""
_BEFORE = (
    r"(?:\A|\n|:(?!\s?\d)|(?<!\d)(?<!\d\s):|(?<![<>!=~/])="
    r"|\b(?:is|are|equals|satisf(?:y|ies)|have|get)\b|\b(?i:so|then|thus|hence|therefore)\b(?:,(?=\s)(?!\s*(?:\$|\\[(\[])))?+"
    r"|(?<=[A-Za-z]{2}[\s,])(?:[\u2013\u2014]\s)?(?=[^=:$\n]{0,40}?[A-Za-z][^=:$\n]{0,40}=))"
)
_SYMBOLS = r"\u2022\u25a0-\u2795\u2797-\u27bf\ufe0f\U0001f300-\U0001faff"
_DASHES = r"\u2013\u2014\u2796"
"""Dashes, which before an expression are a minus."""
_MARK = rf"(?:[\s*#`\u2192\u21d2\u27f9\u2234{_SYMBOLS}]|[-=]{{1,3}}>|(?<![^\n>])>|(?<=\n)-\s|(?<![^\n])-\s(?=\u2013))"
_ENDS = (
    rf"(?:[\s.*`~\u3002\u220e{_SYMBOLS}{_DASHES}]|(?<=\n)(?:-{{3,}}|={{3,}}|_{{3,}})"
    r"|(?:(?<=[A-Za-z]{2})|(?<=/[A-Za-z])|(?<=[%\u00b0*$`]))!)"
)
"""Mark behind an expression that is no part of it: Markdown's, a full stop, a tick."""
_FURTHEST = 300
"""Number of characters at the end of an answer in which its expression is looked for."""
_LAST = re.compile(
    rf"{_BEFORE}{_MARK}{{0,9}}(?:\([A-Ea-e]\)\s{{1,3}})?"
    r"(?:\$\$?([^$]{1,200})\$\$?|\\\(((?:(?!\\[()]).){1,200})\\\)|\\\[((?:(?!\\[\[\]]).){1,200})\\\]"
    rf"|((?![\s*$:]|[-=]{{1,3}}>)(?:{_BARE}){{1,80}}?)){_ENDS}{{0,9}}\Z",
    re.DOTALL,
)
_MORE = re.compile(
    r"\u2248|\\approx|[\u2192\u21d2]|\\(?:to|(?:Long)?[rR]ightarrow)(?![A-Za-z])|\d!\Z|\.\s|(?<=[\w)}%$\u00b0])\s\([^()]*\)\Z|[,;][^,;]*="
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
_UNIT_WORDS = re.compile(
    r"(?:(?<=[\d)}\u03c0])|(?<=pi))\s{1,3}(?P<unit>[A-Za-z](?:[A-Za-z ./]|\^\d|[\u00b2\u00b3]){2,40}?)[\s.*]{0,9}\Z"
)
_SIGNS_ALONE = re.compile(r"(?!(?:\\?\{\s*\\?\}|[-+/<>=])\Z)(?:[-\s.,;:+*/^_(){}\[\]|!'\"`~%=<>]|\\[^A-Za-z])*")
"""Signs that are no answer, as an empty set and one operator or relation are."""
_VARIABLE = re.compile(
    rf"(?:\\(?!(?:{GREEK})(?![A-Za-z]))[A-Za-z]+|{_FUNCTION}|(?P<name>(?:\\[A-Za-z]+|(?![\u00aa-\u00be\u2070-\u209c])[^\W\d_\u03c0]|[\u220f\u2211\u222b])"
    r"(?:_(?:\w|\{(?:[^{}]|\{[^{}]*\})*\})|[\d\u2080-\u2089])?))"
)
_SAID_TO_BE = re.compile(r"(?:=|(?<!equation )\b(?:is|are|equals))[\s*$:(\[\\]*\Z")
_MATHEMATICS = re.compile(r"\$|\\[()\[\]]")
_AROUND = re.compile(r"\s*([-+*/^=(){}])\s*")
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
    *names, value = EQUALS.split(expression)
    is_value = len(names) > 1 or (names and _NAME.fullmatch(names[0]))
    return value.strip() if is_value and not re.search(r"[,;]\s", expression) else expression


def value_of(said: str, expression: str, question: str) -> str:
    """Returns the value behind the equals sign of the expression with which an answer ends; all of it where it may be an
    equation that is still to be solved: one with a variable on the left, once, which the question does not ask for, and
    the answer does not name (`Area = s^2 = 9`, `The sum is 2n + 1 = 9`).
    """
    left, *values = EQUALS.split(expression)
    if len(values) != 1 or re.search(r"[,;]\s", expression):
        return without_name(expression)
    variables = [found["name"] for found in _VARIABLE.finditer(left) if found["name"]]
    is_value = len(variables) != 1 or _SAID_TO_BE.search(_before(said, expression)) or _asks_for(question, left)
    return values[0].strip() if is_value else without_name(expression)


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
    end: str | None = next(filter(None, found.groups())) if found else None
    if end is None or _SIGNS_ALONE.fullmatch(end) or not is_closed(end):
        return None
    return end


def is_left_open(said: str, end: str) -> bool:
    """Says whether the last sentence of an answer denies the expression with which it ends, or gives it as one of several."""
    before = _before(said, end)[-_FURTHEST:]
    return _NOT_ALONE.search(_SENTENCE.split(before)[-1]) is not None


def is_closed(expression: str) -> bool:
    """Says whether as many brackets and environments are opened as closed, but for a last box. Brackets of an interval may be
    of two kinds.
    """
    plain = re.sub(r"\\(?:boxed|fbox)\s?\{|\\.", "", expression)
    counts = [sum(map(plain.count, kinds)) for kinds in ("([", ")]", "{", "}")]
    is_whole = expression.count(r"\begin") == expression.count(r"\end")
    return is_whole and counts[0] == counts[1] and counts[2] == counts[3]


def _before(said: str, end: str) -> str:
    return said[: said.rindex(end)]


def _asks_for(question: str, left: str) -> bool:
    """Says whether an expression stands alone in a question, and not as a side of an equation."""
    plain, sought = (_AROUND.sub(r"\1", _MATHEMATICS.sub(" ", text)) for text in (question, left))
    return re.search(rf"(?<![\w+*/^=-]){re.escape(sought.strip())}(?![\w+*/^=(-])", plain) is not None
