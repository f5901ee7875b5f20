"""Finds the value with which an answer without a box ends, where math-verify would read another one."""

from __future__ import annotations

import re

from ray_gym.envs.math.amounts import equal_percentages, is_one
from ray_gym.envs.math.compound import compound_of, last_quantities
from ray_gym.envs.math.dress import NO_REAL
from ray_gym.envs.math.notation import bare_expression, tidy
from ray_gym.envs.math.number_words import in_words
from ray_gym.envs.math.units import split_quantity
from ray_gym.envs.math.words import announced_words

LAST = 150
"""Number of characters at the end of an answer in which several quantities are looked for."""
_LAST_VALUE = re.compile(
    r"(?s:.*(?:[:=]|\b(?:is|are|equals|costs|takes|lasts|weighs|about|approximately|roughly)\b))?\s*([^\s:=][^:=\n]{0,60})\Z"
)
"""End of an answer: all of it, or what stands behind a colon, an equals sign or such a word."""
_SEVERAL = re.compile(r"-?\d+(?:\.\d+)?(?:,\s*-?\d+(?:\.\d+)?)*,?\s+and\s+-?\d+(?:\.\d+)?")
"""Several numbers, of which the last stands behind `and`."""
_MARKDOWN = re.compile(
    r"^(?:-{3,}|={3,}|_{3,})\s*$|^(?:>\s)+|(?<=\n)-\s|(?:(?<=[A-Za-z]{2})|(?<=/[A-Za-z]))!(?=\s*\Z)", re.MULTILINE
)
"""Rule, mark of a quotation, or bullet; and an exclamation mark behind a unit."""
_MARKED = re.compile(r"(?:\$([^$]{1,60})\$|\\\(([^()]{1,60}?)\\\)|\*\*([^*]{1,60})\*\*)(?=\s?[A-Za-z])")
"""Value with marks of mathematics or Markdown around it, before a plain unit."""
_ONLY_IN_LATEX = re.compile(
    r"[-+]?\d*\.?\d+\s?(?:\\times|\\cdot|\*)\s?10\s?\^\s?(?:-?\d+|\{\s?-?\d+\s?\})|(?:[-+]?\d*\.?\d+\s?[-+]\s?)?[-+]?\d*\.?\d*i"
)
"""Numbers with a power of ten, and complex ones, of which math-verify reads a part only, unless dollar signs say that they
are LaTeX.
"""
_E_NOTATION = re.compile(r"[-+]?\d+(?:\.\d+)?[eE][-+]?\d+[.*`\s]*")


def last_value(expected: str, said: str, question: str) -> str | None:
    """Returns what an answer without a box ends with, if that is a number in words or with a power of ten,
    several quantities where one value is expected, several numbers of which the last stands behind `and`, words or a
    quantity where such are expected, or a percentage that the question asks for; None if it ends otherwise.
    """
    if (words := announced_words(expected, said)) is not None:
        return words
    if compound_of(expected) or is_one(expected):
        several = last_quantities(tidy(said[-LAST:]))
        if several is not None:
            return several
    found = _LAST_VALUE.match(_MARKDOWN.sub("", said).strip())
    if found is None:
        return None
    plain = without_marks(found[1])
    if "," in expected and _SEVERAL.fullmatch(plain := plain.strip(" *`.")):
        return re.sub(r",?\s+and\b", ",", plain)
    end = bare_expression(plain)
    is_quantity = split_quantity(expected) is not None and split_quantity(end) is not None
    is_number = in_words(end) is not None or _ONLY_IN_LATEX.fullmatch(end) or _E_NOTATION.fullmatch(found[1])
    is_percentage = equal_percentages(expected, end, question) is not None
    are_none = end in (NO_REAL, "\\emptyset") and expected in (NO_REAL, "\\emptyset")
    if is_quantity:
        return end
    return found[1] if is_number or is_percentage or are_none else None


def without_marks(text: str) -> str:
    """Returns a text without the marks of mathematics and Markdown around values that plain units follow."""
    return _MARKED.sub(lambda found: next(filter(None, found.groups())), text)


def tagged_part(answer: str) -> str:
    """Returns what stands between the last tags `<answer>`; the whole answer if it has none."""
    return answer.rpartition("<answer>")[2].partition("</answer>")[0].strip()
