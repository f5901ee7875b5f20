"""Replaces escapes in JSON text that spell half of a surrogate pair by "?". Servers and models write them where they cut a
text (Python's and Node's writers of JSON let them pass), and strict readers of JSON refuse the whole text for one.
"""

from __future__ import annotations

import re

_HIGH, _LOW = r"u[dD][89abAB][0-9a-fA-F]{2}", r"u[dD][c-fC-F][0-9a-fA-F]{2}"
_ESCAPE = re.compile(rf"\\(?:{_HIGH}\\{_LOW}|(?P<half>{_HIGH}|{_LOW})|.)", re.DOTALL)
_SECOND = r"\\(?:u(?:[dD](?:[c-fC-F][\da-fA-F]?)?)?)?"
_BEGUN = re.compile(rf"\\(?:u(?:[dD](?:[c-fC-F][\da-fA-F]?|[89abAB](?:[\da-fA-F](?:[\da-fA-F](?:{_SECOND})?)?)?)?)?)?")
"""Beginning of a pair."""
_LONGEST = 11
"""Characters of the longest beginning of a pair."""


def without_halves(text: str) -> str:
    """Returns JSON text in which each escape of half a pair is "?". Whole pairs, and all else, stay as they are."""
    if "\\ud" not in text and "\\uD" not in text:
        return text
    return _ESCAPE.sub(lambda found: "?" if found["half"] else found[0], text)


class HalfPairs:
    """Reads the bytes of JSON text in pieces, in which a pair may be cut."""

    def __init__(self) -> None:
        self._begun = ""

    def feed(self, piece: bytes) -> bytes:
        """Returns the bytes so far that are not yet returned, without half pairs, but for a pair that has only begun."""
        text = self._begun + piece.decode("latin-1")  # a character is a byte
        end = next((found.start() for found in _ESCAPE.finditer(text) if _is_begun(text, found.start())), len(text))
        if end == len(text) and len(text) - len(text.rstrip("\\")) & 1:
            end -= 1
        self._begun = text[end:]
        return without_halves(text[:end]).encode("latin-1")

    def end(self) -> bytes:
        """Returns the rest."""
        return without_halves(self._begun).encode("latin-1")


def _is_begun(text: str, start: int) -> bool:
    """Says whether a text ends with the beginning of a pair, and that at `start`."""
    return start >= len(text) - _LONGEST and _BEGUN.fullmatch(text, start) is not None
