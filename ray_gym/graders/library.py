"""Verifies by a library, in a process of its own with a time limit: parsers hang on strange input, and threads can't be
killed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.graders.grader import Grader, Verdict

if TYPE_CHECKING:
    from ray_gym.episode.episode import Episode


@dataclass(frozen=True)
class Library(Grader):
    """Gives what a function returns for `arguments` (JSON data): a number, or a number and its reason.

    `function` is package.module:name. Its module is imported once a worker, and each call is a fork of that. Caches
    that every call should find filled are filled by the module's function `warm_up`, if it has one. A function that is
    late, crashes or raises gives no verdict, which is worth `undecided`; that is recorded, so a replay does not decide
    otherwise. A function that isn't there, or gives something else than a verdict, is the environment's failure.
    """

    function: str
    arguments: tuple[Any, ...]
    deadline_s: float = 5.0
    memory_mb: int | None = None
    undecided: float = 0.0

    @property
    def name(self) -> str:
        """Returns the function's name."""
        return self.function.partition(":")[2]

    async def grade(self, episode: Episode) -> Verdict:
        given = await episode.isolated(
            self.function, *self.arguments, deadline_s=self.deadline_s, memory_mb=self.memory_mb
        )
        if given.error is not None:
            return Verdict(self.undecided, f"undecided: {given.error}")
        match given.value:
            case int() | float() as value if _is_finite(value):
                return Verdict(float(value))
            case [int() | float() as value, str() as why] if _is_finite(value):
                return Verdict(float(value), why)
        wrong = f"it gave {given.value!r:.200}, but a verdict is a finite number, or a finite number and its reason"
        raise EpisodeFailure(FailureKind.ENVIRONMENT, self.function, wrong)


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer that no float can be
        return False
