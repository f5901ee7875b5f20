"""Finds Pythons with packages of other projects that read what is written here, and runs scripts of tests in them."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ray_gym.deployments.small_model import cache_dir

SCRIPTS = Path(__file__).parent / "export"


def nemo_python() -> Path:
    """Returns a Python that has nemo-gym: RAY_GYM_NEMO_PYTHON, or the one that `make nemo-gym` made. Skips the test, or
    fails it, as `readers_python` does.
    """
    return _python("RAY_GYM_NEMO_PYTHON", "nemo-gym", "nemo-gym")


def readers_python() -> Path:
    """Returns a Python that has harbor, openenv, wandb and mlflow: RAY_GYM_READERS_PYTHON, or the one that `make readers`
    made. Skips the test without one; where all parts have to be had, it fails.
    """
    return _python("RAY_GYM_READERS_PYTHON", "readers", "harbor, openenv, wandb and mlflow")


def read_by(python: Path, script: str, *arguments: Path | str, within_s: float = 200) -> Any:
    """Runs a script of `tests/export`, and returns the JSON value on the last line of its output."""
    words = [str(python), str(SCRIPTS / script), *map(str, arguments)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=within_s, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def _python(variable: str, folder: str, packages: str) -> Path:
    given = os.environ.get(variable)
    path = Path(given) if given else cache_dir() / folder / "bin" / "python"
    if path.is_file():
        return path
    reason = f"no venv with {packages}: run `make {folder}`, or set {variable}"
    pytest.fail(reason) if os.environ.get("RAY_GYM_TEST_ALL") else pytest.skip(reason)
