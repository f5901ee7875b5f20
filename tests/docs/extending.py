"""Cuts docs/extending.md up: writes the files of its package, and makes its changes in a copy of the code."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from conftest import REPOSITORY

PAGE = (REPOSITORY / "docs" / "extending.md").read_text()
FILES: dict[str, str] = dict(re.findall(r"^\*\*`([\w./-]+)`\*\*\n\n```\w+\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE))
"""By their paths."""
COMMANDS = [
    line for block in re.findall(r"^```sh\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE) for line in block.splitlines()
]
COPIED = ("ray_gym", "envs", "deployments", "docs", "pyproject.toml", "tests/gateway/test_every_endpoint.py")


def command(start: str) -> list[str]:
    """Returns the words of the page's only command that starts so, after that start."""
    [found] = [line for line in COMMANDS if line.startswith(start)]
    return found.removeprefix(start).split()


def write_files(folder: Path) -> None:
    for path, text in FILES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


def copied(folder: Path) -> Path:
    """Copies the code, to be changed. `ray_gym/envs` and `ray_gym/deployments` stay links into the copy."""
    for name in COPIED:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if (REPOSITORY / name).is_dir():
            shutil.copytree(
                REPOSITORY / name, folder / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__")
            )
        else:
            shutil.copy(REPOSITORY / name, folder / name)
    return folder


def change(folder: Path, heading: str) -> None:
    """Make the changes of a section: each piece is found once in its file, or the page has been left behind."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    [diff] = re.findall(r"^```diff\n(.*?)^```", section, re.DOTALL | re.MULTILINE)
    for path, pieces in re.findall(r"^--- (\S+)\n\+\+\+ \1\n(.*?)(?=^--- |\Z)", diff, re.DOTALL | re.MULTILINE):
        text = (folder / path).read_text()
        for piece in re.split(r"^@@.*\n", pieces, flags=re.MULTILINE)[1:]:
            before, after = (_side(piece, sign) for sign in "-+")
            assert text.count(before) == 1, f"docs/extending.md, {heading}: not once in {path}:\n{before}"
            text = text.replace(before, after)
        (folder / path).write_text(text)


def _side(piece: str, sign: str) -> str:
    return "".join(line[1:] or "\n" for line in piece.splitlines(keepends=True) if line[0] in f" {sign}\n")


def run_in(folder: Path, *arguments: str) -> str:
    """Runs a Python in which `ray_gym` is that of the folder; returns what it printed."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout
