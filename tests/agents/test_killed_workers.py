"""Kills workers under programs that play: the table is that of a run that was left alone, and no call that was answered
is asked again.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest
from conftest import REPOSITORY, eventually, ray_gym
from hostility import PATIENT, Told, calls, play, python_path, written
from rogue import LONG
from sandboxes import bubblewrap

from ray_gym.load import load
from ray_gym.record.schema import without_volatile

pytestmark = [pytest.mark.agents, pytest.mark.ray, pytest.mark.timeout(300)]

EPISODES = 6
CLOCK = "tells the time"


def rows(folder: Path) -> dict[str, dict[str, Any]]:
    return {row["episode_id"]: without_volatile(row) for row in load(str(folder / "rogues")).episodes.to_pylist()}


def play_and_kill(cluster: Mapping[str, str], folder: Path, deeds: list[str], kills: list[int]) -> None:
    """Plays a rollout. Whenever so many calls were made, the worker that made the last one is killed."""
    command = [sys.executable, "-m", "ray_gym", "rollout", str(written(folder, deeds)), "fanout.workers=1", PATIENT]
    with (folder / "said").open("wb") as said:
        run = subprocess.Popen(command, env=python_path(cluster), cwd=REPOSITORY, stdout=said, stderr=said)
        try:
            for most in kills:
                eventually(lambda most=most: len(calls(folder)) >= most or run.poll() is not None, 120)
                assert run.poll() is None, (folder / "said").read_text()
                victim = calls(folder)[-1][0]
                os.kill(victim, signal.SIGKILL)
                eventually(lambda victim=victim: not psutil.pid_exists(victim), 20)
            assert run.wait(200) == 0, (folder / "said").read_text()
        finally:
            run.kill()


def test_three_kills_change_nothing_and_no_answer_is_asked_for_again(
    cluster: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    bubblewrap()
    alone, killed = (tmp_path_factory.mktemp(name) for name in ("alone", "killed"))
    deeds = [f"plays long: {number}" for number in range(EPISODES)]
    told = play(cluster, alone, deeds, PATIENT)
    assert {each.answer for each in told} == {f"answer to {2 * LONG - 1} messages"}
    assert sorted(said for _, said in calls(alone)) == sorted(f"{n}: {m}" for n in range(EPISODES) for m in range(LONG))
    play_and_kill(cluster, killed, deeds, [12, 25, 40])
    assert rows(killed) == rows(alone)
    asked = Counter(said for _, said in calls(killed))
    assert asked.keys() == {said for _, said in calls(alone)}
    under_way = 3 * EPISODES
    """Calls that were not answered when their worker died: at most one an episode each time."""
    assert asked.total() - len(asked) <= under_way < 12 + 25 + 40
    assert len({pid for pid, _ in calls(killed)}) == 4


def test_a_run_whose_driver_was_killed_is_resumed(
    cluster: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    bubblewrap()
    alone, killed = (tmp_path_factory.mktemp(name) for name in ("alone", "killed"))
    deeds = [f"plays long: {number}" for number in range(EPISODES)]
    play(cluster, alone, deeds, PATIENT)
    command = [sys.executable, "-m", "ray_gym", "rollout", str(written(killed, deeds)), "fanout.workers=1", PATIENT]
    with (killed / "said").open("wb") as said:
        driver = subprocess.Popen(command, env=python_path(cluster), cwd=REPOSITORY, stdout=said, stderr=said)
        eventually(lambda: len(calls(killed)) >= 12 or driver.poll() is not None, 120)
        assert driver.poll() is None, (killed / "said").read_text()
        driver.kill()
        driver.wait()
    done = ray_gym("rollout", "--resume", str(killed / "rogues"), environment=python_path(cluster))
    assert done.returncode == 0, done.stderr + done.stdout
    assert rows(killed) == rows(alone)


def test_a_program_that_asks_something_else_when_it_is_started_again_gets_a_new_try(
    cluster: dict[str, str], tmp_path: Path
) -> None:
    bubblewrap()
    play_and_kill(cluster, tmp_path, ["plays long: 0", f"{CLOCK}: 1", f"{CLOCK}: 2"], [12])
    found = load(str(tmp_path / "rogues")).episodes.to_pylist()
    told = {each.what: (each, row["try"]) for row in found for each in [Told.of(row)]}
    last = f"answer to {2 * LONG - 1} messages"
    steady, try_ = told["plays long: 0"]
    assert (steady.answer, steady.notes, try_) == (last, "", 0)
    for number in (1, 2):
        fickle, try_ = told[f"{CLOCK}: {number}"]
        assert (fickle.answer, fickle.fault, try_) == (last, ("", ""), 1)
        assert fickle.notes.startswith("try 1: nondeterminism: replay: call 0 of thread policy/1 asked something else")
