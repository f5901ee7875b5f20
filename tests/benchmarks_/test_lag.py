"""Which looks at an event loop belong to what is measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.lag import lags_between


@pytest.mark.parametrize(
    ("start", "end", "worker"),
    [(0.0, 100.0, {0.01, 0.02, 0.03}), (9.8, 9.95, {0.02}), (9.95, 100.0, {0.03}), (10.5, 11.0, set())],
)
def test_a_look_counts_at_the_moment_when_it_was_due(
    start: float, end: float, worker: set[float], tmp_path: Path
) -> None:
    """Looks 0.1 s apart; the last of them was taken just before all were handed on."""
    lines = [[10.0, "worker", [0.01, 0.02, 0.03]], [10.0, "driver", [0.5]]]
    (tmp_path / "1.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = lags_between(tmp_path, start, end)
    assert set(found.worker) == worker
    assert found.driver == ((0.5,) if start <= 9.5 <= end else ())
