"""Replicas come with the calls there are."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from conftest import REPOSITORY


@pytest.mark.ray
@pytest.mark.clock
def test_more_calls_bring_a_second_replica(cluster: dict[str, str]) -> None:
    script = REPOSITORY / "tests" / "engines" / "scaled_calls.py"
    environment = {**cluster, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(
        [sys.executable, str(script)],
        env=environment,
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["first"] == 1 and found["last"] == 2 and found["calls"] > 16
