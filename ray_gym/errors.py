"""What can go wrong, and whose fault it is.

Two families, kept apart:

* `UserError`: the input of a run is wrong (config, task row, endpoint). Raised before anything is played; the command
  line prints it without a traceback and exits with 2.
* `EpisodeFailure`: one episode can't go on. Raised where it happened, with a kind, and recorded on the episode. A bad
  episode is data, not a crash: it never ends the run or its neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class UserError(Exception):
    """Wrong input. The message says what was wrong, where (file, field, row) and what to do."""


class RunFailed(Exception):
    """The run as a whole could not be carried out, with correct input (exit code 1)."""


class FailureKind(StrEnum):
    """Whose fault it was. Only `policy` ever counts against the policy."""

    INFRA = "infra"
    DATA = "data"
    ENVIRONMENT = "environment"
    POLICY = "policy"
    USER = "user"
    JUDGE = "judge"


@dataclass(frozen=True, slots=True)
class Failure:
    """What the record keeps of a failure."""

    kind: FailureKind
    where: str
    message: str


class EpisodeFailure(Exception):
    """Ends one episode without a score. Survives pickling, so that it keeps its kind across actor boundaries.

    `retry`: whether asking again could help. Only asked of infrastructure's failures; a wrong key stays wrong.
    """

    def __init__(self, kind: FailureKind, where: str, message: str, retry: bool = True) -> None:
        super().__init__(kind, where, message, retry)
        self.retry = retry
        self.failure = Failure(kind, where, message)

    def to_keep(self) -> EpisodeFailure:
        """Without the traceback, which keeps alive all that was going on."""
        return EpisodeFailure(self.failure.kind, self.failure.where, self.failure.message, self.retry)

    def __str__(self) -> str:
        return f"{self.failure.kind} failure in {self.failure.where}: {self.failure.message}"


def describe(error: BaseException) -> str:
    """`TypeName: message`, for errors whose text alone says little."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
