"""Checks that a worker that is not root opens sandboxes under bubblewrap, too."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pydantic
import pytest
from sandboxes import bubblewrap

pytestmark = pytest.mark.agents
REPOSITORY = Path(__file__).resolve().parents[2]
NOBODY: dict[str, Any] = {"user": 65534, "group": 65534, "extra_groups": []}
SCRIPT = """
import asyncio, os
from ray_gym.sandbox import SandboxLimits
from ray_gym.sandbox.bubblewrap import BubblewrapSandbox

async def main():
    sandbox = await BubblewrapSandbox().open(SandboxLimits(memory_mb=128, processes=64, disk_mb=16))
    ended = await sandbox.run(["bash", "-c", "bomb() { bomb | bomb & }; bomb; sleep 99"], output_bytes=10)
    changed = await sandbox.run(["sh", "-c", "id -u; echo > /proc/sys/kernel/core_pattern || echo > /usr/here"])
    await sandbox.close()
    print(os.getuid(), ended.ended, changed.stdout, changed.exit_code)

asyncio.run(main())
"""


def python_of_nobody() -> str:
    """Returns a Python that every user can run, with the modules of this one. Skips the test without one."""
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    for python in (sys.executable, f"/usr/bin/python{version}"):
        command = [python, "-c", "import pydantic, ray_gym"]
        with contextlib.suppress(OSError):
            if subprocess.run(command, **environment(), capture_output=True, check=False).returncode == 0:
                return python
    pytest.skip("another user can run no Python with the modules of this one: it, or they, lie in a folder of root's")


def environment() -> dict[str, Any]:
    modules = Path(pydantic.__file__).parents[1]
    return {**NOBODY, "env": {"PYTHONPATH": f"{REPOSITORY}:{modules}", "PATH": os.environ["PATH"]}, "cwd": "/"}


def test_a_worker_that_is_not_root_has_the_same_walls() -> None:
    bubblewrap()
    if os.getuid() != 0:
        pytest.skip("the other tests run as a user that is not root already")
    python = python_of_nobody()
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # pytest's own are for this user alone
        Path(folder).chmod(0o777)
        how = environment()
        how["env"]["TMPDIR"] = folder
        ran = subprocess.run([python, "-c", SCRIPT], **how, capture_output=True, text=True, timeout=120, check=False)
        assert ran.stdout == "65534 processes b'1000\\n' 2\n", ran
        assert list(Path(folder).glob("*/*")) == []
