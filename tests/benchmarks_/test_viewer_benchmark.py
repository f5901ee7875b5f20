"""The benchmark of the viewer measures what it says, on a run that is small enough for a test."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("duckdb")
from benchmarks.viewer.__main__ import Measured, main

pytestmark = pytest.mark.clock


def test_figures_of_a_small_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--episodes", "1000", "--no-browser", "--json", str(tmp_path / "figures.json")])
    told = capsys.readouterr().out
    figures = {one["figure"]: one for one in json.loads((tmp_path / "figures.json").read_text())["figures"]}
    assert figures["count of 'needle' (s)"][""] == "10 hits" and figures["count of 'nowhere' (s)"][""] == "0 hits"
    assert "first 50 hits of 'needle' (s)" not in figures, "there are no 50"
    assert 0 < figures["first page (s)"]["value"] <= figures["whole index (s)"]["value"]
    assert 20 < figures["most memory (MB)"]["value"] < 1000 and all(name in told for name in figures)


def test_a_bound_is_from_above_or_from_below() -> None:
    assert Measured("seconds", 1, 2).holds() and not Measured("seconds", 3, 2).holds()
    assert Measured("frames", 60, 30, is_least=True).holds() and not Measured("frames", 20, 30, is_least=True).holds()
