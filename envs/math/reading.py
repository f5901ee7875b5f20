"""Reads the values of an expression by math-verify."""

from __future__ import annotations

import re
from typing import Any

from math_verify import ExprExtractionConfig, LatexExtractionConfig, parse

from ray_gym.envs.math.mixed import without_mixed_numbers
from ray_gym.envs.math.notation import tidy, without_marks
from ray_gym.envs.math.number_words import with_digits
from ray_gym.envs.math.percentages import percentage_of
from ray_gym.envs.math.whole import END, kept_whole

_FORMS = (LatexExtractionConfig(boxed_match_priority=0), ExprExtractionConfig())
"""Forms that are read: LaTeX and plain expressions. A box has priority."""
_RULE = re.compile(r"^(?:-{3,}|={3,}|_{3,})\s*$", re.MULTILINE)


def read_alone(expression: str, ends_in_letter: bool = False) -> list[Any]:
    """Returns the values of an expression that makes up the whole text, and behind them the text that was read; an empty list
    if there are none. A percentage is read as plain text, because % begins a comment in LaTeX. `ends_in_letter`: see
    `kept_whole`.
    """
    percent = percentage_of(expression)
    read = _read(f"{percent}%" if percent else f"\\boxed{{{kept_whole(expression, ends_in_letter)}}}")
    return [part.removesuffix(END) if isinstance(part, str) else part for part in read]


def read_within(text: str, counted: frozenset[str]) -> list[Any]:
    """Returns the same as `read_alone` does, for the last expression of a text. `counted`: words that the question counts."""
    return _read(without_mixed_numbers(with_digits(tidy(without_marks(_RULE.sub("", text))), counted), in_prose=True))


def _read(text: str) -> list[Any]:
    found: list[Any] = parse(text, _FORMS, parsing_timeout=None)
    return found
