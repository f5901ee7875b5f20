"""Reads the scale of a score (`4/10`, `Score (1-5): 4`), which may be another than that of the labels."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable

from ray_gym.graders.characters import DASHES, MARKS
from ray_gym.graders.finder import OF, POINTS

_NUMBER = r"\d{1,4}(?:[.,]\d{1,3})?"
_TO = rf"(?:\s?(?:to|and|through|,|/|\.{{2,3}}|\u2026|[{DASHES}]|~)\s?)"
_OF_A_SCORE = (
    r"(?:(?<=score\s)|(?<=rating\s)|(?<=grade\s)|(?<=mark\s)|(?<=scale\s)|(?<=overall\s)"
    r"|(?<=ness\s)|(?<=ity\s)|(?<=cy\s))"
)
"""Ends of words that name a score or a quality."""
_NAMED = re.compile(
    rf"(?i:(?<=[^\W\d])[\s*_\"'`]{{0,4}}[(\[{{](?P<in_brackets>(?!{_NUMBER}\s?(?:[)\]}}]|(?:/|of|out\sof)\s?\d))(?=[^()\[\]{{}}\n]{{0,60}}\d)"
    rf"[^()\[\]{{}}\n]{{1,80}})[)\]}}](?={MARKS}{{0,6}}[:=|\uff1a])"
    rf"|(?<=\d)[\s*_]{{0,3}}[(\[](?:scale:?\s)?{_NUMBER}\s?(?:to|[{DASHES}])\s?(?P<behind>{_NUMBER})[)\]]"
    rf"|(?<=[^\W\d])\s(?:out\sof\s|/\s?|{_OF_A_SCORE}(?:from\s|of\s)?[01]\s?(?:to|[{DASHES}])\s?)(?P<bare>{_NUMBER})"
    rf"(?={MARKS}{{0,6}}[:=\uff1a])"
    rf"|\b(?:on|using|with|in)\s(?:an?|the|our)\s(?:\w{{1,12}}\s)?scale\s?(?:of|from|between|:"
    rf"|\()?\s?{_NUMBER}{_TO}(?P<scale>{_NUMBER})\)?"
    rf"|\b(?:on|using|with|in)\s(?:an?|the"
    rf"|our)\s(?:{_NUMBER}{_TO})?(?P<sized>{_NUMBER})(?:[\s-]points?)?[\s-]scale\b"
    r"|\u6ee1\u5206\u4e3a?[:\uff1a]?\s?(?P<full>\d{1,4})\s?\u5206?"
    r"|(?<!\d)(?P<marks>\d{1,4})\s?[\u5206\u70b9\uc810]?\s?(?:\u6ee1\u5206|\u6e80\u70b9|\ub9cc\uc810)[\u4e2d\uc5d0]?)"
)
"""Names a scale: Score (1-5): 4, On a scale of 1 to 10, full marks in Chinese and Japanese."""
_BEHIND = re.compile(
    rf"(?i:(?:[.,]0{{1,3}})?{MARKS}{{0,8}}(?:(?:{POINTS}"
    rf"|[\u5206\u70b9\uc810])[\s*_]{{0,4}})?(?:[(,\u2014\uff08\uff0c{DASHES}][\s\"']{{0,4}})?"
    rf"(?:/|out\s{{1,4}}of\s{{1,4}}(?:an?\s(?:possible|total\sof|maximum\sof)\s)?|{OF}\s{{1,4}}"
    r"|\u6ee1\u5206\u4e3a?[:\uff1a]?\s?"
    rf"|max(?:imum)?(?:[\s_-](?:possible|score|points"
    rf"|rating))?\"?\s?[:=.]?\s?){MARKS}{{0,6}}(?P<top>{_NUMBER})(?![\d]))"
)
"""The top of a scale behind a score: 4/10, 4 (out of 10), {"score": 4, "max": 5}."""
_NEAR = 12
"""Largest number of characters from the beginning of a score to that of a scale which belongs to it."""


class Scales:
    """Reads which scales a judge's answer names, and tells scores on another scale than the labels'.

    `said` is the answer without the scales that it names, so that their numbers are no scores: each is as many spaces.
    """

    def __init__(self, said: str, labels: Iterable[str]) -> None:
        numbers = [_value(bare) for label in labels if re.fullmatch(_NUMBER, bare := label.strip("[](){}<>\"'*` "))]
        self._top = max(numbers, default=None)
        self._others: list[tuple[int, int]] = []
        self.said = _NAMED.sub(self._blank, said) if numbers else said
        self._starts = [start for start, _ in self._others]

    def _blank(self, found: re.Match[str]) -> str:
        named = next(filter(None, found.groupdict().values()))
        if max(map(_value, re.findall(_NUMBER, named))) != self._top:
            self._others.append(found.span())
        return " " * len(found[0])

    def is_another(self, label: str, start: int) -> bool:
        """Returns True if a label from `start` on is a score on another scale, by what is behind it or before it on its
        line.
        """
        if self._top is None:
            return False
        behind = _BEHIND.match(self.said, start + len(label.strip()))
        if behind is not None and _value(behind["top"]) != self._top:
            return True
        at = bisect_right(self._starts, start)
        if at and "\n" not in self.said[self._others[at - 1][1] : start]:
            return True
        return at < len(self._starts) and self._starts[at] - start <= _NEAR


def _value(number: str) -> float:
    return float(number.replace(",", "."))
