"""`ray-gym show RUN` prints the figures of the run's environment, where there are any."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from rich.console import Console

from ray_gym import Environment, Task
from ray_gym.cli.show import show_run
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.load import load
from ray_gym.record.schema import as_table, failed_row


class Plain(Environment[Task, None]):
    """Has no metrics."""


class Counted(Environment[Task, None]):
    metrics_columns = ("seed", "status")

    @classmethod
    def metrics(cls, rows: Sequence[Mapping[str, Any]]) -> Mapping[str, float]:
        assert rows[0] == {"seed": 0, "status": "failed"}, "nothing else is read into memory as Python's objects"
        return {"episodes": len(rows), "seeds@[2]": sum(row["seed"] for row in rows) / 2}


class Broken(Environment[Task, None]):
    @classmethod
    def metrics(cls, rows: Sequence[Mapping[str, Any]]) -> Mapping[str, float]:
        raise KeyError("no such [column]")


def shown(directory: Path, env_id: str, episodes: int = 3) -> str:
    folder = directory / "episodes"
    folder.mkdir(parents=True)
    specs = [EpisodeSpec(f"e{seed}", "group", "task", seed, seed, "{}") for seed in range(episodes)]
    if specs:
        rows = [failed_row(spec, "run", env_id, "stopped") for spec in specs]
        pq.write_table(as_table(rows), folder / "a.parquet")
    out = io.StringIO()
    show_run(Console(file=out, width=160), load(directory))
    return out.getvalue()


def test_metrics_are_shown_below_the_episodes(tmp_path: Path) -> None:
    text = shown(tmp_path, "test_show_metrics:Counted")
    assert "metrics: episodes 3.000  seeds@[2] 1.500\n" in text
    assert text.index("e2") < text.index("metrics:") < text.index("one of them")


def test_environments_without_metrics_and_runs_without_episodes_show_none(tmp_path: Path) -> None:
    assert "metrics" not in shown(tmp_path / "plain", "test_show_metrics:Plain").replace("test_show_metrics", "")
    empty = shown(tmp_path / "empty", "test_show_metrics:Counted", episodes=0)
    assert "metrics:" not in empty and "one of them" in empty


def test_a_run_can_be_looked_at_without_its_environment(tmp_path: Path) -> None:
    for name, env_id, why in [
        ("unknown", "chess_on_mars", "there is no environment 'chess_on_mars'"),
        ("module", "no_such_module:Mars", "can't import no_such_module"),
        ("broken", "test_show_metrics:Broken", "KeyError: 'no such [column]'"),
    ]:
        text = shown(tmp_path / name, env_id)
        assert f"the metrics of {env_id} can't be worked out: " in text and why in text
        assert "e2" in text and "one of them" in text
