"""Runs scripts of tests in the venvs of trainers, which `make trainer NAME=...` makes in the cache folder.

A test of the part `trainers` takes the fixture `in_venv_of`, and asserts on what its script prints: one JSON value on
the last line of its output. Without the venv such a test is skipped, except in `make test-trainers` and `make test-all`,
which make all venvs and where it fails.
"""

from __future__ import annotations

import contextlib
import json
import os
import runpy
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
from conftest import PATIENT

REPOSITORY = Path(__file__).resolve().parents[1]
SCRIPTS = REPOSITORY / "tests" / "trainers"
VENVS = runpy.run_path(str(REPOSITORY / ".ci" / "trainer_venv.py"))
"""Names of the program that makes the venvs."""


@dataclass(frozen=True)
class TrainerVenv:
    """The venv of a trainer runs scripts of `tests/trainers` with `ray_gym` and this folder on their path."""

    name: str
    python: Path

    @staticmethod
    def script(name: str) -> Path:
        """Returns the path of a script. `name`: its path below `tests/trainers`."""
        return SCRIPTS / name

    def run(self, script: str, *arguments: str, within_s: float, cwd: Path, **variables: str) -> Any:
        """Runs a script, and returns the JSON value on the last line of its output; see `execute`."""
        cwd.mkdir(parents=True, exist_ok=True)
        out, err = self.execute(str(self.script(script)), *arguments, within_s=within_s, cwd=cwd, **variables)
        lines = out.strip().splitlines()
        assert lines, f"{script} printed nothing:\n{err[-6000:]}"
        return json.loads(lines[-1])

    def execute(self, *arguments: str, within_s: float, cwd: Path, **variables: str) -> tuple[str, str]:
        """Runs the venv's Python with these arguments, and returns what it printed: output and errors.

        `variables`: further environment variables. All of its processes are killed after `within_s` seconds. Fails the
        test, with the end of what was printed, if the exit code is not 0 or it takes longer.
        """
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("RAY_", "PYTEST_"))}
        path = os.pathsep.join([str(REPOSITORY), str(SCRIPTS)])
        alone = {"PYTHONPATH": path, "RAY_ADDRESS": "local", "OMP_NUM_THREADS": "1"}
        environment = {**kept, **PATIENT, **alone, **variables}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        with subprocess.Popen([str(self.python), *arguments], cwd=cwd, env=environment, **pipes) as process:
            try:
                out, err = process.communicate(timeout=within_s)
            except subprocess.TimeoutExpired:
                end_family(process.pid)
                out, err = process.communicate()
                pytest.fail(f"{arguments} took more than {within_s:g} s:\n{out[-3000:]}\n{err[-6000:]}")
        if process.returncode:
            pytest.fail(f"{arguments} ended with {process.returncode}:\n{out[-3000:]}\n{err[-6000:]}")
        return out, err


@pytest.fixture
def in_venv_of(request: pytest.FixtureRequest) -> Callable[[str], TrainerVenv]:
    """Gives a function that finds the venv of a trainer by its name, and skips the test if there is none."""

    def find(name: str) -> TrainerVenv:
        if not VENVS["is_made"](name):
            reason = f"no venv of {name} from its present lock: make trainer NAME={name}"
            is_required = request.config.getoption("--part") == "trainers"
            (pytest.fail if is_required else pytest.skip)(reason)
        return TrainerVenv(name, VENVS["folder_of"](name) / "bin" / "python")

    return find


def end_family(pid: int) -> None:
    """Kills a process and all that it has started."""
    with contextlib.suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        for one in [*process.children(recursive=True), process]:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.kill()
