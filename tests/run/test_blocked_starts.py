"""Checks a run whose environment blocks each of its workers at their start."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import ray_gym

pytestmark = [pytest.mark.ray, pytest.mark.runs]

MODULE = """\
import threading
from ray_gym import Environment, Task
from ray_gym.run.worker import ends_of_life

ends_of_life.PREPARE_S = 12.0  # enough for the stacks to be written

def echo(request, rng):
    return "hm"

class Held(Environment[Task, None]):
    async def prepare_worker(self):
        threading.Event().wait()

    async def setup(self, task, rng):
        return None

    def score(self, state, episode):
        return 1.0
"""
CONFIG = """\
environment: {id: "held_start:Held"}
tasks: {path: tasks.jsonl}
models: {policy: {engine: scripted, player: "held_start:echo"}}
participants: {policy: {model: policy}}
fanout: {workers: 1, stuck_after_s: 2}
"""


def test_a_start_that_blocks_for_good_ends_the_run_with_its_place(cluster: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "held_start.py").write_text(MODULE)
    (tmp_path / "config.yaml").write_text(CONFIG)
    (tmp_path / "tasks.jsonl").write_text('{"task_id": "a"}\n')
    done = ray_gym("rollout", str(tmp_path / "config.yaml"), f"output.dir={tmp_path / 'runs'}", environment=cluster)
    assert done.returncode == 2, done.stderr + done.stdout
    told = done.stderr.splitlines()[-1]
    assert "Held.prepare_worker failed: it has not ended within 12 s, and blocks its worker in " in told
    assert "prepare_worker (held_start.py:12)" in told and "time limit" in told
    assert done.stderr.count("is lost: ") == 1, "no second worker tries it"
