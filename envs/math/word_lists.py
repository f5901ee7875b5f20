r"""Compares lists of words or letters, which may be within one `\text` or several: `\text{A, C}` and `A,C`."""

from __future__ import annotations

import re

_STYLE = re.compile(r"\\(?:text(?:bf|it|rm|sf)?|mathrm|mathbf)\s?\{([^{}]*)\}")
_AROUND = re.compile(r"\\\{(.*)\\\}")
_BETWEEN = re.compile(r"\s*(?:,\s*and\b|,|;|\band\b)\s*")
_WORD = re.compile(r"\(?([A-Za-z]|[IVXivx]{1,4})\)|([^\W\d_](?:[^\W\d_]|[ '\u2019.-]){0,40})")
_NUMBERS = ["i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii"]
_LETTERS = list("abcdefghijklmnopqrstuvwxyz")
_JUDGED = ({"t", "f"}, {"y", "n"})
"""Letters for true and false, and for yes and no."""
_ORDERS = (
    r"(?:(?<!any\s)(?<!alphabetical\s)(?<!of\s)(?<!first\s)(?<!first-)(?<!second\s)(?<!second-)(?<!same\s)\border\b"
    r"(?!\s(?:to\b|do(?:es)?\s?n[o'\u2019]t|is\s(?:not|un)|of\s(?:operations|magnitude|each)|\d))"
    r"|\b(?:rank|arrange|sort|respectively)\b|\bmatch\s(?:each|every|them)\b|(?-i:(?:\A|[.:]\s{1,3})Match)\b|\b\w{2,9}est\sto\b"
    r"|\bfor\s(?:parts?\s)?\(\w{1,3}\)|\b(?:which|who)\b[^.?]{1,80}\band\s(?:which|who)\b|\bwhich\b[^?]{1,80}\?\s(?:\(?(?:question\s)?\w{1,3}[).:]\s|and\s)?which\b"
    r"|\b(?:which|select)\b[^.?]{0,80}\b(?:blanks?|(?:match(?:es)?\s(?:each|every)|corresponds?\sto\s(?:each|every)|(?:for|in)\seach|fill)\b|first,?\s(?:and\s)?(?:then\s)?second)\b)"
)
_ASKS_FOR_ORDER = re.compile(
    rf"{_ORDERS}|\b(?:sequence|blanks?|clockwise|path|pair|next|missing|corresponds?|corresponding"
    r"|(?:is|does|for|to|with|classify|label|identify)\seach|left\sto\sright|top\sto\sbottom|first,?\s(?:and\s)?second)\b",
    re.IGNORECASE,
)
"""Words of a question with which the places of a list's letters are, or may be, a part of the answer."""
_IS_ORDERED = re.compile(_ORDERS, re.IGNORECASE)
_ASKS_FOR_ALL = re.compile(
    r"\b(?:which\s(?:(?:\w+\s)?of\s(?:the\s(?:following|above|statements|options|choices|answers)|these|them)|(?:\w+\s)?(?:statements?|options?|choices?|conclusions?|claims?))\b|(?:that|which)\sapply\b|select\b"
    r"|\bwhich\s(?:answers|ones)\b|(?:choose|check|mark|circle|identify|find|list|name|determine|give)\sall\b)",
    re.IGNORECASE,
)
"""Words of a question that asks which of several options are so: those are in no order."""
_SPACE = re.compile(r"\\(?:q?quad(?![A-Za-z])|[ ,;:!])|[~$]")
_SHORT_WORDS = frozenset(["no", "up", "on", "in", "at", "of", "by", "to", "or", "if", "we", "he", "it", "is"])
_GENES = re.compile(r"(?i:([a-z])\1)|[a-z][A-Z]")
_SYMBOL = re.compile(r"[A-Z][a-z]")
_CAPITALS = re.compile(r"[A-Z]{2}")


def are_same_lists(expected: str, answer: str, question: str) -> bool:
    """Says whether two bare expressions are the same words, two or more, of which one has a style of text. Letters and Roman
    numbers of options are in any order if the question asks which of several are so, or if the expected ones are in theirs
    and it asks for no order, as `Match each ...` does; other words, which may be one for each part of the question, are in the same.
    """
    if not _STYLE.search(expected) and not _STYLE.search(answer):
        return False  # they may be products of variables
    wanted, given = _words(expected), _words(answer)
    if wanted is None or given is None:
        return False
    if _has_both_cases(wanted) or _has_both_cases(given):
        return wanted == given
    if _are_in_no_order(wanted, question):
        return sorted(map(str.casefold, wanted)) == sorted(map(str.casefold, given))
    return len(wanted) == len(given) and all(map(_is_same, wanted, given))


def _are_in_no_order(words: list[str], question: str) -> bool:
    """Says whether the words of a list are letters or numbers of options, and not of true and false, that are in any order:
    the question asks which of several are so, or they are in their order and it asks for none.
    """
    marks = [word.casefold() for word in words]
    every = next((every for every in (_LETTERS, _NUMBERS) if set(marks) <= set(every)), None)
    if every is None or len(set(marks)) < len(marks) or any(one.issuperset(marks) for one in _JUDGED):
        return False
    if _ASKS_FOR_ALL.search(question) and not _IS_ORDERED.search(question):
        return True
    return marks == [one for one in every if one in marks] and not _ASKS_FOR_ORDER.search(question)


def _is_same(word: str, given: str) -> bool:
    """Says whether two words are the same but for letter case, which counts in genes (`Aa`, `aB`) and between symbols and
    capitals: `Co` is no `CO`.
    """
    if word.casefold() != given.casefold() or _GENES.fullmatch(word) or _GENES.fullmatch(given):
        return word == given
    pairs = ((word, given), (given, word))
    is_symbol = any(_SYMBOL.fullmatch(one) and _CAPITALS.fullmatch(other) for one, other in pairs)
    return not is_symbol or word.casefold() in _SHORT_WORDS


def _words(text: str) -> list[str] | None:
    """Returns the words of a list; None if it is something else, or a single word."""
    plain = " ".join(_SPACE.sub(" ", _STYLE.sub(r"\1", text)).split())
    inside = _AROUND.fullmatch(plain)
    parts = _BETWEEN.split(inside[1].strip() if inside else plain)
    found = [word for part in parts if (word := _WORD.fullmatch(part)) is not None]
    words = [(word[1] or word[2]).rstrip(".") for word in found]
    return words if len(words) == len(parts) > 1 else None


def _has_both_cases(words: list[str]) -> bool:
    letters = {word for word in words if len(word) == 1}
    return len({letter.casefold() for letter in letters}) < len(letters)
