"""Keeps the checkpoint that a model serves where its trainer does not overwrite or delete it.

A replica that starts later loads the folder that the model was last updated from, so that has to stay as it was until
the next update has succeeded.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

Update = Callable[[int, Path], None]
"""Function that has a model serve the checkpoint of a folder as a version. It raises if the model does not."""


def serve_copy(saved: Path, kept: Path, version: int, update: Update) -> Path:
    """Copies the checkpoint in `saved` below `kept`, has the model serve the copy as `version`, deletes the copies of
    other versions, and returns the copy. Errors: OSError; those of the update, after which earlier copies are there.
    """
    copy = kept / str(version)
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(saved, copy)
    try:
        update(version, copy)
    except BaseException:
        shutil.rmtree(copy, ignore_errors=True)
        raise
    for other in kept.iterdir():
        if other != copy:
            shutil.rmtree(other, ignore_errors=True)
    return copy
