"""Opens sandboxes for tests, and looks at what they leave on this machine."""

from __future__ import annotations

import asyncio
import os
import shutil
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
