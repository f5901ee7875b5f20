"""Refuses what Python's parser of JSON takes for numbers and the standard does not have (RFC 8259, section 6)."""

from __future__ import annotations

from typing import NoReturn


def refuse_constant(name: str) -> NoReturn:
    """Refuses NaN, Infinity and -Infinity, as `parse_constant` of `json.loads`. Errors: ValueError, always."""
    raise ValueError(f"{name} is not a number of JSON")
