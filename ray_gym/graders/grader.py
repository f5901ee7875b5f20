"""What a grader is: something that looks at a played episode and gives a verdict. Verdicts are in the record, with their reasons.

Graders are made in `score`, from the task and the state, and compose:

    async def score(self, state, episode):
        answer = ExactMatch(episode.task.expected, extract=last_boxed)
        tidy = Constraints({"short": len(episode.answer) < 500})
        return await Weighted(answer=(0.9, answer), tidy=(0.1, tidy)).score(episode)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ray_gym.score import Score

if TYPE_CHECKING:
    from ray_gym.episode.episode import Episode


SHOWN = 200
"""Characters of a value that a verdict's reason shows."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """`value` is between 0 and 1 unless a grader says otherwise; `parts` are what it was made of."""

    value: float
    why: str = ""
    parts: Mapping[str, float] = field(default_factory=dict)


def shown(value: object) -> str:
    """A value in the reason of a verdict: answers can be long, and the record has them already."""
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}... ({len(text)} characters)"


class Grader(ABC):
    """Override `grade`; call `verdict`, which also writes the verdict down."""

    @property
    def name(self) -> str:
        return type(self).__name__

    @abstractmethod
    async def grade(self, episode: Episode) -> Verdict:
        """Errors: EpisodeFailure, of the kind of whoever is at fault (a judge that gives no verdict, say)."""

    async def verdict(self, episode: Episode, name: str | None = None) -> Verdict:
        """The verdict, which is now an event of the record. `name` is what it is called there (default: the grader's own)."""
        given = await self.grade(episode)
        episode.record_verdict(name or self.name, given.value, given.why)
        return given

    async def score(self, episode: Episode, name: str | None = None) -> Score:
        """What an environment's `score` returns: the verdict's value as the reward, and its parts."""
        given = await self.verdict(episode, name)
        return Score(given.value, given.parts)
