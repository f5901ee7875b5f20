"""Tells whether the words behind a letter take it back: they call it wrong, or name another option's text."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ray_gym.envs.mcqa.dress import normalised
from ray_gym.graders.denials import NOT, WRONG, is_called_wrong

_OPTIONS = r"(?:the\s)?(?:(?:options?|choices?|answers?)\s)?"
_SOME_LETTERS = r"[(\[]?[A-Z]\b[)\]]?(?:(?:,|,?\s(?:and|or|nor)|\s&)\s[(\[]?[A-Z]\b[)\]]?){0,20}"
RULED_OUT = re.compile(
    rf"{NOT}(?:\sbe)?\s{_OPTIONS}[(\[]?[A-Z]\b(?:\s(?:or|nor)\s[(\[]?[A-Z]\b)?(?!['’])"  # noqa: RUF001
    rf"|\b(?i:{_OPTIONS}){_SOME_LETTERS}\s(?:is|are|was|were)\s(?:all\s|both\s|clearly\s)?{WRONG}\b"
)
"""Letters that are called wrong."""
LETTER_ALONE = re.compile(r"(?<![A-Za-z'’])[A-Z](?![A-Za-z'’])")  # noqa: RUF001
_SEPARATOR = re.compile(
    r"(?:->|=>|[.:,;=|/→⇒–—()\[\]\"'*]|-(?=\s)|(?:it\sis|it's|that\sis|i\.e\.|which\sis|namely|meaning|so|the\sanswer\sis)(?=\s))\s*"  # noqa: RUF001
)
_MOST_SEPARATORS = 12
_END_OF_TEXT = re.compile(r"\s*(?:\Z|[.,](?!\d)|[;:!?)\]\"'–—]|-\s|(?:because|since|as|is|which|so|for)\b)")  # noqa: RUF001
_REASON = re.compile(r"\b(?:because|since|as)\b", re.IGNORECASE)
_CLAUSE = re.compile(r"(?:[.;!?](?=\s|\Z)|,\s)\s*")
_DENIES = re.compile(rf"{NOT}|\b(?:no|nor|never|wrong|incorrect|false|than|too)\b", re.IGNORECASE)
_MOST_CLAUSES = 50


def is_taken_back(letter: str, rest: str, options: Mapping[str, str]) -> bool:
    """Says whether what stands behind an option's letter takes it back: it calls the letter wrong, begins with the text of
    another option, ends its first clause with one (`it is London`), or has one as a clause of its own. Words behind
    `because` and the like are a reason, and may name other options.
    """
    texts = {other: normalised(text) for other, text in options.items()}
    first = _first_text(rest, texts)
    if first:
        return letter not in first
    if is_called_wrong(rest, options[letter]) or any(
        letter in LETTER_ALONE.findall(one[0]) for one in RULED_OUT.finditer(rest)
    ):
        return True
    clauses = _CLAUSE.split(_REASON.split(rest, maxsplit=1)[0].lstrip(" \t)].:,;–—-"), maxsplit=_MOST_CLAUSES)  # noqa: RUF001
    if not _DENIES.search(clauses[0]):
        last = _last_text(normalised(clauses[0]), texts)
        if last and letter not in last:
            return True
    named = [normalised(clause) for clause in clauses]
    return texts[letter] not in named and any(text in named for text in texts.values() if text)


def begins_with_text_of(letter: str, rest: str, options: Mapping[str, str]) -> bool:
    """Says whether the words behind a letter begin with the text of its own option."""
    return letter in _first_text(rest, {other: normalised(text) for other, text in options.items()})


def _first_text(rest: str, texts: Mapping[str, str]) -> set[str]:
    """Returns the letters of the longest of the options' normalised texts with which a rest begins, behind signs."""
    begun = normalised(rest).lstrip(" )]")
    for _ in range(_MOST_SEPARATORS):
        found = {text for text in texts.values() if text and begun.startswith(text)}
        ended = [text for text in found if _END_OF_TEXT.match(begun, len(text))]
        separator = _SEPARATOR.match(begun)
        if ended or separator is None:
            return _having(max(ended, key=len, default=""), texts)
        begun = begun[separator.end() :]
    return set()


def _last_text(clause: str, texts: Mapping[str, str]) -> set[str]:
    """Returns the letters of the longest of the options' normalised texts with which a clause ends."""
    ended = [text for text in texts.values() if text and clause.endswith(text)]
    alone = [text for text in ended if not clause[: -len(text)][-1:].isalnum()]
    return _having(max(alone, key=len, default=""), texts)


def _having(wanted: str, texts: Mapping[str, str]) -> set[str]:
    return {letter for letter, text in texts.items() if wanted and text == wanted}
