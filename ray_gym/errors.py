"""Defines the errors, in two families that are kept apart by whose fault they are.

* `UserError`: the input of a run is wrong (config, task row, endpoint). It is raised before anything is played; the
  command line prints it without a traceback and exits with 2.
* `EpisodeFailure`: one episode can't go on. It is raised where that happened, with a kind, and recorded on the episode.
  A bad episode is data, not a crash: it never ends the run or its neighbours.
"""

from __future__ import annotations

import errno
import inspect
import sys
import sysconfig
from asyncio import CancelledError
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache, partial
from pathlib import Path
from traceback import FrameSummary, extract_tb, walk_tb
from types import FunctionType, ModuleType

from ray_gym.printable import beginning

DEEPEST = 5
"""Most lines of a failure's traceback."""
MOST_TOLD = 3
"""Most exceptions of a group that are told."""
MOST_BESIDE = 300
"""Most characters of a note, or of the exception before, that are told."""
_ENGINE = Path(__file__).parent
_LIBRARIES = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib")})
_INSTALLED = frozenset({"site-packages", "dist-packages"})
"""Folders of installed packages."""
_CYTHON = frozenset({".pyx", ".pxi", ".pxd"})
"""Endings of the files that frames of compiled packages name, without their folder."""


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
    def of(
        cls, error: BaseException, where: str, kind: FailureKind = FailureKind.ENVIRONMENT, code: object = None
    ) -> Failure:
        """Makes the failure of an exception that an author's code raised. Its place is `where` with file and line.
        `code`: the author's function, whose place it is if the exception has no line of the author's.
        """
        frames = own_frames(error)
        place = f"{where}{_place(frames[-1]) if frames else code_place(code)}"
        return cls(kind, place, f"{describe(error)}{_told_beside(error)}", "\n".join(map(_line_of, frames[-DEEPEST:])))


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


def wrong_return(owner: object, hook: str, given: object, expected: str) -> EpisodeFailure:
    """Returns the failure of an environment whose hook returned something else than it may."""
    return fault_of_hook(owner, hook, f"it returned {_shown(given)}, a {type(given).__name__}; expected {expected}")


def fault_of_hook(owner: object, hook: str, message: str) -> EpisodeFailure:
    """Returns the failure of an environment whose hook raised nothing, and is to blame. Its place is the hook, with file and
    line if it is the author's own.
    """
    place = code_place(getattr(type(owner), hook))
    return EpisodeFailure(FailureKind.ENVIRONMENT, f"{type(owner).__name__}.{hook}{place}", message)


def code_place(function: object) -> str:
    """Returns the file and line where a function is written, as ` (file.py:12)`; "" if it isn't written in Python, or
    is ray_gym's own. Of a partial function that is the function's place, and of another object that can be called, its
    `__call__`'s.
    """
    while isinstance(function, partial):
        function = function.func
    if callable(function):
        function = inspect.unwrap(function)
        if not isinstance(function, type) and not hasattr(function, "__code__"):
            function = type(function).__call__
    code = getattr(function, "__code__", None)
    if code is None or _is_the_engines(Path(code.co_filename)):
        return ""
    return f" ({Path(code.co_filename).name}:{code.co_firstlineno})"


def _shown(value: object) -> str:
    """Returns the beginning of a value's repr."""
    try:
        return f"{value!r:.60}"
    except Exception:
        return "something without a repr"


def _told_beside(error: BaseException) -> str:
    """Returns the notes of an exception, and the one in whose handling it was raised, if an author's line raised that:
    `; of row 7 (after KeyError: 'price' (shop.py:12))`; "" if there are none.
    """
    kept = error.__dict__.get("__notes__")
    notes = "".join(f"; {_cut(note)}" for note in kept if isinstance(note, str)) if isinstance(kept, list) else ""
    earlier = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if earlier is None or isinstance(earlier, StopIteration | StopAsyncIteration | CancelledError):
        return notes
    frames = _authors_frames(earlier)
    return f"{notes} (after {_cut(describe(earlier))}{_place(frames[-1])})" if frames else notes


def _cut(text: str) -> str:
    """Returns the beginning of a text, on one line."""
    return beginning(" ".join(beginning(text, 2 * MOST_BESIDE).split()), MOST_BESIDE)


def own_frames(error: BaseException) -> list[FrameSummary]:
    """Returns the frames of an exception that lie in an author's code: neither in ray_gym (but for its environments)
    nor in Python's library or an installed package that does not use ray_gym. For a group of exceptions, and for a
    StopIteration that Python has turned into a RuntimeError, the frames of the inner exception follow. An exception
    without such frames has those of its cause.
    """
    frames = _authors_frames(error)
    if isinstance(error, BaseExceptionGroup):
        return frames + own_frames(error.exceptions[0])
    cause = error.__cause__
    if cause is not None and (not frames or isinstance(cause, StopIteration | StopAsyncIteration)):
        return frames + own_frames(cause)
    return frames


def _authors_frames(error: BaseException) -> list[FrameSummary]:
    """Returns the frames of an exception alone that lie in an author's code."""
    traceback = error.__traceback__
    return [
        summary
        for summary, (frame, _) in zip(extract_tb(traceback), walk_tb(traceback), strict=True)
        if _is_an_authors(summary.filename, str(frame.f_globals.get("__name__", "")))
    ]


def leaves(error: BaseException) -> list[BaseException]:
    """Returns the exceptions in a group of exceptions, and in the groups within it; else the exception alone."""
    if not isinstance(error, BaseExceptionGroup):
        return [error]
    return [leaf for inner in error.exceptions for leaf in leaves(inner)]


def _is_an_authors(file: str, module: str) -> bool:
    path = Path(file)
    if path.is_relative_to(_ENGINE):
        return not _is_the_engines(path)
    if _INSTALLED.intersection(path.parts) or path.suffix in _CYTHON:
        return _uses_ray_gym(module.partition(".")[0])
    return not file.startswith("<") and not any(path.is_relative_to(folder) for folder in _LIBRARIES)


def _is_the_engines(file: Path) -> bool:
    return file.is_relative_to(_ENGINE) and not file.is_relative_to(_ENGINE / "envs")


@lru_cache(maxsize=64)
def _uses_ray_gym(package: str) -> bool:
    """Says whether an imported module of a package has a name of ray_gym's, as an installed environment's has."""
    modules = [module for name, module in sys.modules.items() if name.partition(".")[0] == package]
    return any(_home(value) == "ray_gym" for module in modules for value in list(vars(module).values()))


def _home(value: object) -> str:
    """Returns the package of a module, a class or a function; "" for any other value."""
    if isinstance(value, ModuleType):
        return value.__name__.partition(".")[0]
    return str(value.__module__).partition(".")[0] if isinstance(value, type | FunctionType) else ""


def _place(frame: FrameSummary) -> str:
    return f" ({Path(frame.filename).name}:{frame.lineno})"


def _line_of(frame: FrameSummary) -> str:
    """Returns a frame as a line. Of the file's path it has the last folder, as the rest differs between machines."""
    return f"{'/'.join(Path(frame.filename).parts[-2:])}:{frame.lineno} in {frame.name}: {frame.line}"


def describe(error: BaseException) -> str:
    """Returns `TypeName: message`, or the name alone without a message, for errors whose message alone says little. For
    a group of exceptions, the first of them follow.
    """
    text = text_of(error)
    described = f"{type(error).__name__}: {text}" if text else type(error).__name__
    if not isinstance(error, BaseExceptionGroup):
        return described
    inner = [describe(leaf) for leaf in leaves(error)]
    more = f"; and {len(inner) - MOST_TOLD} more" if len(inner) > MOST_TOLD else ""
    return f"{described}: {'; '.join(inner[:MOST_TOLD])}{more}"


def placed(error: BaseException) -> str:
    """Returns `TypeName: message (file.py:12)`, with the author's line at which the error was raised, if there is one."""
    return f"{describe(error)}{place_of(error)}"


def place_of(error: BaseException) -> str:
    """Returns the author's line at which an error was raised, as ` (file.py:12)`; "" if there is none."""
    frames = own_frames(error)
    return _place(frames[-1]) if frames else ""


def text_of(error: BaseException) -> str:
    """Returns an exception's own text, also if its `__str__` raises."""
    try:
        return str(error)
    except Exception as fault:
        return f"(its __str__ raises {type(fault).__name__})"


RESUME = "resume the run with --resume"
"""Remedy of a run that has ended early, once the cause is gone."""


def remedy_of(error: BaseException | None, then: str = RESUME) -> str:
    """Returns what the user can do about an error, for the end of a message; "" for unknown errors. `then`: what to do
    once the cause is gone.
    """
    number = error.errno if isinstance(error, OSError) else None
    if number in (errno.ENOSPC, errno.EDQUOT):
        return f": free some space, and {then}"
    if number == errno.EMFILE:
        return f": close the files and sockets that your code opens, or raise `ulimit -n`, and {then}"
    if number == errno.ENFILE:
        return f": all programs of the machine have too many files open; end some, and {then}"
    return ""


@contextmanager
def refused_writes(word: str, path: Path) -> Iterator[None]:
    """Turns an OSError of the block into a UserError, which says that `path` can't be written. `word`: the option that
    names the path.
    """
    try:
        yield
    except OSError as error:
        raise UserError(f"{word}: can't write {path}: {why_unwritten(path, error)}") from None


def _leads_nowhere(link: Path) -> bool:
    try:
        link.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:  # a link to itself
        return False
    return False


def why_unwritten(path: Path, error: OSError) -> str:
    """Returns why a path can't be written: a link on its way that leads nowhere, or else the system's reason."""
    if error.errno in (errno.ENOENT, errno.EEXIST, errno.ENOTDIR):
        with suppress(OSError):
            links = (one for one in (path, *path.parents) if one.is_symlink() and _leads_nowhere(one))
            if (link := next(links, None)) is not None:
                return f"{link} is a link to {link.readlink()}, which is not there"
    return error.strerror or str(error)
