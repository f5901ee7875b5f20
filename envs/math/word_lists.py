r"""Compares lists of words or letters, which may be within one `\text` or several: `\text{A, C}` and `A,C`."""

from __future__ import annotations

import re

_STYLE = re.compile(r"\\(?:text(?:bf|it|rm|sf)?|mathrm|mathbf)\s?\{([^{}]*)\}")
_AROUND = re.compile(r"\\\{(.*)\\\}")
_BETWEEN = re.compile(r"\s*(?:,\s*and\b|,|;|\band\b)\s*")
_WORD = re.compile(r"[^\W\d_](?:[^\W\d_]|[ '\u2019.-]){0,40}")
_LETTERS = re.compile(r"[A-Z](?<![TFYN])")
"""Letter of an option, and not for true or false, or yes or no."""
_ORDERED = re.compile(
    r"\b(?:orders?|match\w*|rank\w*|arrange\w*|sort\w*|list\w*|put|respective\w*|each|first|last|least|(?:a|de)scending|(?:in|de)creasing)\b",
    re.IGNORECASE,
)
"""Words of a question with which the places of a list's items may be a part of the answer."""
_SYMBOL = 2
"""Most letters of what may be a symbol, as of a gene: `Aa` is no `aa`."""
_SPACE = re.compile(r"\\(?:q?quad(?![A-Za-z])|[ ,;:!])|[~$]")


def are_same_lists(expected: str, answer: str, question: str) -> bool:
    """Says whether two bare expressions are the same words, two or more, of which one has a style of text. Letters of options
    are in any order unless the question may ask for one, as in `Match ...`; other words, which may be one for each part of
    the question, are in the same.
    """
    if not _STYLE.search(expected) and not _STYLE.search(answer):
        return False  # they may be products of variables
    wanted, given = _words(expected), _words(answer)
    if wanted is None or given is None:
        return False
    are_options = all(map(_LETTERS.fullmatch, wanted)) and len(set(wanted)) == len(wanted)
    if are_options and not _ORDERED.search(question):
        return sorted(wanted) == sorted(given)
    return wanted == given


def _words(text: str) -> list[str] | None:
    """Returns the words of a list; None if it is something else, or a single word. Letter case counts in symbols alone."""
    plain = " ".join(_SPACE.sub(" ", _STYLE.sub(r"\1", text)).split())
    inside = _AROUND.fullmatch(plain)
    parts = _BETWEEN.split(inside[1].strip() if inside else plain)
    words = [part.rstrip(".") for part in parts if _WORD.fullmatch(part)]
    folded = [word.casefold() if len(word) > _SYMBOL else word for word in words]
    return folded if len(folded) == len(parts) > 1 else None
