"""A small version of the benchmark of a trainer on a stream, and what its verdict rests on."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from conftest import REPOSITORY

from benchmarks.trainer_stream.checkpoint import Checkpoint
from benchmarks.trainer_stream.verdict import judge
from ray_gym.record.schema import SCHEMA


@pytest.mark.ray
@pytest.mark.timeout(400)
def test_a_trainer_that_is_killed_misses_and_repeats_nothing() -> None:
    options = ["--seconds", "0", "--kills", "2", "--delay-s", "0.2"]
    command = [sys.executable, "-m", "benchmarks.trainer_stream", *options]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=380, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("killed at step") == 2
    assert "still there after all of them: 0" in done.stdout
    assert re.search(r"2 kills: \d+ groups .* missed \[\], repeated \[\], episodes committed twice 0", done.stdout)


def test_the_verdict_sees_what_is_wrong(tmp_path: Path) -> None:
    stream = tmp_path / "stream"
    for name in ("episodes", "dropped"):
        (stream / name).mkdir(parents=True)
    pq.write_table(SCHEMA.empty_table(), stream / "episodes" / "part-00000001-0.parquet")
    (stream / "dropped" / "2.json").touch()
    cursor = {"stream": "s", "version": 1, "commit": 0, "next": 3, "beyond": [5]}
    Checkpoint(1, cursor, [0, 1, 5]).save(tmp_path)
    assert judge(tmp_path).is_good and judge(tmp_path).dropped == 1
    Checkpoint(1, cursor, [0, 5]).save(tmp_path)
    assert judge(tmp_path).missed == [1]
    Checkpoint(1, cursor, [0, 1, 1, 2, 5]).save(tmp_path)
    assert judge(tmp_path).repeated == [1, 2]
