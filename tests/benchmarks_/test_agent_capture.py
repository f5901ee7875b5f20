"""Checks the benchmark of captures: each way answers and records all calls of its clients, and the figures are right."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks.agent_capture.__main__ import (
    NEMO_GYM,
    OURS,
    VERIFIERS,
    Round,
    Way,
    main,
    measure,
    ratios,
    summary,
    ways,
)
from benchmarks.measure import MeasurementFailed
from ray_gym.installed.cache import cache_dir

VENVS = {
    "RAY_GYM_VERIFIERS_PYTHON": cache_dir() / "verifiers" / "bin" / "python",
    "RAY_GYM_NEMO_PYTHON": cache_dir() / "nemo-gym" / "bin" / "python",
}


def pythons() -> list[Path]:
    return [Path(os.environ.get(variable) or usual) for variable, usual in VENVS.items()]


def test_ours_is_compared_with_the_faster_of_the_two_in_each_round() -> None:
    figures = [(OURS, 100.0, 1.0), (VERIFIERS, 10.0, 8.0), (NEMO_GYM, 20.0, 4.0)]
    later = [(OURS, 90.0, 1.0), (VERIFIERS, 30.0, 3.0), (NEMO_GYM, 20.0, 4.0)]
    rounds = [Round(name, speed, cpu, 5.0) for name, speed, cpu in (*figures, *later)]
    assert ratios(rounds) == {"calls/s": [5.0, 3.0], "CPU time": [4.0, 3.0]}
    first = summary(rounds)[0]
    assert (first["captured by"], first["calls/s"], first["from"], first["to"]) == (OURS, 95.0, 90.0, 100.0)


def test_a_venv_that_is_missing_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("RAY_GYM_VERIFIERS_PYTHON", "/nowhere/python")
    assert main(["--rounds", "1"]) == 1
    assert "there is no /nowhere/python: make verifiers" in capsys.readouterr().err


def test_a_host_that_does_not_come_up_is_told() -> None:
    with pytest.raises(MeasurementFailed, match="its host did not come up"):
        measure(Way("none", ("false",)), 1, 1)


@pytest.mark.agents
@pytest.mark.parametrize("number", range(4))
def test_all_calls_are_answered_and_captured(number: int) -> None:
    try:
        way = ways(*pythons())[number]
    except MeasurementFailed as error:
        pytest.skip(str(error))
    found = measure(way, conversations=6, at_once=3)
    assert found.calls_per_s > 0 and found.cpu_ms > 0 and found.p50_ms > 0
