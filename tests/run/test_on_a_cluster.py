"""Whole runs on a real cluster, by the command line, as users and `ray job submit` start them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any

import psutil
import pytest
from conftest import RAY, REPOSITORY, eventually, ray_gym, raylet_children

from ray_gym.load import load
from ray_gym.record.schema import without_volatile

pytestmark = pytest.mark.ray

SCRIPTED = "configs/tic_tac_toe_scripted.yaml"
Environment = dict[str, str]


def play(cluster: Environment, output: Path, *overrides: str, config: str = SCRIPTED) -> Path:
    """Runs a rollout that must end well, and returns its directory."""
    done = ray_gym("rollout", config, f"output.dir={output}", *overrides, environment=cluster)
    assert done.returncode == 0, done.stderr + done.stdout
    (directory,) = (path for path in output.iterdir() if str(path) in done.stdout)
    return directory


def rows(run: Path) -> dict[str, dict[str, Any]]:
    table = load(run).episodes
    found = {row["episode_id"]: without_volatile(row) for row in table.to_pylist()}
    assert len(found) == table.num_rows, "an episode is there twice"
    return found


@cache
def game_value(cells: str, mark: str) -> float:
    """Returns what `mark`, who moves, gets when both play perfectly: 1, 0.5 or 0. Shares no code with players."""
    lines = [cells[i : i + 3] for i in (0, 3, 6)] + [cells[i::3] for i in (0, 1, 2)] + [cells[0::4], cells[2:7:2]]
    opponent = "O" if mark == "X" else "X"
    if opponent * 3 in lines:
        return 0.0
    if "." not in cells:
        return 0.5
    following = (cells[:i] + mark + cells[i + 1 :] for i, cell in enumerate(cells) if cell == ".")
    return max(1 - game_value(after, opponent) for after in following)


def start_of(row: dict[str, Any]) -> tuple[str, str]:
    """The cells a task starts from, and who moves."""
    moves = json.loads(row["task"])["initial_moves"]
    cells = ["."] * 9
    for move in moves:
        cells[move["position"]] = move["mark"]
    return "".join(cells), "X" if not moves or moves[-1]["mark"] == "O" else "O"


@pytest.mark.runs
def test_five_thousand_scripted_episodes(cluster: Environment, tmp_path: Path) -> None:
    """12 s is the promise once Ray is up. Same seed, same rows; another seed, other games; minimax keeps what is its due."""
    first = play(cluster, tmp_path / "a")
    summary = json.loads((first / "summary.json").read_text())
    assert summary["seconds"] + summary["seconds_to_first_lease"] <= 12 and summary["episodes"] == 5000
    again = rows(first)
    otherwise = rows(play(cluster, tmp_path / "b", "fanout.workers=3", "fanout.concurrency=50", "tasks.limit=300"))
    assert len(otherwise) == 1200 and all(again[episode_id] == row for episode_id, row in otherwise.items())
    other = rows(play(cluster, tmp_path / "c", "run.seed=1", "tasks.limit=50"))
    assert not set(other) & set(again)
    games = {row["episode_id"]: [e["tool_calls"] for e in row["events"]] for row in other.values()}
    assert len({str(calls) for calls in games.values()}) > 40
    for row in again.values():
        (due,) = (r["value"] for r in row["rewards"] if r["participant"] == "user")
        cells, mover = start_of(row)
        value = game_value(cells, mover)
        assert due >= (value if mover == "O" else 1 - value), row["episode_id"]


def test_groups_and_ids(cluster: Environment, tmp_path: Path) -> None:
    table = load(play(cluster, tmp_path, "tasks.limit=10", "tasks.repeats=3")).episodes
    groups = (
        table.group_by("group_id").aggregate([("repeat", "count_distinct"), ("task_id", "count_distinct")]).to_pylist()
    )
    assert len(groups) == 10
    assert all(group["repeat_count_distinct"] == 3 and group["task_id_count_distinct"] == 1 for group in groups)


Jobs = dict[str, subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def jobs(cluster: Environment, tmp_path_factory: pytest.TempPathFactory) -> Jobs:
    """Runs `ray job submit` twice at once with the repository as working directory: with an absolute output directory,
    and with a relative one.
    """
    environment = {**cluster, "RAY_ADDRESS": cluster["RAY_GYM_TEST_JOBS"]}
    runs = str(tmp_path_factory.mktemp("jobs"))
    variables = {"RAY_AUTH_TOKEN": cluster["RAY_AUTH_TOKEN"]}
    submit = [RAY, "job", "submit", "--working-dir", ".", "--runtime-env-json", json.dumps({"env_vars": variables})]
    play_it = ["--", "python", "-m", "ray_gym", "rollout", SCRIPTED, "tasks.limit=100"]
    started = {
        output: subprocess.Popen(
            [*submit, *play_it, f"output.dir={output}"],
            env=environment,
            cwd=REPOSITORY,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for output in (runs, "runs")
    }
    told = {output: job.communicate(timeout=200) for output, job in started.items()}
    return {
        output: subprocess.CompletedProcess(job.args, job.returncode, *told[output]) for output, job in started.items()
    }


def test_submitted_job(jobs: Jobs) -> None:
    output, done = next(iter(jobs.items()))
    assert "succeeded" in done.stdout, done.stdout + done.stderr
    (run,) = Path(output).iterdir()
    assert load(run).episodes.num_rows == 400


def test_submitted_job_with_a_relative_directory_is_refused(jobs: Jobs) -> None:
    done = jobs["runs"]
    assert "output.dir: runs is relative" in done.stdout and "Traceback" not in done.stdout
    assert done.returncode != 0


@pytest.mark.runs
def test_two_runs_at_once(cluster: Environment, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ray_gym", "rollout", SCRIPTED, "tasks.limit=300"]
    runs = [
        subprocess.Popen(
            [*command, f"output.dir={tmp_path / name}", "run.seed=3"],
            env=cluster,
            cwd=REPOSITORY,
            stdout=subprocess.DEVNULL,
        )
        for name in ("one", "two")
    ]
    assert [run.wait(timeout=120) for run in runs] == [0, 0]
    one, two = (rows(next((tmp_path / name).iterdir())) for name in ("one", "two"))
    assert len(one) == 1200 and one == two


SLOW_TASKS = 400
"""Four episodes each: at 64 in flight, some 15 s."""


def start_slow(cluster: Environment, output: Path) -> tuple[subprocess.Popen[str], Path]:
    """Starts a run whose games take a while (every answer waits), and waits until it has committed its first file."""
    slow = [
        "models.random.delay_s=0.05",
        "models.minimax.delay_s=0.05",
        "output.roll_s=0.3",
        f"output.dir={output}",
        "run.name=slow",
        f"tasks.limit={SLOW_TASKS}",
    ]
    command = [sys.executable, "-m", "ray_gym", "rollout", SCRIPTED, *slow]
    run = subprocess.Popen(
        command,
        env=cluster,
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    eventually(lambda: list((output / "slow" / "episodes").glob("*.parquet")), 60)
    return run, output / "slow"


def workers_of(cluster: Environment) -> set[int]:
    return {process.pid for process in raylet_children(cluster, "Worker")}


@pytest.mark.chaos
@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGHUP])
def test_a_second_driver_is_refused_interrupt_keeps_what_was_finished_and_resume_plays_the_rest(
    cluster: Environment, tmp_path: Path, by: signal.Signals
) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # these tests may run under nohup, which children inherit
    run, directory = start_slow(cluster, tmp_path)
    signal.signal(signal.SIGHUP, before)
    second = ray_gym("rollout", "--resume", str(directory), environment=cluster)
    assert second.returncode == 2 and "another driver" in second.stderr
    began = time.monotonic()
    os.killpg(run.pid, by)  # what Ctrl-C in a terminal, or closing it, does
    output, _ = run.communicate(timeout=30)
    assert time.monotonic() - began < 10
    assert run.returncode == 1 and "interrupted" in output and "Traceback" not in output
    eventually(lambda: not workers_of(cluster), 10)
    kept = rows(directory)
    assert 0 < len(kept) < 4 * SLOW_TASKS
    assert json.loads((directory / "summary.json").read_text())["episodes"] == len(kept)
    faster = ray_gym("rollout", "--resume", str(directory), "fanout.concurrency=2000", environment=cluster)
    assert faster.returncode == 0, faster.stderr
    whole = rows(directory)
    assert len(whole) == 4 * SLOW_TASKS and all(whole[episode_id] == row for episode_id, row in kept.items())


@pytest.mark.chaos
def test_a_killed_worker_loses_and_doubles_nothing(cluster: Environment, tmp_path: Path) -> None:
    run, directory = start_slow(cluster, tmp_path)
    victim = min(eventually(lambda: workers_of(cluster), 10))
    os.kill(victim, signal.SIGKILL)
    seen = len(list((directory / "episodes").glob("*.parquet")))
    eventually(lambda: len(list((directory / "episodes").glob("*.parquet"))) > seen + 2, 60)
    os.killpg(run.pid, signal.SIGINT)
    run.communicate(timeout=30)
    counted = json.loads((directory / "summary.json").read_text())
    assert counted["episodes"] == sum(counted["status"].values()) == len(rows(directory)), (
        "what was lost is not counted"
    )
    resumed = ray_gym("rollout", "--resume", str(directory), "fanout.concurrency=2000", environment=cluster)
    assert resumed.returncode == 0, resumed.stderr
    assert len(rows(directory)) == 4 * SLOW_TASKS
    summary = json.loads((directory / "summary.json").read_text())
    assert summary["status"] == {"completed": 4 * SLOW_TASKS} and summary["already_done"] == counted["episodes"]


@pytest.mark.chaos
def test_a_worker_that_is_stuck_does_not_hold_up_ctrl_c(cluster: Environment, tmp_path: Path) -> None:
    """Its event loop never comes back; the run is stopped all the same, and the worker with it."""
    (tmp_path / "stuck.py").write_text("def player(request, rng):\n    while True:\n        pass\n")
    output = tmp_path / "runs"
    command = [
        sys.executable,
        "-m",
        "ray_gym",
        "rollout",
        SCRIPTED,
        "models.random.player=stuck:player",
        "run.name=stuck",
    ]
    environment = {**cluster, "PYTHONPATH": str(tmp_path)}
    run = subprocess.Popen(
        [*command, f"output.dir={output}"],
        env=environment,
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    eventually(lambda: any(psutil.Process(pid).cpu_percent(0.2) > 20 for pid in workers_of(cluster)), 60)
    began = time.monotonic()
    os.killpg(run.pid, signal.SIGINT)
    told, _ = run.communicate(timeout=30)
    assert time.monotonic() - began < 10 and run.returncode == 1 and "interrupted: 0 of 5000" in told
    eventually(lambda: not workers_of(cluster), 10)
