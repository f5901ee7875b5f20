"""Checks what commands do when stdout, a file on a full disk, can't take what they print."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import REPOSITORY

ROOM = 4096


@pytest.mark.reading
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    "command", [["data", "generate", "--env", "tic_tac_toe", "--n", "200"], ["--help"]], ids=["data", "help"]
)
def test_a_command_fails_in_a_line_if_a_part_is_not_written(
    command: list[str], unbuffered: str, tmp_path: Path
) -> None:
    def fill_up() -> None:  # a file may not grow beyond this; a write up to it is a short one
        resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, ROOM))

    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "PYTHONUNBUFFERED": unbuffered}
    with (tmp_path / "out").open("wb") as out:
        done = subprocess.run(
            [sys.executable, "-m", "ray_gym", *command],
            stdout=out,
            stderr=subprocess.PIPE,
            env={**environment, "PYTHONDONTWRITEBYTECODE": "1"},
            preexec_fn=fill_up,
            text=True,
            timeout=60,
            check=False,
        )
    assert (done.returncode, done.stderr) == (1, "ray-gym: File too large\n")
    assert (tmp_path / "out").stat().st_size == ROOM
