"""Checks which looks at an event loop count towards a measured period."""

from __future__ import annotations

import asyncio
import json
import math
from pathlib import Path

import pytest
from conftest import eventually

from benchmarks.lag import LAGS, lags_between, watch_replica
from ray_gym.metrics.pulse import LOOKS


@pytest.mark.parametrize(
    ("start", "end", "worker"),
    [(0.0, 100.0, {0.01, 0.02, 0.03}), (9.8, 9.95, {0.02}), (9.95, 100.0, {0.03}), (10.5, 11.0, set())],
)
def test_a_look_counts_at_the_moment_when_it_was_due(
    start: float, end: float, worker: set[float], tmp_path: Path
) -> None:
    """Looks 0.1 s apart; the last of them was taken just before all were handed on."""
    lines = [[10.0, "worker", [0.01, 0.02, 0.03]], [10.0, "driver", [0.5]], [10.0, "replica", [0.7]]]
    (tmp_path / "1.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = lags_between(tmp_path, start, end)
    assert set(found.worker) == worker
    assert found.driver == ((0.5,) if start <= 9.5 <= end else ())
    assert found.replica == ((0.7,) if start <= 9.3 <= end else ())


async def test_a_replica_looks_at_its_loop_where_it_is_told_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert watch_replica() is None
    monkeypatch.setenv(LAGS, str(tmp_path))
    pulse = watch_replica()
    assert pulse is not None
    looks = await asyncio.to_thread(eventually, lambda: lags_between(tmp_path, 0, math.inf).replica, 20)
    await pulse.stop()
    assert len(looks) % LOOKS == 0
