"""Takes off what only dresses a value in an answer without a box: quotes, emphasis, brackets and arrows."""

# ruff: noqa: RUF001

from __future__ import annotations

import re

from ray_gym.envs.math.number_words import cardinal
from ray_gym.envs.math.units import PLAIN_NUMBER

_BEGINS = r"[-+\u2212]?[$\\.\d]"
"""Beginning of a value."""
_TAGS = re.compile(r"<(b|strong|i|em|u|code|mark)>([^<>\n]{1,200})</\1>")
_EMPHASIS = re.compile(rf"(?<![\w*_)\]}}])(?<![\d)]\s)(\*|__?)(?={_BEGINS})([^*_\n]{{1,200}})(?<=\S)\1(?![\w(*])")
_QUOTES = re.compile(
    rf"(?<![\w)}}\]'\"^])(?:\"(?={_BEGINS})([^\"\n]{{1,60}})\"|'(?={_BEGINS})([^'\n]{{1,60}})'"
    rf"|[“‘«「『„](?={_BEGINS})([^”’»」』“\n]{{1,60}})[”’»」』“])(?![\w'\"])"
)
_ARROW = re.compile(rf"(?:[→⇒⟹]|(?<![A-Za-z<])(?<!\b[A-Za-z]\s)={{1,4}}>)(?={_BEGINS})")
_COLON = re.compile(rf"(?<=[A-Za-z*])[:：](\*{{0,2}})(?=(?:\*\*)?{_BEGINS})(?!\d+:\d)")
_PLUS = re.compile(r"((?:\A|\b(?:is|are|equals)|[:=])\s{0,3})\+(?=[\d.])")
_BRACKETS = re.compile(
    rf"(\A|\b(?:is|are|equals|answer)\s|:\s)([A-Za-z]{{3,9}}(?:[ -][a-z]{{3,5}})?\s)?\(({PLAIN_NUMBER.pattern})\)(?![\w^(!])",
    re.IGNORECASE,
)
"""Number in brackets that is all of an answer, also behind itself in words."""


def without_quotes(text: str) -> str:
    """Returns a text whose values have no quotes, tags, emphasis, arrows, brackets or plus of their own around or before
    them, and a space behind a colon: `The answer is:“12”.` becomes `The answer is: 12.`
    """
    plain = _TAGS.sub(r"\2", text)
    plain = _EMPHASIS.sub(r"\2", _COLON.sub(r":\1 ", plain))
    plain = _QUOTES.sub(lambda found: found[1] or found[2] or found[3], plain)
    return _BRACKETS.sub(_without_brackets, _PLUS.sub(r"\1", _ARROW.sub(" ", plain).strip()))


def _without_brackets(found: re.Match[str]) -> str:
    is_itself = not found[2] or str(cardinal(found[2])) == found[3]
    return f"{found[1]}{found[3]}" if is_itself else found[0]
