"""Tests the wheel without the checkout, in a project that has packages with the names of our folders."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import httpx
import pytest
from conftest import standing_cluster
from installations import (
    OWN,
    VERSIONS,
    Installation,
    build_wheel,
    copy_of_checkout,
    install,
    interpreter,
    packages_with,
)
from projects import write_project
from shown_runs import episode, write

from ray_gym.load import load

pytestmark = [pytest.mark.packaging, pytest.mark.timeout(2400)]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module", params=VERSIONS)
def installed(request: pytest.FixtureRequest, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    python = interpreter(request.param)
    if python is None:
        pytest.skip(f"no python{request.param} that starts (RAY_GYM_PYTHONS names others)")
    return install(wheel, python, tmp_path_factory.mktemp("venvs") / request.param)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write_project(tmp_path / "project")


def test_environments_are_ours_and_theirs(installed: Installation, project: Path) -> None:
    done = installed.run(project, installed.ray_gym, "envs")
    listed = {line.split()[0] for line in done.stdout.splitlines() if line[1:2].strip()}
    assert {"mine", "tic_tac_toe", "math", "aviary"} <= listed, done.stdout + done.stderr


def test_a_config_by_its_name_plays(installed: Installation, project: Path, tmp_path: Path) -> None:
    output = tmp_path / "runs"
    done = installed.run(
        project, installed.ray_gym, "rollout", "tic_tac_toe_scripted", "tasks.limit=10", f"output.dir={output}"
    )
    assert done.returncode == 0, done.stderr
    (run,) = output.iterdir()
    assert load(run).episodes.num_rows == 40


def test_what_is_the_users_own_plays(installed: Installation, project: Path) -> None:
    done = installed.run(project, installed.ray_gym, "rollout", "mine.yaml")
    assert done.returncode == 0, done.stderr
    (run,) = (project / "runs").iterdir()
    assert load(run).episodes["reward"].to_pylist() == [1.0] * 4


def test_a_copy_of_a_config_plays(installed: Installation, project: Path) -> None:
    copy = installed.run(project, installed.ray_gym, "config", "tic_tac_toe_scripted").stdout
    (project / "copied.yaml").write_text(copy)
    done = installed.run(project, installed.ray_gym, "rollout", "copied.yaml", "tasks.limit=2", "output.dir=runs")
    assert done.returncode == 0, done.stderr


def test_what_is_missing_is_told_by_its_extra(installed: Installation, project: Path, tmp_path: Path) -> None:
    for config, extra in {"tic_tac_toe": "cpu", "math": "envs", "gymnasium": "adapters"}.items():
        done = installed.run(project, installed.ray_gym, "rollout", config, RAY_GYM_CACHE=str(tmp_path))
        assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
        assert f"pip install 'ray-gym[{extra}]'" in done.stderr
    assert not (project / "runs").exists()


@pytest.mark.parametrize("installed", [OWN], indirect=True)
def test_the_viewer_has_its_page(installed: Installation, tmp_path: Path) -> None:
    """The packages of its extra are those of the tests' own environment. It comes before the tests that borrow them all."""
    write(tmp_path / "run", episode(0, 1.0))
    refused = installed.run(tmp_path, installed.ray_gym, "view", "run")
    assert refused.returncode == 2 and "pip install 'ray-gym[view]'" in refused.stderr, refused.stderr
    packages = packages_with("duckdb")
    assert packages is not None
    installed.borrow(packages)
    command = [installed.ray_gym, "view", "run", "--port", "0"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=installed.environment(), stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().split()[1]
            page = httpx.get(address, timeout=30).raise_for_status().text
            [script] = re.findall(r'<script [^>]*src="/?([^"]+)"', page)
            assert len(httpx.get(f"{address}{script}", timeout=30).raise_for_status().content) > 10_000
        finally:
            process.terminate()


@pytest.mark.engine
@pytest.mark.parametrize("installed", [OWN], indirect=True)
def test_the_small_model_plays(installed: Installation, project: Path) -> None:
    """The engine is that of the tests' own environment: to install another takes as long as all else here."""
    packages = packages_with("vllm")
    assert packages is not None
    installed.borrow(packages)
    done = installed.run(project, installed.ray_gym, "rollout", "tic_tac_toe", "tasks.limit=2", "tasks.repeats=1")
    assert done.returncode == 0, done.stderr
    (run,) = (project / "runs").iterdir()
    loaded = load(run)
    assert loaded.episodes.num_rows == 2 and len(loaded.samples) > 0


@pytest.mark.ray
@pytest.mark.parametrize("installed", [OWN], indirect=True)
def test_a_submitted_checkout_is_what_runs(installed: Installation, tmp_path: Path) -> None:
    """In the driver and in the workers, though the wheel is installed on the nodes."""
    checkout = copy_of_checkout(tmp_path / "checkout")
    changed = checkout / "envs" / "tic_tac_toe" / "environment.py"
    text = changed.read_text()
    assert text.count('rewards = {"X": 0.5, "O": 0.5}') == text.count("state.winner: 1.0") == 1
    text = text.replace('{"X": 0.5, "O": 0.5}', '{"X": 0.25, "O": 0.25}').replace("winner: 1.0", "winner: 0.75")
    changed.write_text(text)
    with standing_cluster(python=installed.python) as environment:
        variables = {"RAY_AUTH_TOKEN": environment["RAY_AUTH_TOKEN"]}
        submit = [str(installed.folder / "bin" / "ray"), "job", "submit", "--working-dir", "."]
        submit += ["--runtime-env-json", json.dumps({"env_vars": variables})]
        play = ["--", "python", "-m", "ray_gym", "rollout", "tic_tac_toe_scripted", "tasks.limit=50"]
        play.append(f"output.dir={tmp_path / 'runs'}")
        done = installed.run(
            checkout, *submit, *play, **{**environment, "RAY_ADDRESS": environment["RAY_GYM_TEST_JOBS"]}
        )
    assert "succeeded" in done.stdout, done.stdout + done.stderr
    (run,) = (tmp_path / "runs").iterdir()
    rewards = set(load(run).episodes["reward"].to_pylist())
    assert rewards and rewards <= {0.0, 0.25, 0.75} and rewards & {0.25, 0.75}
