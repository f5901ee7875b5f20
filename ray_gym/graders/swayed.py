"""Finds titled labels (`GRADE: C`) that another one sways, whose title is left out: `GRADE: C -> I`, `Score: 3 or 4`."""

from __future__ import annotations

import re
from collections.abc import Sequence

_TITLED = re.compile(r"(.*\w[ \t]{0,4}[:=][ \t]{0,4})(\w{1,20})", re.DOTALL)
_DRESS = r"[ \t*_`]{0,4}"
_JOINS = r"(?:[-=]{1,2}>|[\u2192\u21d2\u27f6]|/|\||&|\(?\bor\b|,[ \t]?or\b|\band\b)"
_PAUSES = r"(?:,|;|=|[-\u2013]|\.{2,3}|\u2026|\bto\b)"
_ENDS = r"[ \t*_`]{0,4}(?:\Z|[\n,.;()|/&]|[-=]{1,2}>|[\u2192\u21d2\u27f6]|or\b|and\b)"
_ON_A_SCALE = re.compile(rf"{_DRESS}(?:/|out[ \t]of\b|of\b){_DRESS}(\d{{1,5}})(?![\d%])")
_GRADED = re.compile(r"[*_`]{0,4}[-+](?![\w>-])")


class Swayed:
    """Knows the labels that are a title and a word, and what stands behind the title in each."""

    def __init__(self, labels: Sequence[str]) -> None:
        parted = [found for label in labels if (found := _TITLED.fullmatch(label))]
        self._tails = {found[0]: found[2] for found in parted}
        self._beside: dict[str, re.Pattern[str]] = {}
        for found in parted:
            others = [re.escape(other[2]) for other in parted if other[1] == found[1] and other[2] != found[2]]
            if others:
                self._beside[found[0]] = _behind("|".join(others))
        self._top = max((int(tail) for tail in self._tails.values() if tail.isdigit()), default=None)

    def is_swayed(self, said: str, label: str, start: int, end: int) -> bool:
        """Returns True if what follows a label adds another one, or makes it one on another scale. `start`, `end`: its
        place in the text, which may hold the scale (`Score: 4/10`).
        """
        tail = self._tails.get(label)
        if tail is None:
            return False
        if tail.isdigit() and (scale := _ON_A_SCALE.search(said, start, end) or _ON_A_SCALE.match(said, end)):
            return int(scale[1]) != self._top
        if tail.isalpha() and len(tail) == 1 and _GRADED.match(said, end):
            return True
        return label in self._beside and self._beside[label].match(said, end) is not None


def _behind(others: str) -> re.Pattern[str]:
    """Returns the pattern of another label's word behind one. A number behind an `or` needs no end of its sentence."""
    joined = rf"{_JOINS}{_DRESS}(?:(?=\d)(?:{others})(?!\w)|(?:{others})(?={_ENDS}))"
    return re.compile(rf"{_DRESS}(?:{joined}|{_PAUSES}{_DRESS}(?:{others})(?={_ENDS}))")
