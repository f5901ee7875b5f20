"""Verifies an answer by a library function, in a process with a time limit: parsers hang on strange input, and threads
can't be killed.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ray_gym.config.interpolations import without_variables
from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.graders.grader import Grader, Verdict, wrong_argument

if TYPE_CHECKING:
    from ray_gym.episode.episode import Episode

_PLACE = re.compile(r" \([^()\n]+:\d+\)\Z")
"""Place in a file at the end of an error."""


@dataclass(frozen=True)
class Library(Grader):
    """Gives the value that a function returns: a number, or a number and its reason.

    The function's module is imported once in a worker, and each call runs in a fork of that process. If the module has
    a function `warm_up`, it is called first, to fill caches. A function that is late, crashes or raises gives
    `undecided`, which is recorded, so that a replay decides the same. A function that does not exist, or returns
    something else, is the environment's failure.
    """

    function: str
    """Name as package.module:name."""
    arguments: tuple[Any, ...]
    """Arguments of the call (JSON data)."""
    deadline_s: float = 5.0
    """Seconds that the call may take."""
    memory_mb: int | None = None
    """Memory in MiB that the process may take; None means no limit."""
    undecided: float = 0.0
    """Value if the function gives none."""

    def __post_init__(self) -> None:
        if not isinstance(self.function, str):
            raise wrong_argument("Library: function", self.function, "its name, as package.module:name")
        if not isinstance(self.arguments, list | tuple):
            raise wrong_argument(
                "Library: arguments", self.arguments, "the call's arguments in a tuple, in their order"
            )
        if not self.deadline_s > 0:
            raise wrong_argument("Library: deadline_s", self.deadline_s, "a positive number of seconds")

    @property
    def name(self) -> str:
        """Returns the function's name, without its module."""
        return self.function.partition(":")[2]

    async def grade(self, episode: Episode) -> Verdict:
        """Calls the function, and returns its verdict; a verdict of `undecided` if it is late, crashes or raises.
        Errors: EpisodeFailure (environment) if the function does not exist, or returns no verdict.
        """
        given = await episode.isolated(
            self.function, *self.arguments, deadline_s=self.deadline_s, memory_mb=self.memory_mb
        )
        if given.error is not None:
            told, place = _split_place(given.error.removeprefix(f"{self.function} "))
            episode.undecided.append(f"{self.function}{place}: {without_variables(told, episode.filled_in)}")
            return Verdict(self.undecided, f"undecided: {given.error}")
        match given.value:
            case int() | float() as value if _is_finite(value):
                return Verdict(float(value))
            case [int() | float() as value, str() as why] if _is_finite(value):
                return Verdict(float(value), why)
        wrong = f"it gave {given.value!r:.200}, but a verdict is a finite number, or a finite number and its reason"
        raise EpisodeFailure(FailureKind.ENVIRONMENT, self.function, wrong)


def _split_place(error: str) -> tuple[str, str]:
    """Returns an error without the file and line at its end, and these."""
    found = _PLACE.search(error)
    return (error, "") if found is None else (error[: found.start()], found[0])


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer that no float can be
        return False
