"""Finds whole words in a text: 'END' is not found in 'WEEKEND', nor 'resolved' in 'unresolved'."""

from __future__ import annotations

import re
import unicodedata

_WITHOUT_SPACES = frozenset({"CJK", "HIRAGANA", "KATAKANA", "BOPOMOFO", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN"})


def has_words(text: str, words: str, *, any_case: bool = False) -> bool:
    """Says whether a text contains the given words by themselves, not as part of longer words.

    Words that begin or end with something else than a letter, a digit or an underscore (`<done>`) are found next to
    anything there. The same holds for words that begin or end in a script that sets no spaces between words, and for any
    words beside such a script (`完了DONE`).
    `any_case`: True ignores the case. Empty words are never found.
    """
    if any_case:
        text, words = text.casefold(), words.casefold()
    if not words:
        return False
    goes_on_before, goes_on_behind = _is_set_apart(words[0]), _is_set_apart(words[-1])
    return any(
        not (goes_on_before and found.start() and _is_set_apart(text[found.start() - 1]))
        and not (goes_on_behind and _is_set_apart(text[found.start() + len(words) : found.start() + len(words) + 1]))
        for found in re.finditer(f"(?={re.escape(words)})", text)
    )


def _is_set_apart(letter: str) -> bool:
    """Says whether a letter belongs to words that spaces set apart."""
    if re.match(r"\w", letter) is None:
        return False
    return unicodedata.name(letter, "").split(" ")[0] not in _WITHOUT_SPACES
