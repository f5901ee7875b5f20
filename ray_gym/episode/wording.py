"""Finds whole words in a text: 'END' is not found in 'WEEKEND', nor 'resolved' in 'unresolved'."""

from __future__ import annotations

import re
import unicodedata

_WITHOUT_SPACES = frozenset({"CJK", "HIRAGANA", "KATAKANA", "BOPOMOFO", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN"})


def has_words(text: str, words: str, *, any_case: bool = False) -> bool:
    """Says whether a text contains the given words by themselves, not as part of longer words.

    Words that begin or end with something else than a letter, a digit or an underscore (`<done>`) are found next to
    anything there. The same holds for words that begin or end in a script that sets no spaces between words.
    `any_case`: True ignores the case. Empty words are never found.
    """
    if any_case:
        text, words = text.casefold(), words.casefold()
    if not words:
        return False
    before = r"(?<!\w)" if _is_set_apart(words[0]) else ""
    after = r"(?!\w)" if _is_set_apart(words[-1]) else ""
    return re.search(before + re.escape(words) + after, text) is not None


def _is_set_apart(letter: str) -> bool:
    """Says whether a letter belongs to words that spaces set apart."""
    if re.match(r"\w", letter) is None:
        return False
    return unicodedata.name(letter, "").split(" ")[0] not in _WITHOUT_SPACES
