"""Shortens what a verdict shows of an answer."""

from __future__ import annotations

from typing import Any

SHOWN = 80
"""Largest number of characters of an expression that a verdict shows."""


def short(written: Any) -> str:
    """Returns an answer, or a value that was read of it, as a text of SHOWN characters at most and three dots."""
    text = str(written)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
