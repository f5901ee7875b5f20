"""Opens sandboxes for tests, and looks at what they leave on this machine."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from ray_gym.plugins import find_sandbox
from ray_gym.sandbox import Sandbox, SandboxLimits

SMALL = SandboxLimits(memory_mb=128, processes=64, seconds=20, disk_mb=16)
SLOW_S = 30.0


def bubblewrap() -> None:
    """Skips the test where bubblewrap can't be had; where all parts have to be had, it fails."""
    found = find_sandbox("bubblewrap", "tests")().problem()
    if found is not None:
        reason = f"bubblewrap: {found.found}; {found.mend}"
        pytest.fail(reason) if os.environ.get("RAY_GYM_TEST_ALL") else pytest.skip(reason)


@asynccontextmanager
async def opened(
    kind: str, limits: SandboxLimits = SMALL, door: Path | None = None, **options: Any
) -> AsyncIterator[Sandbox]:
    """Gives a sandbox of a kind, and closes it after the block."""
    found = find_sandbox(kind, "tests")
    sandbox = await found(found.Options(**options)).open(limits, door)
    try:
        yield sandbox
    finally:
        await sandbox.close()


def marked(word: str) -> list[int]:
    """Returns the processes of this machine that have a word in their command line, or are in the namespace of one."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        if process.pid != os.getpid() and any(word in part for part in process.info["cmdline"] or ()):
            found.append(process.pid)
    return found


def left_in(root: Path) -> list[Path]:
    """Returns the folders of sandboxes that there are below the temporary folder `root`."""
    return list(root.glob("ray_gym_sandboxes-*/*"))


async def until(condition: Callable[[], Any], what: str) -> None:
    """Waits until a condition holds."""
    ends = time.monotonic() + SLOW_S
    while not condition():
        assert time.monotonic() < ends, what
        await asyncio.sleep(0.02)


def has(program: str) -> bool:
    """Says whether a program is in PATH."""
    return shutil.which(program) is not None


@pytest.fixture(autouse=True)
def own_root(request: pytest.FixtureRequest) -> Path | None:
    """Puts the folders of a test's sandboxes into a folder of its own, which is empty afterwards; None elsewhere than in
    the tests of sandboxes.
    """
    if request.path.parent.name != "sandbox":
        return None
    tmp_path: Path = request.getfixturevalue("tmp_path")
    request.getfixturevalue("monkeypatch").setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture(params=["process", pytest.param("bubblewrap", marks=pytest.mark.agents)])
def kind(request: pytest.FixtureRequest) -> str:
    """Gives the name of each kind that needs no image; all have the same supervisor, so one of them does for the gate.

    A file whose tests use it needs a word of the part `agents` in its text: others are not read for that part.
    """
    if request.param == "bubblewrap":
        bubblewrap()
    return str(request.param)


@pytest.fixture
async def sandbox(kind: str) -> AsyncIterator[Sandbox]:
    """Gives a sandbox of each of these kinds."""
    async with opened(kind) as sandbox:
        yield sandbox
