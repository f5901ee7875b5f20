"""Defines the errors, in two families that are kept apart by whose fault they are.

* `UserError`: the input of a run is wrong (config, task row, endpoint). It is raised before anything is played; the
  command line prints it without a traceback and exits with 2.
* `EpisodeFailure`: one episode can't go on. It is raised where that happened, with a kind, and recorded on the episode.
  A bad episode is data, not a crash: it never ends the run or its neighbours.
"""

from __future__ import annotations

import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from traceback import FrameSummary, extract_tb

DEEPEST = 5
"""Most lines of a failure's traceback."""
_ENGINE = Path(__file__).parent
_LIBRARIES = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib")})


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
    traceback: str = ""
    """Lines of the author's own code that led to it, the innermost last; empty if there are none."""

    @classmethod
    def of(cls, error: BaseException, where: str, kind: FailureKind = FailureKind.ENVIRONMENT) -> Failure:
        """Makes the failure of an exception that an author's code raised. Its place is `where` with file and line."""
        frames = own_frames(error)
        place = f"{where} ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else where
        return cls(kind, place, describe(error), "\n".join(map(_line_of, frames[-DEEPEST:])))


class EpisodeFailure(Exception):
    """Ends one episode without a score. It survives pickling, so that it keeps its kind across actor boundaries.

    `retry` says whether asking again could help. Only failures of infrastructure are asked for it; a wrong key stays
    wrong.
    """

    def __init__(self, kind: FailureKind, where: str, message: str, retry: bool = True, traceback: str = "") -> None:
        super().__init__(kind, where, message, retry, traceback)
        self.retry = retry
        self.failure = Failure(kind, where, message, traceback)

    @classmethod
    def of(cls, failure: Failure, retry: bool = True) -> EpisodeFailure:
        """Makes the exception of a failure."""
        return cls(failure.kind, failure.where, failure.message, retry, failure.traceback)

    def to_keep(self) -> EpisodeFailure:
        """Returns a copy without Python's traceback, which would keep all objects of the calls alive."""
        return EpisodeFailure.of(self.failure, self.retry)

    def __str__(self) -> str:
        return f"{self.failure.kind} failure in {self.failure.where}: {self.failure.message}"


def own_frames(error: BaseException) -> list[FrameSummary]:
    """Returns the frames of an exception that lie in an author's code: neither in ray_gym (but for its environments)
    nor in Python's library or an installed package.
    """
    return [frame for frame in extract_tb(error.__traceback__) if _is_an_authors(frame.filename)]


def _is_an_authors(file: str) -> bool:
    if file.startswith(str(_ENGINE)):
        return file.startswith(str(_ENGINE / "envs"))
    return not file.startswith(("<", *_LIBRARIES)) and "site-packages" not in file


def _line_of(frame: FrameSummary) -> str:
    """Returns a frame as a line. Of the file's path it has the last folder, as the rest differs between machines."""
    return f"{'/'.join(Path(frame.filename).parts[-2:])}:{frame.lineno} in {frame.name}: {frame.line}"


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
