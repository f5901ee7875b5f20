"""Reads percentages, with a sign or in words."""

from __future__ import annotations

import re

_SIGNED = re.compile(r"(-?[\d.,]+)\s*\\?%")
_IN_WORDS = re.compile(r"(-?[\d.,]*\d)\s*(?:\\text\{\s*)?(?:per\s?cent|pct)\s*\}?")
_ASKED = re.compile(r"%|\bper\s?cent|百分", re.IGNORECASE)


def percentage_of(expression: str) -> str | None:
    """Returns the number before the sign of an expression that is a percentage; None for another one."""
    found = _SIGNED.fullmatch(expression)
    return found[1] if found else None


def percentage_in_words(expression: str) -> str | None:
    """Returns the number of an expression that is a percentage in words (`5 per cent`, `5 pct`); None for another one."""
    found = _IN_WORDS.fullmatch(expression)
    return found[1] if found else None


def asks_for_percent(question: str) -> bool:
    """Says whether a question asks for percent."""
    return _ASKED.search(question) is not None
