"""Checks that driver and workers import only what a run needs: imports take most of the time to its first step."""

from __future__ import annotations

import subprocess
import sys

import pytest
from conftest import REPOSITORY

MODELS = ("vllm", "torch", "transformers", "huggingface_hub", "ray.serve")
HTTP = ("aiohttp", "fastapi", "httpx", "starlette", "uvicorn")
TABLES = ("pandas", "pyarrow.compute", "pyarrow.dataset")
HEAVY = [*MODELS, *HTTP, *TABLES]

COMMAND = "import ray_gym.cli.app"
DRIVER = f"""
{COMMAND}
from pathlib import Path
from ray_gym.config.file import read_config
from ray_gym.run import submit
from ray_gym.run.plan import make_plan

path = Path("configs/tic_tac_toe_scripted.yaml")
make_plan(read_config(path), path)
"""
WORKER = """
import ray_gym.run.worker.worker, ray_gym.run.directory.posix_storage, ray_gym.metrics.ray_export
import ray_gym.envs.tic_tac_toe.players
"""


@pytest.mark.clock
@pytest.mark.parametrize(
    ("script", "refused"),
    [
        ("import ray_gym", ["ray", "pydantic", "pyarrow", *HEAVY]),
        (COMMAND, ["ray", *HEAVY]),
        (DRIVER, HEAVY),
        (WORKER, HEAVY),
    ],
    ids=["package", "command", "driver", "worker"],
)
def test_a_scripted_run_imports_nothing_of_these(script: str, refused: list[str]) -> None:
    asked = f"import sys\n{script}\nprint([name for name in {refused} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", asked], cwd=REPOSITORY, capture_output=True, text=True, timeout=100, check=True
    )
    assert done.stdout.strip() == "[]"
