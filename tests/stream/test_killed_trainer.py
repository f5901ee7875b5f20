"""Checks that a killed trainer, also if killed while it starts, trains on no group twice, misses none, and leaves no
process behind.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import REPOSITORY, eventually, raylet_children
from saving_trainer import STALENESS, Checkpoint

from ray_gym.load import load
from ray_gym.stream.cursor import Cursor

STEP_S = 120
"""The longest that a trainer may take to its next step."""
GONE_S = 60
"""The longest that what a killed trainer had started may live on."""
OURS = ("Host", "Worker")


@contextmanager
def trainer(folder: Path, cluster: dict[str, str]) -> Iterator[None]:
    """Runs a trainer, and kills it at the end of the block."""
    command = [sys.executable, str(Path(__file__).with_name("saving_trainer.py")), str(folder)]
    paths = f"{REPOSITORY}:{Path(__file__).parent}"
    with (folder / "trainer.log").open("ab") as log:
        process = subprocess.Popen(
            command, cwd=REPOSITORY, env={**cluster, "PYTHONPATH": paths}, stdout=log, stderr=log
        )
    try:
        yield
        assert process.poll() is None, (folder / "trainer.log").read_text()[-3000:]
    finally:
        process.kill()
        process.wait()


def wait_for_steps(folder: Path, count: int) -> None:
    """Waits until the trainer has made `count` more steps."""
    wanted = Checkpoint.load(folder).version + count
    eventually(lambda: Checkpoint.load(folder).version >= wanted, STEP_S)


@pytest.mark.chaos
@pytest.mark.ray
@pytest.mark.timeout(600)
def test_a_trainer_that_is_killed_misses_and_repeats_nothing(cluster: dict[str, str], tmp_path: Path) -> None:
    for steps in (2, 1):
        with trainer(tmp_path, cluster):
            wait_for_steps(tmp_path, steps)
    before = {process.pid for process in raylet_children(cluster, "Host")}
    with trainer(tmp_path, cluster):
        eventually(lambda: {process.pid for process in raylet_children(cluster, "Host")} - before, STEP_S)
    with trainer(tmp_path, cluster):
        wait_for_steps(tmp_path, 3)
    eventually(lambda: not raylet_children(cluster, *OURS), GONE_S)

    saved = Checkpoint.load(tmp_path)
    assert saved.version >= 6 and saved.stalest <= STALENESS
    cursor = Cursor.parse(saved.cursor)
    dropped = {int(path.stem) for path in (tmp_path / "stream" / "dropped").glob("*.json")}
    times = Counter([*saved.trained_on, *dropped])
    assert [number for number in (*range(cursor.next), *cursor.beyond) if not times[number]] == [], "missed"
    assert [number for number, count in times.items() if count > 1] == [], "repeated"
    episodes = load(tmp_path / "stream").episodes.column("episode_id").to_pylist()
    assert len(episodes) == len(set(episodes)) > 0
