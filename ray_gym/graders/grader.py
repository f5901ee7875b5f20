"""A grader looks at a played episode and gives a verdict. Verdicts are in the record, with their reasons.

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
    """A verdict is a value with its reason, `why`.

    `value` is between 0 and 1 unless a grader says otherwise; `parts` are what it was made of.
    """

    value: float
    why: str = ""
    parts: Mapping[str, float] = field(default_factory=dict)


def shown(value: object) -> str:
    """Shows a value in the reason of a verdict, cut to `SHOWN` characters: answers can be long, and the record has them
    already.
    """
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}... ({len(text)} characters)"


class Grader(ABC):
    """A grader overrides `grade`; callers use `verdict`, which also writes the verdict down."""

    @property
    def name(self) -> str:
        """Returns the name of the grader in the record."""
        return type(self).__name__

    @abstractmethod
    async def grade(self, episode: Episode) -> Verdict:
        """Judges a played episode.

        Errors: EpisodeFailure, of the kind of the party at fault (a judge that gives no verdict, say).
        """

    async def verdict(self, episode: Episode, name: str | None = None) -> Verdict:
        """Returns the verdict, after adding it to the record's events under `name` (default: the grader's own)."""
        given = await self.grade(episode)
        episode.record_verdict(name or self.name, given.value, given.why)
        return given

    async def score(self, episode: Episode, name: str | None = None) -> Score:
        """Returns the verdict as a score, for an environment's `score`: its value as the reward, and its parts."""
        given = await self.verdict(episode, name)
        return Score(given.value, given.parts)
