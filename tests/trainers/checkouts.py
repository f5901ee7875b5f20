"""Finds checkouts of trainers that are repositories, at the commits that their bridges were written for."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest


def checkout(variable: str, commit: str) -> Path:
    """Returns the folder that an environment variable names. Skips the test without one, and fails it if the folder
    has another commit, or changes.
    """
    given = os.environ.get(variable)
    if not given:
        pytest.skip(f"no checkout: {variable}=DIR names one, at commit {commit}")
    folder = Path(given).absolute()
    found = git(folder, "rev-parse", "HEAD")
    assert found == commit, f"{variable}: {folder} is at {found}; git checkout {commit}"
    assert not git(folder, "status", "--porcelain", "--untracked-files=no"), f"{variable}: {folder} has changes"
    return folder


def git(folder: Path, *arguments: str) -> str:
    """Returns what git prints of a folder. Fails the test if git fails."""
    ended = subprocess.run(["git", "-C", str(folder), *arguments], check=False, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()
