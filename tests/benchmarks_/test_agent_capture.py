"""Checks the benchmark of captures: each way answers and records all calls of its clients, and the figures are right."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from benchmarks.agent_capture.__main__ import (
    NEMO_GYM,
    OURS,
    SANDBOX,
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

VENVS = {VERIFIERS: ("RAY_GYM_VERIFIERS_PYTHON", "verifiers"), NEMO_GYM: ("RAY_GYM_NEMO_PYTHON", "nemo-gym")}
"""Variables that name the Pythons of the packages, and the folders where `make verifiers` and `make nemo-gym` put them."""


def their_pythons() -> dict[str, Path]:
    usual = {name: cache_dir() / folder / "bin" / "python" for name, (_, folder) in VENVS.items()}
    return {name: Path(os.environ.get(variable) or usual[name]) for name, (variable, _) in VENVS.items()}


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


@pytest.mark.agents
def test_a_host_that_does_not_come_up_is_told() -> None:
    with pytest.raises(MeasurementFailed, match="its host did not come up"):
        measure(Way("none", ("false",)), 1, 1)


def assert_it_captures(way: Way) -> None:
    found = measure(way, conversations=6, at_once=3)
    assert found.calls_per_s > 0 and found.cpu_ms > 0 and found.p50_ms > 0


@pytest.mark.agents
@pytest.mark.parametrize("name", [OURS, SANDBOX])
def test_ours_answers_and_captures_all_calls(name: str) -> None:
    here = Path(sys.executable)
    [way] = [way for way in ways(here, here) if way.name == name]
    assert_it_captures(way)


@pytest.mark.agents
@pytest.mark.parametrize("name", [VERIFIERS, NEMO_GYM])
def test_all_calls_are_answered_and_captured(name: str) -> None:
    """Skips without the venv of the package; where all parts have to be had, it fails."""
    pythons = {one: python if one == name else Path(sys.executable) for one, python in their_pythons().items()}
    try:
        [way] = [way for way in ways(pythons[VERIFIERS], pythons[NEMO_GYM]) if way.name == name]
    except MeasurementFailed as error:
        pytest.fail(str(error)) if os.environ.get("RAY_GYM_TEST_ALL") else pytest.skip(str(error))
    assert_it_captures(way)
