"""Replaces API keys in the texts of endpoints by a mask, also those that the endpoint has shortened."""

from __future__ import annotations

import re

from ray_gym.printable import masked, secret_pattern

SHORTEST_PART = 8
"""Fewest characters of a beginning or an end of a key that is masked where it stands by itself."""
SHORTEST_BESIDE = 4
"""Fewest characters of one that is masked beside what an endpoint writes for the rest: `sk-A...mnop`, `sk-A****`."""
_MASK = "***"
_REST = re.compile(r"(?:\.{2,}|\u2026|[*\u2022]{2,}|[xX]{4,})")
_REST_BEFORE = re.compile(rf"(?P<mask>\*{{3}})?{_REST.pattern}\Z")
_LONGEST_SPELLING = 64


def without_key(text: str, key: str | None) -> str:
    """Returns a text with `***` in the place of the API key, in all spellings that `masked` knows, and of a beginning or an
    end of it that a word of the text begins or ends with. A part that is an ordinary word (letters only, of one case)
    stays, unless it ends what begins with a part. None is no key.
    """
    if not key:
        return text
    text = masked(text, key)
    if len(key) <= SHORTEST_PART:
        return text
    return _without_ends(_without_beginnings(text, key), key)


def _without_beginnings(text: str, key: str) -> str:
    letters = [secret_pattern(letter) for letter in key]
    found = re.compile(rf"(?<![^\W_]){secret_pattern(key[:SHORTEST_BESIDE]).pattern}")
    parts, at = list[str](), 0
    while begun := found.search(text, at):
        size, end = SHORTEST_BESIDE, begun.end()
        while size < len(key) and (more := letters[size].match(text, end)):
            size, end = size + 1, more.end()
        is_key = _is_part(key[:size], is_beside=_REST.match(text, end) is not None)
        parts += [text[at : begun.start()], _MASK if is_key else text[begun.start() : end]]
        at = end
    return "".join([*parts, text[at:]])


def _without_ends(text: str, key: str) -> str:
    letters = [secret_pattern(letter) for letter in key]
    found = re.compile(rf"{secret_pattern(key[-SHORTEST_BESIDE:]).pattern}(?![^\W_])")
    parts, at = list[str](), 0
    while ended := found.search(text, at):
        size, start = SHORTEST_BESIDE, ended.start()
        while size < len(key) and (earlier := _start_before(letters[-size - 1], text, at, start)) is not None:
            size, start = size + 1, earlier
        before = _REST_BEFORE.search(text[max(at, start - _LONGEST_SPELLING) : start])
        is_key = (before and before["mask"]) or _is_part(key[-size:], is_beside=before is not None)
        parts += [text[at:start], _MASK if is_key else text[start : ended.end()]]
        at = ended.end()
    return "".join([*parts, text[at:]])


def _start_before(letter: re.Pattern[str], text: str, begin: int, end: int) -> int | None:
    """Returns where a spelling of a character begins that ends at `end`; None if there is none behind `begin`."""
    starts = range(end - 1, max(begin, end - _LONGEST_SPELLING) - 1, -1)
    return next((start for start in starts if letter.fullmatch(text, start, end)), None)


def _is_part(part: str, *, is_beside: bool) -> bool:
    """Says whether a beginning or an end of a key is masked. `is_beside`: it is beside what stands for the rest of it."""
    is_word = part.isalpha() and (part.islower() or part.isupper() or part.istitle())
    return (is_beside or len(part) >= SHORTEST_PART) and not is_word
