"""Compares the answer that was found in the text with the expected one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ray_gym.graders.extract import Extract, whole
from ray_gym.graders.grader import Grader, Verdict, shown

if TYPE_CHECKING:
    from ray_gym.episode.episode import Episode


def folded(text: str) -> str:
    """Returns the text without the differences of case and of white space."""
    return " ".join(text.casefold().split())


@dataclass(frozen=True)
class ExactMatch(Grader):
    """Gives 1 if what `extract` finds in the policy's last words equals `expected` (any of them, if there are several),
    else 0.
    """

    expected: str | tuple[str, ...]
    extract: Extract = whole
    normalise: Callable[[str], str] = str.strip

    async def grade(self, episode: Episode) -> Verdict:
        found = self.extract(episode.answer)
        if found is None:
            return Verdict(0.0, "no answer was found")
        expected = (self.expected,) if isinstance(self.expected, str) else self.expected
        right = self.normalise(found) in {self.normalise(one) for one in expected}
        return Verdict(float(right), f"{shown(found)}, expected {' or '.join(map(shown, expected))}")


@dataclass(frozen=True)
class Found(Grader):
    """Gives 1 if `extract` finds anything in the policy's last words, else 0: for the form of an answer."""

    extract: Extract

    async def grade(self, episode: Episode) -> Verdict:
        found = self.extract(episode.answer)
        return Verdict(float(found is not None), shown(found) if found is not None else "nothing was found")
