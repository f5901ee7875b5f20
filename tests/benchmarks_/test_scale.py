"""The axes and the verdict of what work costs as it grows."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import REPOSITORY

from benchmarks.cases import Load, Played
from benchmarks.lag import Lags
from benchmarks.measure import Cost, Costs, Trace
from benchmarks.memory import memory_at
from benchmarks.orchestration import Measured
from benchmarks.scale import AXES, Line, broken, loads, main

NOTHING = Cost(0, 0)


def line(axis: str, value: int, cpu_s_a_call: float = 0.0001, growth: float = 0.0, lag_s: float = 0.001) -> Line:
    episodes = value if axis == "episodes" else 10_000
    load = Load(episodes, value if axis == "in_flight" else 256, 2)
    calls = 11 * episodes
    lags = Lags(worker=(lag_s,))
    played = Played(0, 1, 11, episodes, episodes, episodes, model_calls=calls, sampled=episodes, lags=lags)
    costs = Costs(NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, Cost(cpu_s_a_call * calls, 2**20))
    return Line(axis, value, Measured(load, played, costs, 0.0), growth)


def test_one_axis_at_a_time_is_varied() -> None:
    base = Load(10_000, 256, 2)
    found = list(loads(list(AXES), None, base))
    assert [value for axis, value, _ in found if axis == "workers"] == [1, 2, 4, 8]
    for axis, value, load in found:
        name = {"in_flight": "concurrency"}.get(axis, axis)
        changed = {field for field in Load.__dataclass_fields__ if getattr(load, field) != getattr(base, field)}
        assert getattr(load, name) == value and changed <= {name}
    assert [load.raylets for _, _, load in loads(["raylets"], [3], base)] == [3]


def test_what_grows_is_told() -> None:
    assert broken([line("episodes", 10_000), line("episodes", 100_000, 0.000109), line("in_flight", 1024)]) == []
    (dearer,) = broken([line("episodes", 10_000), line("episodes", 100_000, 0.000112)])
    assert "1.12 times" in dearer
    (grown,) = broken([line("episodes", 100_000, growth=0.2)])
    assert "grew by 20%" in grown
    (late,) = broken([line("in_flight", 1024, lag_s=0.06), line("in_flight", 4096, lag_s=0.06)])
    assert late == "in_flight 1024: p99 of the workers' lag is 60 ms"


def test_memory_between_two_looks_is_that_of_the_nearer_one() -> None:
    trace = Trace(set(), times=[0.0, 1.0, 2.0, 3.0], cpu_s=[0.0] * 4, memory=[0, 10, 20, 60])
    assert memory_at(trace, 2.0, window_s=1.0) == 20
    assert memory_at(trace, 1.7, window_s=0.1) == 20
    assert memory_at(trace, 0.1, window_s=0.2) == 10  # nothing was known of it then


def test_nothing_is_said_of_work_that_was_not_whole() -> None:
    whole = line("workers", 4)
    assert "rows in Parquet" in broken([Line("workers", 4, Measured(Load(9, 4, 4), *_rest(whole.measured)), 0.0)])[0]


@pytest.mark.ray
def test_two_workers_on_two_raylets(tmp_path: Path) -> None:
    out = tmp_path / "numbers.json"
    sizes = ["--episodes", "60", "--concurrency", "8", "--json", str(out)]
    command = [sys.executable, "-m", "benchmarks.scale", "--axes", "raylets", "--values", "2", *sizes]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=200, check=False)
    report = json.loads(out.read_text()) if out.exists() else done.stderr
    problems = [problem for problem in report["problems"] if "lag" not in problem]  # other programs make it late
    assert problems == [], report
    (found,) = report["lines"]
    assert (found["axis"], found["value"]) == ("raylets", 2) and found["CPU-ms a call"] > 0


def _rest(measured: Measured) -> tuple[Played, Costs, float]:
    return measured.played, measured.costs, measured.cores_elsewhere


@pytest.mark.parametrize(
    "arguments", [["--episodes", "60", "--concurrency", "64"], ["--axes", "in_flight", "--episodes", "4096"]]
)
def test_more_in_flight_than_there_are_episodes_is_no_measurement(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2 and "episodes can't be in flight" in capsys.readouterr().err


def test_more_workers_than_episodes_in_flight_is_no_measurement(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--axes", "workers", "--values", "2", "4", "--concurrency", "3"])
    assert ended.value.code == 2 and "workers 4: 4 workers can't share 3" in capsys.readouterr().err
