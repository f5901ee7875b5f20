"""Checks that workers hold more episodes the faster these end, with two workers that have sixteen places each."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import REPOSITORY

PLACES, WORKERS = 32, 2
FEW = 5
"""Games that have no move left, or one of the model that answers at once."""

pytestmark = [pytest.mark.ray, pytest.mark.runs]


def told(cluster: dict[str, str], folder: Path, delay_s: float, games: int) -> list[tuple[int, int]]:
    """Returns how many games were done, and how many leased, each time that a worker answered."""
    command = [sys.executable, str(Path(__file__).with_name("in_flight.py")), str(folder), str(delay_s), str(games)]
    environment = {**cluster, "PYTHONPATH": str(REPOSITORY / "tests")}
    done = subprocess.run(
        command, env=environment, cwd=REPOSITORY, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return [(done, leased) for done, leased in json.loads(done.stdout.splitlines()[-1])]


def test_where_episodes_take_long_none_waits_at_a_worker_while_another_may_get_room(
    cluster: dict[str, str], tmp_path: Path
) -> None:
    seen = told(cluster, tmp_path, delay_s=4, games=40)
    first = [(done, leased) for done, leased in seen if done <= FEW]
    assert len(first) > WORKERS and all(leased <= PLACES + WORKERS + 2 * done for done, leased in first)
    assert seen[-1] == (40, 0)


def test_where_they_are_over_at_once_they_wait_at_the_workers(cluster: dict[str, str], tmp_path: Path) -> None:
    seen = told(cluster, tmp_path, delay_s=0, games=2000)
    assert max(leased for _, leased in seen) > 1.5 * PLACES
    assert seen[-1] == (2000, 0)
