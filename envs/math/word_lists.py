r"""Compares lists of words or letters, which may be within one `\text` or several: `\text{A, C}` and `A,C`."""

from __future__ import annotations

import re

_STYLE = re.compile(r"\\(?:text(?:bf|it|rm|sf)?|mathrm|mathbf)\s?\{([^{}]*)\}")
_AROUND = re.compile(r"\\\{(.*)\\\}")
_BETWEEN = re.compile(r"\s*(?:,\s*and\b|,|;|\band\b)\s*")
_WORD = re.compile(r"\(?([A-Za-z]|[IVXivx]{1,4})\)|([^\W\d_](?:[^\W\d_]|[ '\u2019.-]){0,40})")
_NUMBERS = ["i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x"]
_LETTERS = list("abcdefghijklmnopqrstuvwxyz")
_JUDGED = ({"t", "f"}, {"y", "n"})
"""Letters for true and false, and for yes and no."""
_ASKS_FOR_ORDER = re.compile(
    r"(?<!any\s)(?<!alphabetical\s)\border\b(?!\s(?:to\b|do(?:es)?\s?n[o'\u2019]t|is\s(?:not|un)|of\soperations))"
    r"|\b(?:rank|arrange|sort|respectively|sequence|blanks?)\b|\bmatch\s(?:each|every|them)\b|(?-i:(?:\A|[.:]\s{1,3})Match)\b"
    r"|\b(?:is|does|for|classify|label)\seach\b|\b\w{2,9}est\sto\b|\bleft\sto\sright\b|\bfirst,?\s(?:and\s)?second\b",
    re.IGNORECASE,
)
"""Words of a question with which the places of a list's letters are a part of the answer."""
_SPACE = re.compile(r"\\(?:q?quad(?![A-Za-z])|[ ,;:!])|[~$]")
_SHORT_WORDS = frozenset(["no", "up", "on", "in", "at", "of", "by", "to", "or", "if", "we", "he", "it", "is"])
_SYMBOL = 2
"""Number of letters of what may be a symbol, as of a gene or an element, if it is none of these words: `Co` is no `CO`."""


def are_same_lists(expected: str, answer: str, question: str) -> bool:
    """Says whether two bare expressions are the same words, two or more, of which one has a style of text. Letters and Roman
    numbers of options are in any order if the expected ones are in theirs, and the question asks for none, as
    `Match each ...`; other words, which may be one for each part of the question, are in the same.
    """
    if not _STYLE.search(expected) and not _STYLE.search(answer):
        return False  # they may be products of variables
    wanted, given = _words(expected), _words(answer)
    if wanted is None or given is None:
        return False
    return (
        sorted(wanted) == sorted(given)
        if _are_options(wanted) and not _ASKS_FOR_ORDER.search(question)
        else wanted == given
    )


def _are_options(words: list[str]) -> bool:
    """Says whether the words of a list are letters or numbers of options in their order, and not of true and false."""
    marks = [word.casefold() for word in words]
    are_sorted = any(marks == [one for one in every if one in marks] for every in (_LETTERS, _NUMBERS))
    return are_sorted and not any(one.issuperset(marks) for one in _JUDGED)


def _words(text: str) -> list[str] | None:
    """Returns the words of a list; None if it is something else, or a single word. Letter case counts in symbols, and
    where letters differ by it alone.
    """
    plain = " ".join(_SPACE.sub(" ", _STYLE.sub(r"\1", text)).split())
    inside = _AROUND.fullmatch(plain)
    parts = _BETWEEN.split(inside[1].strip() if inside else plain)
    found = [word for part in parts if (word := _WORD.fullmatch(part)) is not None]
    words = [(word[1] or word[2]).rstrip(".") for word in found]
    are_symbols = [len(word) == _SYMBOL and word.casefold() not in _SHORT_WORDS for word in words]
    folded = [word if is_symbol else word.casefold() for word, is_symbol in zip(words, are_symbols, strict=True)]
    letters = {word for word in words if len(word) == 1}
    differ_by_case = len({letter.casefold() for letter in letters}) < len(letters)
    return None if not len(words) == len(parts) > 1 else words if differ_by_case else folded
