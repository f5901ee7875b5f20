"""Runs programs beside the tests: what uses Ray in a test is a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from conftest import REPOSITORY

HERE = Path(__file__).parent


def run(program: str, *arguments: object, environment: Mapping[str, str], within_s: float) -> None:
    """Runs a program to its end, and fails with its output unless it exits with 0 in time."""
    command = [sys.executable, str(HERE / program), *map(str, arguments)]
    path = {"PYTHONPATH": f"{REPOSITORY}:{REPOSITORY / 'tests'}:{HERE}"}
    with subprocess.Popen(
        command,
        env={**environment, **path},
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as running:
        try:
            said, _ = running.communicate(timeout=within_s)
        except subprocess.TimeoutExpired:
            running.kill()
            said, _ = running.communicate()
            raise AssertionError(f"{program} has not ended within {within_s:g} s:\n{said[-6000:]}") from None
    assert running.returncode == 0, said[-6000:]
    print(said)
