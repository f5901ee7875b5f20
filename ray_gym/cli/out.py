"""Reads the path of `--out`, which a command writes."""

from __future__ import annotations

from pathlib import Path

from ray_gym.errors import UserError


def path_to_write(written: str) -> Path:
    """Returns the path that `--out` names: as elsewhere `~` is the home folder, and `file://` may stand before a path. Errors:
    UserError for a `~` that stands for no folder, and the URI of an object store.
    """
    from ray_gym.run.directory.location import is_uri, path_of

    if is_uri(written):
        raise UserError(f"--out: {written}: only files of this machine are written; give a path")
    try:
        return path_of(written)
    except UserError as error:
        raise UserError(f"--out: {error}") from None
