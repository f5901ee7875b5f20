"""The benchmark measures what it says: its arithmetic, its table, and that its episode is the one that it describes."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import REPOSITORY

from benchmarks import orchestration
from benchmarks.cases import CaseResult, Workload, config_of, in_one_process
from benchmarks.chat_environment import TURNS
from benchmarks.measure import LOOK_EVERY_S, Cost, Costs, MeasurementFailed, ResourceTrace, run_watched
from benchmarks.orchestration import Measured, table
from ray_gym.episode.stage import Stage
from ray_gym.play.play import play
from ray_gym.record.rows import row_of
from ray_gym.run.plan import make_plan

BURNT_S = 0.8
BURN = f"import time\nwhile time.process_time() < {BURNT_S}: pass"


def test_table_aligns_numbers_and_leaves_out_what_was_not_measured() -> None:
    lines = [
        {"players": "Ray", "in flight": 64, "calls/s": 12345.6, "CPU-ms": 0.1234, "start s": 1.26},
        {"players": "one process", "in flight": 4096, "calls/s": 98.76, "CPU-ms": 12.3, "start s": None},
    ]
    assert table(lines).splitlines() == [
        "| players     | in flight | calls/s | CPU-ms | start s |",
        "| ----------- | --------: | ------: | -----: | ------: |",
        "| Ray         |        64 |   12346 |  0.123 |     1.3 |",
        "| one process |      4096 |    98.8 |   12.3 |         |",
    ]
    assert table([]) == ""


def burn_in_a_child() -> tuple[float, float]:
    began = time.time()
    subprocess.run([sys.executable, "-c", BURN], check=True)
    time.sleep(3 * LOOK_EVERY_S)
    return began, time.time()


@pytest.mark.clock
def test_the_cpu_time_of_a_process_that_has_ended_counts() -> None:
    window, watch = run_watched(burn_in_a_child)
    costs = watch.costs(*window)
    burnt = costs.others
    assert burnt.cpu_s == pytest.approx(BURNT_S, abs=2 * LOOK_EVERY_S)
    assert burnt.peak_bytes > 2**20
    assert costs.driver.cpu_s < BURNT_S / 2
    assert costs.workers == costs.replicas == costs.double == Cost(0, 0)
    assert costs.ours == costs.driver
    assert 0 <= watch.cores_elsewhere(*window) <= (os.cpu_count() or 1)


def raise_an_error() -> None:
    raise ValueError("a case that breaks")


@pytest.mark.clock
def test_a_case_that_raises_is_no_measurement() -> None:
    with pytest.raises(MeasurementFailed, match="raise_an_error ended with exit code 1"):
        run_watched(raise_an_error)


def test_cost_in_a_window_is_read_between_looks_and_memory_is_that_of_one_moment() -> None:
    first = ResourceTrace({"ray::Worker"}, times=[10, 11, 12, 13], cpu_s=[0, 0.5, 1.5, 2.0], memory=[0, 300, 100, 900])
    ended = ResourceTrace({"ray::Worker"}, times=[10, 11, 12], cpu_s=[0, 0.25, 1.0], memory=[0, 50, 200])
    cost = Cost.of([first, ended], start=10.5, end=12.5)
    assert cost.cpu_s == pytest.approx((1.75 - 0.25) + (1.0 - 0.125))
    assert cost.peak_bytes == 350


@pytest.mark.parametrize(
    ("titles", "role"),
    [
        ({"ray::IDLE", "ray::Worker.exchange"}, "worker"),
        ({"ray::ServeReplica:app:Model"}, "replica"),
        ({"ray::IDLE"}, "other"),
        ({"ray::DashboardAgent"}, "other"),
        ({"/somewhere/raylet"}, "other"),
        (set(), "other"),
    ],
)
def test_processes_of_ours_are_told_from_those_of_ray(titles: set[str], role: str) -> None:
    assert ResourceTrace(titles, [], [], []).role == role


def test_an_episode_is_five_turns_of_each_side_with_one_tool_call(tmp_path: Path) -> None:
    plan = make_plan(config_of(Workload(episodes=1, concurrency=1), tmp_path), Path("orchestration.yaml"))
    models = {name: engine.connect() for name, engine in plan.engines.items()}
    played = asyncio.run(play(plan.specs[0], Stage(plan.environment, plan.participants, models, plan.config.limits)))
    row = row_of(played, "run", "chat")
    assert (row["status"], row["stop_reason"], row["reward"]) == ("completed", "max_turns", 1.0)
    assert [turn.speaker for turn in played.episode.turns] == ["policy", "user"] * TURNS
    assert (TURNS, row["turns"]) == (5, 5)
    assert (row["usage"]["model_calls"], row["usage"]["tool_calls"], row["usage"]["tool_errors"]) == (11, 1, 0)


def test_episodes_really_are_in_flight_at_once(tmp_path: Path) -> None:
    plan = make_plan(config_of(Workload(episodes=2, concurrency=2), tmp_path), Path("orchestration.yaml"))
    models = {name: engine.connect() for name, engine in plan.engines.items()}
    stage = Stage(plan.environment, plan.participants, models, plan.config.limits)

    async def both() -> list[float]:
        played = await asyncio.gather(*(play(spec, stage) for spec in plan.specs))
        return [moment for one in played for moment in (one.episode.started_at, one.ended_at)]

    first_began, first_ended, second_began, second_ended = asyncio.run(both())
    assert first_began < second_ended and second_began < first_ended


def test_one_process_writes_every_episode() -> None:
    played = in_one_process(Workload(episodes=30, concurrency=8))
    assert (played.rows, played.episode_ids, played.completed, played.model_calls) == (30, 30, 30, 330)
    assert played.asked_at <= played.began_at < played.ended_at


@pytest.mark.ray
@pytest.mark.clock
def test_models_behind_serve_and_over_http_play_the_same_through_ray(tmp_path: Path) -> None:
    """The run starts its own cluster, also where there is another: it is what is measured."""
    out = tmp_path / "numbers.json"
    sizes = ["--episodes", "80", "--concurrency", "8", "--workers", "1", "--delay-ms", "20"]
    command = [sys.executable, "-m", "benchmarks.orchestration", "--models", "serve", "http", "--only-ray", *sizes]
    done = subprocess.run(
        [*command, "--json", str(out)], cwd=REPOSITORY, capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    cases = {case["model"]: case for case in json.loads(out.read_text())["cases"]}
    assert {name: case["episodes"] for name, case in cases.items()} == {"serve": 80, "http": 80}
    serve, http = cases["serve"], cases["http"]
    assert serve["replicas'"] is not None and serve["double's"] is None
    assert serve["replica p99"] is not None and http["replica p99"] is None
    assert http["replicas'"] is None and http["double's"] is not None
    for case in cases.values():
        assert case["measured"]["played"]["model_calls"] == 880
        assert case["p99"] is not None and case["CPU-ms a call"] > 0


@pytest.mark.parametrize(("rows", "exit_code"), [(10, 0), (9, 1)])
def test_numbers_without_all_rows_are_no_success(
    rows: int, exit_code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def measured(case: object, load: Workload) -> Measured:
        played = CaseResult(100.0, 101.0, 103.0, rows, rows, rows, model_calls=11 * rows, sampled=rows)
        costs = Costs(*[Cost(0, 0)] * 5, ours=Cost(0.11, 2**20))
        return Measured(load, played, costs, cores_elsewhere=0.0)

    monkeypatch.setattr(orchestration, "measure", measured)
    out = tmp_path / "numbers.json"
    assert orchestration.main(["--episodes", "10", "--concurrency", "4", "--json", str(out)]) == exit_code
    report = json.loads(out.read_text())
    assert [case["players"] for case in report["cases"]] == ["one process, no Ray", "Ray, 2 workers"]
    assert report["cases"][0]["episodes/s"] == rows / 2
    assert bool(report["problems"]) == bool(exit_code)
    printed = capsys.readouterr()
    assert report["command"] in printed.out and report["machine"]["cpu"] in printed.out
    assert ("9 rows in Parquet" in printed.err) == bool(exit_code)


def test_each_durability_is_a_case_on_ray_and_one_process_has_no_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measured(case: object, load: Workload) -> Measured:
        played = CaseResult(100.0, 101.0, 103.0, 10, 10, 10, model_calls=110, sampled=10)
        return Measured(load, played, Costs(*[Cost(0, 0)] * 6), cores_elsewhere=0.0)

    monkeypatch.setattr(orchestration, "measure", measured)
    out = tmp_path / "numbers.json"
    sizes = ["--episodes", "10", "--concurrency", "4", "--json", str(out)]
    assert orchestration.main([*sizes, "--durability", "off", "process", "disk"]) == 0
    found = [(case["players"], case["journal"]) for case in json.loads(out.read_text())["cases"]]
    on_ray = [("Ray, 2 workers", durability) for durability in ("off", "process", "disk")]
    assert found == [("one process, no Ray", "none"), *on_ray]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--episodes", "100", "--concurrency", "64", "256"], "--episodes 100: 256 of them are to be in flight"),
        (["--concurrency", "3", "--workers", "4"], "--workers 4: each plays an episode at least, and 3 are in flight"),
    ],
)
def test_what_can_not_be_in_flight_is_no_measurement(
    arguments: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        orchestration.main(arguments)
    assert ended.value.code == 2 and problem in capsys.readouterr().err
