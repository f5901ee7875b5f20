"""Compares the answer in the policy's last message with the expected one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ray_gym.graders.extract import Extract, whole
from ray_gym.graders.grader import Grader, Verdict, shown, wrong_argument

if TYPE_CHECKING:
    from ray_gym.episode.episode import Episode


def folded(text: str) -> str:
    """Returns a text in lower case, in one of Unicode's forms (NFKC), with single spaces between its words."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


@dataclass(frozen=True)
class ExactMatch(Grader):
    """Gives 1 if the answer in the policy's last message equals an expected one, else 0."""

    expected: str | tuple[str, ...]
    """The expected answer, or several of which any counts."""
    extract: Extract = whole
    """Finds the answer in the message."""
    normalise: Callable[[str], str] = str.strip
    """Function that is applied to both answers before they are compared."""

    def __post_init__(self) -> None:
        if not _several(self.expected):
            raise ValueError("ExactMatch: expected: name at least one answer; none would be right")
        for expected in _several(self.expected):
            if not isinstance(expected, str):
                raise wrong_argument("ExactMatch: expected", expected, "a text, or several in a tuple")

    async def grade(self, episode: Episode) -> Verdict:
        """Returns 1 if the answer equals an expected one, else 0, also without an answer. One that was found in a sentence
        may have the sentence's full stop behind it.
        """
        found = _extracted(self.extract, episode)
        if found is None:
            return Verdict(0.0, "no answer was found")
        expected = _several(self.expected)
        answers = [found] if self.extract is whole else [found, re.sub(r"(?<!\.)[.\u3002]\s*$", "", found)]
        right = not {self.normalise(one) for one in answers}.isdisjoint(self.normalise(one) for one in expected)
        return Verdict(float(right), f"{shown(found)}, expected {' or '.join(map(shown, expected))}")


@dataclass(frozen=True)
class Found(Grader):
    """Gives 1 if there is an answer in the policy's last message, else 0. It checks only the form of the answer."""

    extract: Extract
    """Finds the answer in the message."""

    async def grade(self, episode: Episode) -> Verdict:
        """Returns 1 if an answer was found, else 0."""
        found = _extracted(self.extract, episode)
        return Verdict(float(found is not None), shown(found) if found is not None else "nothing was found")


def _several(expected: str | Collection[str]) -> Collection[str]:
    """Returns the expected answers, of which there may be one."""
    return (expected,) if isinstance(expected, str | bytes) or not isinstance(expected, Collection) else expected


def _extracted(extract: Extract, episode: Episode) -> str | None:
    """Returns the answer that `extract` finds in the policy's last message. Errors: TypeError if it is no text, or `extract`
    no function.
    """
    if not callable(extract):
        raise wrong_argument("extract", extract, "a function that finds the answer in a text")
    found = extract(episode.answer)
    if found is not None and not isinstance(found, str):
        raise wrong_argument("the answer that `extract` found", found, "a text, or None")
    return found
