"""Checks the figures of a run, the table of the measurement, and that its command continues where it was."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

torch = pytest.importorskip("torch")

from examples.grpo import bench  # noqa: E402
from examples.grpo.outcomes import steps_to  # noqa: E402
from ray_gym.errors import UserError  # noqa: E402


def history(*rewards: float, **changes: Any) -> list[dict[str, Any]]:
    """Returns rows of steps of 4 s: the trainer waits for 2 and learns for 1, and the engine is idle in half of both."""
    row = {"wait_s": 2.0, "learn_s": 1.0, "engine_waits": 0.5, "staleness": 1.0, **changes}
    return [{**row, "reward": reward, "at_s": 10.0 + 4 * step} for step, reward in enumerate(rewards)]


def test_a_reward_is_come_to_by_the_mean_of_five_batches() -> None:
    rewards = history(0.5, 0.9, 0.5, 0.5, 0.5, 0.7, 0.9, 0.9, 0.1)
    assert steps_to(0.7, rewards) == 8 and steps_to(0.58, rewards) == 5
    assert steps_to(0.95, rewards) is None and steps_to(0.1, rewards[:4]) is None


def test_figures_are_those_until_the_reward_without_the_first_step() -> None:
    rows = history(*[0.5] * 4, *[0.8] * 10)
    rows[0] |= {"wait_s": 100.0, "engine_waits": 1.0}
    rows[2] |= {"engine_waits": float("nan")}
    found = bench.figures_of(rows, 0.8)
    assert (found.steps, found.seconds, found.step_s) == (9, 10.0 + 4 * 8, 4.0)
    assert (found.learns, found.waits, found.engine_idle, found.staleness) == (0.25, 0.5, 0.5, 1.0)
    assert bench.figures_of(rows, 0.9).steps is None
    with pytest.raises(ValueError, match="fewer than two steps"):
        bench.figures_of(rows[:1], 0.8)


def test_the_table_has_medians_and_spread_and_counts_runs_that_did_not_come_to_the_reward() -> None:
    runs = [bench.figures_of(history(*[0.5] * wait, *[0.8] * 10), 0.8) for wait in (1, 3, 7)]
    bad = bench.figures_of(history(*[0.5] * 10), 0.8)
    _, _, first, second = bench.table({0: [*runs, bad], 2: [bad]}).splitlines()
    assert first.startswith(
        "| 0, synchronous | 4 | 3 | 8 (6 to 12) | 38 (30 to 54) | 4.0 (4.0 to 4.0) | 25% (25 to 25) |"
    )
    assert second.startswith("| 2 | 1 | 0 | - | - | 4.0 | 25% | 50% | 50% | 1.00 |")


@pytest.fixture
def trainings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Takes trainings for done, and lists the folders in which they were begun."""
    begun: list[str] = []

    def run(command: list[str], check: bool) -> SimpleNamespace:
        folder = Path(command[-1])
        begun.append(folder.name)
        assert not folder.exists(), "an interrupted one begins anew"
        folder.mkdir()
        if folder.name == "staleness-4-run-1" and begun.count(folder.name) == 1:
            return SimpleNamespace(returncode=1)
        pq.write_table(pa.Table.from_pylist(history(*[0.8] * 6)), folder / "curves.parquet")
        (folder / "report.json").write_text("{}")
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr(bench, "subprocess", SimpleNamespace(run=run))
    monkeypatch.setattr(bench, "make_start_model", lambda settings, folder: folder / "model")
    return begun


def test_settings_take_turns_and_the_command_continues(
    tmp_path: Path, trainings: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["bench", "guess", "--staleness", "0", "4", "--runs", "2", "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", words)
    assert bench.main() == 2
    assert trainings == ["staleness-0-run-0", "staleness-4-run-0", "staleness-4-run-1"]
    assert "| 4 | 1 | 1 |" in capsys.readouterr().out, "what is there is told"
    assert bench.main() == 0
    assert trainings[3:] == ["staleness-4-run-1", "staleness-0-run-1"]
    assert bench.main() == 0 and len(trainings) == 5
    assert capsys.readouterr().out.count("| 4 | 2 | 2 |") == 2
    monkeypatch.setattr(sys, "argv", [*words, "--runs", "3", "--minutes", "0"])
    assert bench.main() == 0 and len(trainings) == 5


def test_without_a_finished_run_there_is_no_line(tmp_path: Path) -> None:
    given = SimpleNamespace(out=tmp_path, staleness=[0, 1], runs=3, reward=0.7)
    assert bench.finished(given) == {}  # type: ignore[arg-type]
    assert len(bench.table({}).splitlines()) == 2


def test_a_wrong_task_is_named() -> None:
    with pytest.raises(UserError, match="there is no such task"):
        bench.train_all(SimpleNamespace(task="gues", settings=[]))  # type: ignore[arg-type]
