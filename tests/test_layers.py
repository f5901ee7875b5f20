"""The contracts of `[tool.importlinter]` refuse an import that climbs, and each kind of import that they are about."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PLANTED = {
    "ray_gym/tools/answer.py": "from ray_gym.play import session",
    "ray_gym/seeds.py": "from ray_gym import Environment",
    "ray_gym/export/selection.py": "from ray_gym.doctor import clock",
    "ray_gym/run/plan.py": "from ray_gym.envs.tic_tac_toe import players",
    "ray_gym/metrics/table.py": "from benchmarks import measure",
    "deployments/chat/formats.py": "from ray_gym.deployments.vllm import options",
    "envs/blackjack/environment.py": "from ray_gym.envs.calendar import environment",
    "envs/mcqa/environment.py": "import envs",
    "ray_gym/weights/orders.py": "from ray_gym.weights import update",
    "ray_gym/service/api.py": "import torch",
    "ray_gym/cli/show.py": "import ray",
    "ray_gym/attic/__init__.py": "",
}
"""Lines that are put in front of files of a copy of the tree, by file."""

REPORTED = [
    "ray_gym.tools.answer -> ray_gym.play.session (l.1)",
    "ray_gym.seeds -> ray_gym (l.1)",
    "ray_gym.export.selection -> ray_gym.doctor.clock (l.1)",
    "ray_gym.run.plan -> ray_gym.envs.tic_tac_toe.players (l.1)",
    "ray_gym.metrics.table -> benchmarks.measure (l.1)",
    "ray_gym.deployments.chat.formats -> ray_gym.deployments.vllm.options (l.1)",
    "ray_gym.envs.blackjack.environment -> ray_gym.envs.calendar.environment (l.1)",
    "ray_gym.envs.mcqa.environment -> envs (l.1)",
    "No cycles are allowed in ray_gym.weights",
    "ray_gym.service.api -> torch (l.1)",
    "ray_gym.cli.show -> ray (l.1)",
    "ray_gym.attic",
]


def tree(directory: Path) -> Path:
    """Copies what the contracts are about, links as links."""
    for name in ("ray_gym", "envs", "deployments", "benchmarks"):
        shutil.copytree(ROOT / name, directory / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", directory)
    return directory


def lint(directory: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=directory,
        env={**os.environ, "COLUMNS": "240"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Returns the report on a copy of the tree into which all of `PLANTED` is put."""
    directory = tree(tmp_path_factory.mktemp("planted"))
    for name, line in PLANTED.items():
        file = directory / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"{line}\n{file.read_text() if file.exists() else ''}")
    linted = lint(directory)
    assert linted.returncode == 1, linted.stdout
    return linted.stdout


def test_the_tree_as_it_is_keeps_them(tmp_path: Path) -> None:
    linted = lint(tree(tmp_path))
    assert linted.returncode == 0 and " 0 broken" in linted.stdout, linted.stdout


def test_no_contract_keeps_with_the_planted_imports(report: str) -> None:
    assert " 0 kept" in report


@pytest.mark.parametrize("told", REPORTED)
def test_it_names_the_import(report: str, told: str) -> None:
    assert told in report
