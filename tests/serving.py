"""Runs `ray-gym serve` as a user would, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import PATIENT, REPOSITORY, eventually

UP_WITHIN_S = 240
ENDS_WITHIN_S = 60
INHERITED = {key: value for key, value in os.environ.items() if not key.startswith(("RAY_", "PYTEST_"))}
ALONE = {**INHERITED, **PATIENT, "RAY_ADDRESS": "local", "RAY_AUTH_MODE": "disabled"}
"""The environment of one that has a cluster of its own."""


@contextmanager
def serving(
    config: Path, environment: Mapping[str, str], log: Path, *overrides: str
) -> Iterator[subprocess.Popen[bytes]]:
    """Starts a service, and yields it once it is ready. Its output goes to `log`. The block has to end it well: see
    `end`.
    """
    command = [sys.executable, "-m", "ray_gym", "serve", str(config), *overrides]
    with log.open("wb") as output:
        service = subprocess.Popen(command, env=environment, cwd=REPOSITORY, stdout=output, stderr=subprocess.STDOUT)
    try:
        eventually(lambda: service.poll() is not None or "ready: " in log.read_text(), UP_WITHIN_S)
        assert service.poll() is None, log.read_text()
        yield service
    finally:
        service.kill()
        service.wait()


def end(service: subprocess.Popen[bytes], log: Path, by: int) -> None:
    """Ends a service by a signal, and waits until it has taken down what it started."""
    service.send_signal(by)
    try:
        assert service.wait(timeout=ENDS_WITHIN_S) == 0, log.read_text()
    except subprocess.TimeoutExpired:
        pytest.fail(f"it is still there after {ENDS_WITHIN_S} s, and said {log.read_text()[-2000:]!r}")
