"""Words in a text: 'END' is not said by 'WEEKEND', nor 'resolved' by 'unresolved'."""

from __future__ import annotations

import re


def has_words(text: str, words: str, *, any_case: bool = False) -> bool:
    """Whether the words stand in the text by themselves, not inside of longer ones.

    What begins or ends with something else than a letter, a digit or an underscore (`<done>`) is found next to anything there.
    """
    if any_case:
        text, words = text.casefold(), words.casefold()
    before = r"(?<!\w)" if re.match(r"\w", words) else ""
    after = r"(?!\w)" if re.search(r"\w\Z", words) else ""
    return bool(words) and re.search(before + re.escape(words) + after, text) is not None
