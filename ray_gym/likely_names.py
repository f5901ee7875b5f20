"""Finds the name that is probably meant by one that is not known."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

LIKE = 0.65
"""Likeness (of `difflib`) from which a word may be another one misspelt."""
ALIKE = 0.85
"""Likeness from which a whole name may be another one with its words put together or apart."""
_BETWEEN = re.compile(r"[^A-Za-z0-9]+")


def nearest_name(given: str, known: Iterable[str]) -> str | None:
    """Returns the known name that begins as the given one does (`max_steps` for `max_steps_per_turn`), or else the one
    whose letters are nearest, if each of its words may be a given one misspelt, or if it only has more or fewer of them.
    Returns None if there is none: names that have only some words in common (`max_tokens` and `max_turns`) mean different
    things.
    """
    names = [name for name in known if name != given]
    near = difflib.get_close_matches(given, names, n=len(names) or 1, cutoff=0.5)
    longer = [name for name in names if len(given) > 1 and name.startswith(given)]
    return next((name for name in [*longer, *near] if _may_be(given, name)), None)


def _may_be(given: str, known: str) -> bool:
    """Says whether the words that only one of two names has may be misspelt words of the other, or further ones."""
    words, others = ([word for word in _BETWEEN.split(name.lower()) if word] for name in (given, known))
    own = [word for word in words if word not in others]
    theirs = [word for word in others if word not in words]
    if len(own) < len(words) and (not own or not theirs):
        return True
    is_alike = difflib.SequenceMatcher(None, "".join(words), "".join(others)).ratio() >= ALIKE
    return is_alike or (bool(own) and all(_is_among(word, theirs) for word in own))


def _is_among(word: str, others: list[str]) -> bool:
    """Says whether a word may be one of some others, misspelt or short for it."""
    is_short = any(other.startswith(word) for other in others)
    return is_short or bool(difflib.get_close_matches(word, others, n=1, cutoff=LIKE))
