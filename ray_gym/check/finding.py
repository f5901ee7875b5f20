"""What a check finds: where, what, and how to mend it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    where: str
    what: str
    mend: str


def shortened(text: str, length: int = 160) -> str:
    """For messages: on one line, and printable whatever is in it."""
    plain = " ".join(text.encode("utf-8", "backslashreplace").decode().split())
    return plain if len(plain) <= length else f"{plain[:length]}... ({len(text)} characters)"
