"""Defines the errors, in two families that are kept apart by whose fault they are.

* `UserError`: the input of a run is wrong (config, task row, endpoint). It is raised before anything is played; the
  command line prints it without a traceback and exits with 2.
* `EpisodeFailure`: one episode can't go on. It is raised where that happened, with a kind, and recorded on the episode.
  A bad episode is data, not a crash: it never ends the run or its neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class UserError(Exception):
    """Says that the input is wrong. The message says what was wrong, where (file, field, row) and what to do."""


class RunFailed(Exception):
    """Says that the run as a whole could not be carried out although its input was correct (exit code 1)."""


class FailureKind(StrEnum):
    """Says whose fault a failure was. Only `policy` ever counts against the policy."""

    INFRA = "infra"
    DATA = "data"
    ENVIRONMENT = "environment"
    POLICY = "policy"
    USER = "user"
    JUDGE = "judge"


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure says whose fault it was, where it happened, and how it was reported. The record keeps it."""

    kind: FailureKind
    where: str
    message: str


class EpisodeFailure(Exception):
    """Ends one episode without a score. It survives pickling, so that it keeps its kind across actor boundaries.

    `retry` says whether asking again could help. Only failures of infrastructure are asked for it; a wrong key stays
    wrong.
    """

    def __init__(self, kind: FailureKind, where: str, message: str, retry: bool = True) -> None:
        super().__init__(kind, where, message, retry)
        self.retry = retry
        self.failure = Failure(kind, where, message)

    def to_keep(self) -> EpisodeFailure:
        """Returns a copy without the traceback, which would keep all objects of the calls alive."""
        return EpisodeFailure(self.failure.kind, self.failure.where, self.failure.message, self.retry)

    def __str__(self) -> str:
        return f"{self.failure.kind} failure in {self.failure.where}: {self.failure.message}"


def describe(error: BaseException) -> str:
    """Returns `TypeName: message`, or the name alone without a message, for errors whose message alone says little."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


@contextmanager
def refused_writes(word: str, path: Path) -> Iterator[None]:
    """Turns an OSError of the block into a UserError, which says that `path` can't be written. `word`: the option that
    names the path.
    """
    try:
        yield
    except OSError as error:
        raise UserError(f"{word}: can't write {path}: {error.strerror or error}") from None
