"""Checks the commit of a trainer that is a repository, and no package of a registry."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from ray_gym.errors import UserError

SHOWN = 9
"""Number of digits of a commit that messages show."""


def commit_of(folder: Path) -> str | None:
    """Returns the commit of the checkout that a folder is the top of; None if git knows none."""
    asked = ["git", "-C", str(folder), "rev-parse", "--show-prefix", "HEAD"]
    try:
        ended = subprocess.run(asked, check=False, capture_output=True, text=True)
    except OSError:
        return None
    prefix, _, commit = ended.stdout.partition("\n")
    return commit.strip() if ended.returncode == 0 and not prefix else None


def check_commit(name: str, folder: Path | None, tested: Sequence[str], *, any_version: bool = False) -> str:
    """Checks that a trainer's checkout is of a commit that its bridge was tested with, and returns the commit.

    `folder`: None if it is not known where the checkout is. `any_version`: True accepts every commit. Errors: UserError,
    which names the commit and the tested ones.
    """
    found = None if folder is None else commit_of(folder)
    if found in tested or any_version:
        return found or "unknown"
    known, way_out = (
        " or ".join(commit[:SHOWN] for commit in tested),
        "or take any version (any_version, --any-version)",
    )
    if folder is None:
        raise UserError(
            f"{name}: the bridge was tested with {known}; name the folder of its checkout (checkout, --checkout), so "
            f"that its commit can be checked, {way_out}"
        )
    if not folder.is_dir():
        raise UserError(f"{name}: there is no folder {folder}; name that of its checkout, {way_out}")
    said = "is no checkout of git" if found is None else f"is at commit {found[:SHOWN]}"
    raise UserError(
        f"{name}: the folder {folder} {said}, and the bridge was tested with {known}; check that one out, {way_out}"
    )
