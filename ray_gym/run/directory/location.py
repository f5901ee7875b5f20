"""Handles locations of runs as users write them: a path, or the URI of an object store (`s3://bucket/prefix`)."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from urllib.parse import SplitResult, urlsplit, urlunsplit

from ray_gym.errors import UserError
from ray_gym.messages import utf8
from ray_gym.paths import absolute_path, home_expanded
from ray_gym.run.directory.object_storage import SCHEMES, ObjectStorage
from ray_gym.run.directory.posix_storage import PosixStorage
from ray_gym.run.directory.storage import Storage

ONE_SLASH = re.compile(rf"({'|'.join((*SCHEMES, 'file'))}):(/(?!/).*)", re.DOTALL)
"""A location with one slash after its scheme, where two belong."""
LOCAL = "file://localhost/"
"""Beginning of a file:// URI that names this machine."""
FILE_ON_HOST = re.compile(r"file://(?!localhost/)([^/~.].*)", re.DOTALL)
"""A file:// URI that names a host before its path, or whose path has no slash in front."""


def is_uri(location: str) -> bool:
    """Says whether a location is the URI of an object store. A file:// URI counts as a path."""
    return "://" in location and not location.startswith("file://")


def absolute(location: str) -> str:
    """Returns a path (also one with ~ or file://) as an absolute one without `..`, and a URI of an object store unchanged.
    Errors: UserError for a `~` that stands for no folder.
    """
    return location if is_uri(location) else str(absolute_path(path_of(location)))


def is_relative(location: str) -> bool:
    """Says whether a location is a relative path."""
    return not is_uri(location) and not path_of(location).is_absolute()


def child_of(location: str, name: str) -> str:
    """Returns the location of the folder `name` in this location. A URI of an object store keeps its query."""
    if not is_uri(location):
        return str(path_of(location) / name)
    parts = urlsplit(location)
    return _with_path(parts, f"{parts.path.rstrip('/')}/{name}")


def parent_of(location: str) -> str:
    """Returns the location of the folder that contains this location. A URI of an object store keeps its query."""
    if not is_uri(location):
        return str(path_of(location).parent)
    parts = urlsplit(location)
    return _with_path(parts, parts.path.rpartition("/")[0])


def shell_quoted(location: str) -> str:
    """Returns a location quoted for a shell, since a URI may have an ampersand in its query."""
    return shlex.quote(location)


def storage_at(location: str) -> Storage:
    """Returns the storage at a location, which need not exist yet. Errors: UserError for a URI that can't be opened, and
    for a path that is not UTF-8.
    """
    if (shown := utf8(location)) != location:
        raise UserError(f"{shown}: this path is not UTF-8; rename the folder")
    return ObjectStorage.of(location) if is_uri(location) else PosixStorage.of(Path(absolute(location)))


def path_of(location: str) -> Path:
    """Returns the path that a location stands for. Errors: UserError if a `~` stands for no folder, or if it is a URI that
    is written otherwise than those that are read.
    """
    if (scheme := ONE_SLASH.fullmatch(location)) is not None:
        meant = f"file://{scheme[2]}" if scheme[1] == "file" else f"{scheme[1]}:/{scheme[2]}"
        raise UserError(f"{location}: did you mean {meant}? (a folder of that name: ./{location})")
    if (host := FILE_ON_HOST.fullmatch(location)) is not None:
        raise UserError(f"{location}: a file:// URI has three slashes before its path: did you mean file:///{host[1]}?")
    return home_expanded(location.removeprefix("file://localhost" if location.startswith(LOCAL) else "file://"))


def _with_path(parts: SplitResult, path: str) -> str:
    """Returns a URI with another path. Its two slashes stay even without a bucket, which `urlunsplit` would take for a
    path.
    """
    return f"{parts.scheme}://{urlunsplit(parts._replace(scheme='', path=path)).removeprefix('//')}"
