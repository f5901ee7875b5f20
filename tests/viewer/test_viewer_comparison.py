"""The viewer compares two runs as `ray-gym stats` does, once for each state of the two, and reads a trainer's curves."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import kept_variables

pytest.importorskip("duckdb")
pytest.importorskip("statsmodels")
from shown_runs import damage, episode, sample, write
from starlette.testclient import TestClient

from ray_gym.cli import main
from ray_gym.viewer import comparison
from ray_gym.viewer.app import make_app
from ray_gym.viewer.places import Places


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, better in (("before", 0.0), ("after", 0.25)):
        rows = [episode(number, (number % 5) / 8 + better * (number % 3) / 2) for number in range(24)]
        write(tmp_path / name, *rows)
    write(tmp_path / "other", episode(0, task_id="elsewhere"))
    return tmp_path


@pytest.fixture
def web(folder: Path) -> Iterator[TestClient]:
    with TestClient(make_app(Places.of([str(folder)]))) as web:
        yield web


def compared(web: TestClient, a: str = "before", b: str = "after") -> Any:
    return web.get("/api/compare", params={"a": a, "b": b}).json()


def test_it_says_what_the_command_says(web: TestClient, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["ray-gym", "stats", str(folder / "before"), str(folder / "after"), "--success", ">=0.5", "--json"]
    with kept_variables() as patch, pytest.raises(SystemExit):
        patch.setattr(sys, "argv", asked)
        main()
    told = json.loads(capsys.readouterr().out)["comparison"]
    found = compared(web)
    assert found["comparison"] == told and found["remarks"] == []
    reward = found["comparison"]["numbers"]["reward"]
    assert reward["difference"]["interval"]["low"] is not None and reward["p_adjusted"] is not None


def test_it_is_computed_once_for_a_state_of_the_runs(
    web: TestClient, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    monkeypatch.setattr(comparison, "_collected", lambda run, remarks: made.append(run) or _collected(run, remarks))
    assert compared(web) == compared(web) and len(made) == 2
    write(folder / "after", episode(90, 1.0), number=2)
    assert compared(web)["comparison"]["only_second"] == 1 and len(made) == 4


_collected = comparison._collected


def test_what_can_not_be_compared_is_told(web: TestClient, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert compared(web, b="other")["why"] == "no differences: the two runs have no task in common"
    damage(write(folder / "after", *(episode(number) for number in range(40, 44)), number=3), 0)
    assert "damaged" in compared(web)["remarks"][0]
    monkeypatch.setattr(comparison, "find_spec", lambda name: None)
    found = compared(web)
    assert found["comparison"] is None and "pip install 'ray-gym[stats]'" in found["why"]


def test_staleness_is_how_far_a_row_is_behind_the_newest_before_it(web: TestClient, folder: Path) -> None:
    for number, version in ((1, 5), (2, 3), (3, 7)):
        write(folder / "aged", episode(number, samples=[sample(version=version)]), number=number)
    assert [row["version"] for row in web.get("/api/runs/aged/versions").json()] == [3, 5, 7]
    rows = web.get("/api/runs/aged/episodes").json()
    assert [(row["version"], row["staleness"]) for row in rows["rows"]] == [(5, 0), (3, 2), (7, 0)]
    assert rows["figures"]["mean_staleness"] == pytest.approx(2 / 3)
    write(folder / "aged", episode(4, samples=[sample(version=6)]), episode(5, samples=[]), number=4)
    later = web.get("/api/runs/aged/episodes", params={"sort": "-staleness"}).json()["rows"]
    assert [row["staleness"] for row in later] == [2, 1, 0, 0, None]


def test_a_trainers_curves_are_read_in_the_run_or_beside_it(web: TestClient, folder: Path) -> None:
    assert web.get("/api/runs/before/training").json() is None
    curves = {"step": [1, 2], "kl": [0.1, float("nan")], "task_ids": [["a"], ["b"]]}
    pq.write_table(pa.table(curves), folder / "curves.parquet")
    found = web.get("/api/runs/before/training").json()
    assert found["steps"] == [1, 2] and found["curves"] == {"kl": [0.1, None]}
    pq.write_table(pa.table({"loss": [3, 2, 1]}), folder / "before" / "curves.parquet")
    found = web.get("/api/runs/before/training").json()
    assert found["steps"] == [1, 2, 3] and found["curves"] == {"loss": [3, 2, 1]}
    (folder / "before" / "curves.parquet").write_bytes(b"PAR1 half")
    refused = web.get("/api/runs/before/training")
    assert refused.status_code == 400 and "these curves can't be read" in refused.json()["error"]
