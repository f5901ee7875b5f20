"""The version is that of the code that runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from conftest import REPOSITORY

import ray_gym
from ray_gym.installed.place import is_installed

VERSION = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["version"]


def printed(folder: Path) -> str:
    command = [sys.executable, "-m", "ray_gym", "--version"]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60).stdout


def test_a_checkout_that_is_installed(tmp_path: Path) -> None:
    assert is_installed() and ray_gym.__version__ == VERSION
    assert printed(REPOSITORY) == f"ray-gym {VERSION}\n"


def test_a_checkout_that_is_not_installed_says_so_though_another_is(tmp_path: Path) -> None:
    shutil.copytree(REPOSITORY / "ray_gym", tmp_path / "ray_gym", ignore=shutil.ignore_patterns("__pycache__"))
    assert printed(tmp_path) == f"ray-gym 0+unknown (not installed: {tmp_path})\n"
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "ray-gym"\nversion = "7.8.9"\n')
    assert printed(tmp_path) == f"ray-gym 7.8.9+checkout (not installed: {tmp_path})\n"
