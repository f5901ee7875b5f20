"""Defines the findings of checks. A finding says where a fault is, what is wrong, and how to mend it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding is one fault of an environment: where it is, what is wrong, and how to mend it."""

    where: str
    what: str
    mend: str


def shorten(text: str, length: int = 160) -> str:
    """Returns a text on one line for messages, with escapes for what UTF-8 can't encode.

    It is cut after `length` characters, and then says how many the text has.
    """
    plain = " ".join(text.encode("utf-8", "backslashreplace").decode().split())
    return plain if len(plain) <= length else f"{plain[:length]}... ({len(text)} characters)"
