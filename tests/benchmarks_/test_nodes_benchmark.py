"""A submitted run on three nodes, small: one joins and one is killed; and what the verdict rests on."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
from conftest import REPOSITORY

from benchmarks.nodes.__main__ import Shown


@pytest.mark.long
@pytest.mark.ray
@pytest.mark.timeout(700)
def test_a_node_joins_and_another_is_killed() -> None:
    small = ["--episodes", "900", "--concurrency", "60", "--delay", "0.7"]
    command = [sys.executable, "-m", "benchmarks.nodes", *small]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "rows: 900, episodes: 900" in done.stdout
    assert "every episode ended once, on all nodes" in done.stdout


def shown(rows: int = 4, played: tuple[int, ...] = (1, 1, 1, 1), lost: int = 1) -> Shown:
    nodes = [{"address": name, "workers": 1, "episodes": count} for name, count in zip("abcd", played, strict=True)]
    found: list[dict[str, Any]] = [
        {"episode_id": str(number), "status": "completed", "events": [{}]} for number in range(rows)
    ]
    return Shown(found, {"nodes": nodes, "recovery": {"workers_lost": lost}}, 4, "c", "d", 1.0, ("a", "b", "c"))


def test_what_is_missing_is_told() -> None:
    assert shown().problems() == []
    assert shown(rows=3).problems() == ["3 rows of 3 episodes, 4 were asked for"]
    twice = shown(rows=3)
    assert replace(twice, rows=[*twice.rows, twice.rows[0]]).problems() == ["4 rows of 3 episodes, 4 were asked for"]
    assert shown(played=(2, 2, 0, 0)).problems() == ["no episodes on c, d"]
    assert shown(played=(1, 1, 1, 2)).problems() == ["the nodes have 5 episodes by summary.json"]
    assert "no worker was lost with c" in shown(lost=0).problems()[0]
    failed = shown()
    failed.rows[0]["status"] = "failed"
    assert failed.problems() == ["1 rows are not of completed games"]
