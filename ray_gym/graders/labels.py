"""Finds a judge's label in its answer. All functions take linear time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from ray_gym.models.thoughts import last_words

_UNSPACED = (
    "\u3005\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff",  # Han
    "\u3041-\u309f",  # Hiragana
    "\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f",  # Katakana
    "\u0e01-\u0e5b",  # Thai
    "\u0e81-\u0edf",  # Lao
    "\u1000-\u109f",  # Burmese
    "\u1780-\u17e9",  # Khmer
)
"""Letters by script, of the scripts that put no space between words: there a word ends where the script changes."""
_SPACES = r"\s*_`~\u00ad\u200b-\u200d\u2060\ufeff"
"""White space and marks of Markdown, for a class of characters."""
_DASHES = "\u2010-\u2013\u2212-"
"""Hyphens, short dashes and a minus, for a class of characters."""
_BETWEEN_WORDS = re.compile(r"(\s+|(?<=[^\W\d])[-_]+(?=[^\W\d]))")
_GAP = rf"[{_SPACES}{_DASHES}]++"
_DEGREE = (
    r"(?:an?|the|fully|entirely|completely|totally|wholly|quite|really|very|strictly|exactly|necessarily|perfectly"
    r"|absolutely|altogether|always|yet|even|at\s+all)"
)
_HEDGE = (
    r"(?:partial(?:ly)?|partly|mostly|largely|mainly|almost|nearly|virtually|practically|essentially|basically|broadly"
    r"|somewhat|slightly|half|halfway|semi|quasi|roughly|approximately|fairly|barely|hardly|scarcely|possibly|perhaps"
    r"|maybe|probably|likely|close\s+to|kind\s+of|sort\s+of|more\s+or\s+less|far\s+from|anything\s+but|less\s+than"
    r"|(?<![\d.,])(?!100)\d{1,3}(?:\.\d{1,3})?\s?(?:%|percent))"
)
_HEDGE_BEHIND = r"(?:in\s+part|in\s+parts|to\s+(?:some|an)\s+extent|ish|for\s+the\s+most\s+part|up\s+to\s+a\s+point)"
_NEGATION = (
    rf"(?i:(?:(?<![^\W_])(?:can)?not|(?<![^\W_])(?:never|non|n?either|nor)|n['\u2019]t){_GAP}(?:{_DEGREE}{_GAP}){{0,2}}"
    rf"|(?<![^\W_])(?:in|un|im|[dm]is|non|half|semi|quasi)[{_DASHES}]+"
    rf"|(?<![^\W_]){_HEDGE}{_GAP}(?:(?:{_DEGREE}|{_HEDGE}){_GAP}){{0,2}})"
)
"""Words and prefixes that make the opposite of the label behind them (NOT CORRECT, isn't fully CORRECT, in-correct), or
less than it (partially CORRECT, 80% CORRECT).
"""
_HEDGED = re.compile(
    rf"(?i:[{_SPACES}\u2014,:({_DASHES}]{{1,5}}(?:{_HEDGE}|{_HEDGE_BEHIND})(?=[{_SPACES}]{{0,3}}(?:[.,;!)\]]|\Z)))"
)
"""Words behind a label that make less than it, and end there: CORRECT (partially), CORRECT in part."""
_TOP = rf"[{_SPACES}]*+(?:/|out\s++of\s++(?:an?\s++(?:possible|total\s++of|maximum\s++of)\s++)?|of\s++)[{_SPACES}]*+\d[\d.,]*+"
"""Largest number of a scale behind a number, as in 7/10 and 7 out of 10."""
_ON_A_SCALE = rf"(?<![\d.,])\d[\d.,]*+{_TOP}"


def clear_label(text: str, labels: Iterable[str]) -> str | None:
    """Returns the one label in a text; None if there is none, or if there are different ones, or one with a `not` or a
    word such as `partially`.
    """
    found = set(_labels_in(text, labels))
    return found.pop() if len(found) == 1 else None


def last_label(text: str, labels: Iterable[str]) -> str | None:
    """Returns the label that comes last in a text; None if there is none, or if it has a `not` or a word such as
    `partially`.
    """
    found = list(_labels_in(text, labels))
    return found[-1] if found else None


def _labels_in(text: str, labels: Iterable[str]) -> Iterator[str | None]:
    """Yields the labels after the last thought in a text, in order: not those in longer words or numbers, and None for
    one with a `not` before it, or a word that makes less of it beside it. Of two at the same place, the longer counts.
    """
    finder, said = _finder(tuple(labels)), last_words(text)
    for found in finder.anything.finditer(said) if finder.labels else ():
        if found.lastgroup == "negated" or (found.lastgroup is not None and _HEDGED.match(said, found.end())):
            yield None
        elif found.lastgroup is not None and finder.exactly.search(found[0]):  # else it is one in another letter case
            yield finder.labels[int(found.lastgroup.removeprefix("label"))]


class _Finder(NamedTuple):
    """A finder holds the regular expressions that find labels."""

    labels: Sequence[str]
    """Labels, of which the longest is first. The group `label0` of `anything` has the first."""
    anything: re.Pattern[str]
    """Labels, those of several words in any letter case; labels with a `not` or `partially` before them (the group `negated`); and
    numbers on a scale that are no label (no group)."""
    exactly: re.Pattern[str]
    """Labels in their own letter case."""


@lru_cache(maxsize=64)
def _finder(labels: Sequence[str]) -> _Finder:
    """Returns what finds these labels. A label of several words that is written in another letter case, and so has a
    shorter one within it, is found as the longer (`Not SUPPORTED`).
    """
    ordered = sorted(labels, key=len, reverse=True)
    exact = [_pattern_of(label) for label in ordered]
    exactly = "|".join(exact)
    both = zip(ordered, exact, strict=True)
    groups = [f"(?P<label{number}>{_in_any_case(label, one)})" for number, (label, one) in enumerate(both)]
    scale = [_ON_A_SCALE] if any(label.strip()[0].isdigit() for label in ordered) else []
    first = re.escape("".join({label.strip()[0] for label in ordered}))
    parts = "|".join([*groups, rf"(?P<negated>{_NEGATION}(?:{exactly}))", *scale])
    anything = rf"(?=(?i:[{first}\dncuidmhsqpavberfklt]))(?:{parts})"  # what all begin with comes first: it is faster
    return _Finder(ordered, re.compile(anything), re.compile(exactly))


def _in_any_case(label: str, pattern: str) -> str:
    return f"(?i:{pattern})" if _BETWEEN_WORDS.search(label) else pattern


def _pattern_of(label: str) -> str:
    """Returns a regular expression of a label that is no part of a longer word or number."""
    bare = label.strip()
    return f"{_not_after(bare[:1])}{spaced(bare)}{_not_before(bare[-1:])}"


def spaced(label: str) -> str:
    """Returns a regular expression of a label in which white space, marks of Markdown and hyphens between words count
    as one space.
    """
    parts = _BETWEEN_WORDS.split(label)
    return "".join(_gap(parts, number) if number % 2 else re.escape(part) for number, part in enumerate(parts))


def _gap(parts: Sequence[str], number: int) -> str:
    """Returns a regular expression of what may be between two words of a label. Hyphens may be between letters only:
    elsewhere one may be the sign of a number.
    """
    before, after = parts[number - 1][-1:], parts[number + 1][:1]
    return _GAP if before.isalpha() and after.isalpha() else f"[{_SPACES}]++"


def _not_after(first: str) -> str:
    """Returns a regular expression of what may not be before a label's first character: the same word or number.
    Markdown's underscores may be (`__YES__`).
    """
    word = _of_one_word(first)
    if not word:
        return ""
    number = rf"(?<!\d[.,])(?<![^\w.]\.)(?<!^\.)(?:(?<![{_DASHES}])|(?<=\w[{_DASHES}]))" if first.isdigit() else ""
    return rf"(?<!{word})(?<!{word}_)(?<!{word}__){number}"


def _not_before(last: str) -> str:
    """Returns a regular expression of what may not be after a label's last character: the same word or number. The
    scale of a number is a part of it.
    """
    word = _of_one_word(last)
    if not word:
        return ""
    return rf"(?!_{{0,2}}{word})" + (rf"(?![.,]\d)(?:{_TOP})?" if last.isdigit() else "")


def _of_one_word(letter: str) -> str:
    """Returns a regular expression of the letters that are one word with a letter beside them; "" for no letter."""
    if not re.match(r"\w", letter):
        return ""
    script = next((script for script in _UNSPACED if re.match(f"[{script}]", letter)), None)
    return f"[{script}]" if script else rf"[^\W_{''.join(_UNSPACED)}]"
