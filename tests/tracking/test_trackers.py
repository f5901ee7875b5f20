"""The real clients write the figures of a run offline, and what they wrote is read back."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from made_runs import run_of_rows
from reader_venvs import read_by, readers_python
from versioned_rows import row

from ray_gym.cli.stats_reading import read_run
from ray_gym.tracking.figures import Figures, figures_of

pytestmark = [pytest.mark.trainers, pytest.mark.timeout(600)]
COMMAND = "import sys; sys.path.append(sys.argv.pop(1)); from ray_gym.cli import main; main()"


@pytest.fixture
def games(tmp_path: Path) -> Path:
    """Gives a run of three versions."""
    rows = [row(f"t{n // 4}", float(n % 2), 10 * (n % 3), env_id="tic_tac_toe") for n in range(24)]
    return run_of_rows(tmp_path, "games", rows, planned=24).path


def track(run: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs `ray-gym track` with the packages of the readers' venv behind those of this one."""
    [site] = (readers_python().parent.parent / "lib").glob("python3.*/site-packages")
    command = [sys.executable, "-c", COMMAND, str(site), "track", str(run), *words]
    environment = {**os.environ, **variables}
    return subprocess.run(
        command, capture_output=True, text=True, timeout=200, check=False, env=environment, cwd=run.parent
    )


def figures(run: Path) -> Figures:
    return figures_of(read_run(str(run), versions=True).collected, lambda reward: reward >= 1, {"run": "games"})


def test_wandb_has_figures_and_curves_in_its_file(games: Path) -> None:
    done = track(games, "--to", "wandb", "--project", "mine", WANDB_MODE="offline", WANDB_DIR=str(games.parent))
    assert done.returncode == 0, done.stderr
    [file] = games.parent.glob("wandb/offline-run-*/run-*.wandb")
    found, wanted = read_by(readers_python(), "read_by_wandb.py", file), figures(games)
    summary = {key: value for part in found["summary"] for key, value in part.items()}
    assert wanted.totals.items() <= summary.items()
    points = [{key: value for key, value in one.items() if key[0] != "_"} for one in found["history"]]
    assert [point["version"] for point in points] == [0, 10, 20]
    for point, numbers in zip(points, wanted.by_version.values(), strict=True):
        assert {key.removeprefix("by_version/"): value for key, value in point.items() if key != "version"} == numbers
    assert found["run"][0] == ["mine", "games", ""] and found["config"][0]["run"] == "games"


def test_mlflow_has_figures_and_curves_in_its_store(games: Path) -> None:
    uri = f"sqlite:///{games.parent}/mlflow.db"
    for name in ("first", "second"):
        done = track(games, "--to", "mlflow", "--project", "mine", "--name", name, MLFLOW_TRACKING_URI=uri)
        assert done.returncode == 0, done.stderr
    found, wanted = read_by(readers_python(), "read_by_mlflow.py", uri, "mine"), figures(games)
    assert sorted(run["name"] for run in found) == ["first", "second"]
    for run in found:
        assert run["status"] == "FINISHED" and run["params"]["environments"] == "tic_tac_toe"
        assert {key: [[0, value]] for key, value in wanted.totals.items()}.items() <= run["metrics"].items()
        curve = [[version, numbers["reward"]] for version, numbers in wanted.by_version.items()]
        assert run["metrics"]["by_version/reward"] == curve and len(curve) == 3


def test_a_store_that_refuses_is_said_in_a_line(games: Path) -> None:
    done = track(games, "--to", "mlflow", MLFLOW_TRACKING_URI="ftp://nowhere")
    assert done.returncode == 2 and "--to mlflow: " in done.stderr and "Traceback" not in done.stderr
