"""Rewrites mixed numbers, whose parts stand side by side without a sign, and so look like products."""

from __future__ import annotations

import re

_WHOLE = r"(?<![\w.^}\])])(?<!\\sqrt )(?:(?<!\d,)|(?!\d{3}(?!\d)))(\d{1,3}(?:,\d{3})+|\d+)"
"""Whole number that is no power and no part of a longer number."""
_LATEX = r"\\[dtc]?frac\s?(?:\{\s?(\d+)\s?\}|(\d))\s?(?:\{\s?(\d+)\s?\}|(\d))"
_MIXED = re.compile(rf"{_WHOLE}\s{{0,3}}(?:\{{\s?{_LATEX}\s?\}}|{_LATEX})(?!\s?\^)")
_FRACTION = r"\frac{{{}}}{{{}}}"
_PLAIN = re.compile(rf"(?<!\d ){_WHOLE} {{1,3}}(\d+) ?/ ?(\d+)(?![\d.,]*\d|\s?[\^/])")
_BY_A_BRACKET = re.compile(rf"(?<=\d)\s{{0,3}}(?=(?:\\left\s?)?\(\s?(?:\d+\s?/\s?\d+|{_LATEX})\s?(?:\\right\s?)?\))")
r"""Place between a number and a fraction in round brackets, as in `2(1/2)`."""


def without_mixed_numbers(text: str, in_prose: bool = False) -> str:
    r"""Returns a text whose mixed numbers are fractions: `2\frac{1}{2}` is `\frac{5}{2}`, and so is `2 1/2`, which
    `in_prose` is `5/2`. A number before a fraction in brackets gets the sign of a product.

    A mixed number is a whole number before a fraction below 1. Other numbers side by side stay as they are.
    """
    latex = _MIXED.sub(lambda found: _improper(found, _FRACTION), _BY_A_BRACKET.sub(r" \\cdot ", text))
    return _PLAIN.sub(lambda found: _improper(found, "{}/{}" if in_prose else _FRACTION), latex)


def _improper(found: re.Match[str], form: str) -> str:
    whole, over, under = (int(part.replace(",", "")) for part in found.groups() if part is not None)
    return form.format(whole * under + over, under) if 0 < over < under else found[0]
