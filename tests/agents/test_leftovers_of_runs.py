"""Kills workers at random while they play 200 episodes with programs under bubblewrap: every episode is in the table
once, and nothing is left on the machine.
"""

from __future__ import annotations

import contextlib
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from conftest import REPOSITORY, eventually, raylet_children, standing_cluster
from hostility import PATIENT, Told, calls, python_path, written
from sandboxes import bubblewrap, left_in, marked

from ray_gym.load import load
from ray_gym.sandbox import leftovers
from ray_gym.sandbox.cgroup import MOUNT, PREFIX

pytestmark = [pytest.mark.agents, pytest.mark.ray, pytest.mark.timeout(900)]

EPISODES = 200
CALLS = (20, 45)
"""Model calls between two kills, at least and at most, of 400 in all."""


@pytest.fixture
def root() -> Iterator[Path]:
    """Gives a temporary folder with a short path, as sockets lie in it."""
    folder = Path(tempfile.mkdtemp(prefix="rg_"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def places(root: Path) -> list[str]:
    """Returns the names of the sandboxes whose folders are there, unfinished ones left out."""
    return [path.name for path in left_in(root) if not path.name.startswith(leftovers.NEW)]


def test_nothing_is_left_after_200_episodes_with_random_kills(root: Path, tmp_path: Path) -> None:
    bubblewrap()
    chance, mounts, seen = random.Random(39), Path("/proc/self/mounts").read_text(), set[str]()
    config = str(written(tmp_path, ["forks daemons", "plays well"] * (EPISODES // 2)))
    command = [sys.executable, "-m", "ray_gym", "rollout", config, "fanout.workers=2", "fanout.concurrency=12", PATIENT]
    with standing_cluster({"TMPDIR": str(root)}) as cluster, (tmp_path / "said").open("wb") as said:
        run = subprocess.Popen(command, env=python_path(cluster), cwd=REPOSITORY, stdout=said, stderr=said)
        killed, due = 0, chance.randint(*CALLS)
        while run.poll() is None:
            seen.update(places(root))
            workers = raylet_children(cluster, "Worker.exchange") if len(calls(tmp_path)) >= due else []
            if workers:
                with contextlib.suppress(psutil.Error):
                    chance.choice(workers).kill()
                    killed += 1
                due = len(calls(tmp_path)) + chance.randint(*CALLS)
            time.sleep(0.1)
        assert run.returncode == 0, (tmp_path / "said").read_text()
        eventually(lambda: not raylet_children(cluster, "Worker."), 60)
        found = load(str(tmp_path / "rogues")).episodes.to_pylist()
        assert len({row["episode_id"] for row in found}) == len(found) == EPISODES
        told = [Told.of(row) for row in found]
        assert {(one.answer, one.fault, one.reward) for one in told} == {
            ("ten daemons", ("", ""), 1.0), ("answer to 5 messages", ("", ""), 1.0)
        }  # fmt: skip
        assert killed >= 3 and seen, "workers were killed while sandboxes were there"
        eventually(lambda: not places(root), 60)  # the last worker has swept what the others left
    assert marked("86439") == [] and marked(str(root)) == []
    assert Path("/proc/self/mounts").read_text() == mounts
    assert str(root) not in Path("/proc/net/unix").read_text()
    assert [path for name in seen for path in MOUNT.glob(f"**/{PREFIX}{name}")] == []
