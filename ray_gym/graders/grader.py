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
from typing import TYPE_CHECKING, SupportsFloat

from ray_gym.episode.awaiting import command_of_grader
from ray_gym.errors import wrong_return
from ray_gym.score import Score

if TYPE_CHECKING:
    from ray_gym.episode.episode import Episode


SHOWN = 200
"""Number of characters of a value that a verdict's reason shows."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A verdict gives a value, and the reason for it."""

    value: float
    """Value between 0 and 1, unless the grader says otherwise."""
    why: str = ""
    """Reason, for the record."""
    parts: Mapping[str, float] = field(default_factory=dict)
    """Values of which the verdict is made, by name."""

    def __post_init__(self) -> None:
        if not isinstance(self.value, SupportsFloat):
            raise wrong_argument("a verdict's value", self.value, "a number")


def wrong_argument(what: str, given: object, expected: str) -> TypeError:
    """Returns the error of an argument that is something else than it may be. `what`: the grader, and its argument."""
    return TypeError(f"{what} is {given!r:.60}, a {type(given).__name__}; expected {expected}")


def shown(value: object) -> str:
    """Returns a value as text for the reason of a verdict. A longer text is cut to `SHOWN` characters, and its length
    added.
    """
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}... ({len(text)} characters)"


class Grader(ABC):
    """A grader judges a played episode. Subclasses override `grade`; callers use `verdict` or `score`, which also
    record the verdict.
    """

    @property
    def name(self) -> str:
        """Returns the name of the grader in the record."""
        return type(self).__name__

    @abstractmethod
    async def grade(self, episode: Episode) -> Verdict:
        """Judges a played episode, and returns the verdict without recording it.

        Errors: EpisodeFailure, whose kind names the party at fault (a judge that gives no verdict, for example).
        """

    @command_of_grader
    async def verdict(self, episode: Episode, name: str | None = None) -> Verdict:
        """Judges an episode, records the verdict under `name` (None: the grader's own name) and returns it.

        Errors: EpisodeFailure, whose kind names the party at fault.
        """
        given = await self.grade(episode)
        if not isinstance(given, Verdict):
            raise wrong_return(self, "grade", given, "a Verdict")
        episode.record_verdict(name or self.name, given.value, given.why)
        return given

    @command_of_grader
    async def score(self, episode: Episode, name: str | None = None) -> Score:
        """Judges an episode for an environment's `score`, and records the verdict. Returns its value as the reward,
        with its parts.

        Errors: EpisodeFailure, whose kind names the party at fault.
        """
        given = await self.verdict(episode, name)
        return Score(given.value, given.parts)
