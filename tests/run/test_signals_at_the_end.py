"""Checks that a run whose outcome is known ends as it did, whatever signals come: its summary is written, and its
closing lines say where it is.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from conftest import kept_handlers, ray_gym_here

from ray_gym.engines.scripted import ScriptedEngine
from ray_gym.errors import RunFailed
from ray_gym.run import submit
from ray_gym.run.cluster import cluster as clusters
from ray_gym.run.directory.directory import RunDirectory
from ray_gym.run.driver import carrying_out
from ray_gym.run.driver.commits import Commits
from ray_gym.run.driver.driver import Outcome
from ray_gym.run.plan import Plan
from ray_gym.run.signals import call_on_signals, ignore_signals, stop_signals, unwind_on_signals

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.fixture(autouse=True)
def put_back() -> Iterator[None]:
    with kept_handlers():
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        yield


class Played:
    """Plays a run of two episodes by the command line, without Ray: `drive` and the models are doubles."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder, self._patch = folder, monkeypatch
        self.down = False

    def rollout(
        self,
        interrupted: bool = False,
        playing: Callable[[], None] = lambda: None,
        writing: Callable[[], None] = lambda: None,
        taking_down: Callable[[], None] = lambda: None,
        leaving: Callable[[], None] = lambda: None,
    ) -> subprocess.CompletedProcess[str]:
        """Returns what the command says. The functions are called at their times; `leaving`, while Ray is shut down."""

        async def drive(
            plan: Plan, directory: RunDirectory, commits: Commits, stopping: asyncio.Event, *_: Any
        ) -> Outcome:
            playing()
            if interrupted:
                await asyncio.wait_for(stopping.wait(), 30)
                playing()
            return Outcome(commits.tally, interrupted)

        @contextmanager
        def connect() -> Iterator[None]:
            yield
            leaving()
            self.down = True

        def write(directory: RunDirectory, *given: Any) -> None:
            writing()
            write_summary(directory, *given)

        write_summary = RunDirectory.write_summary
        self._patch.setattr(ScriptedEngine, "stop", lambda engine: taking_down())
        self._patch.setattr(submit, "_check_room", lambda *_: None)
        self._patch.setattr(clusters, "connect", connect)
        self._patch.setattr(carrying_out, "drive", drive)
        self._patch.setattr(RunDirectory, "write_summary", write)
        overrides = [f"output.dir={self._folder}", "run.name=mine", "tasks.generate=2", "tasks.repeats=1"]
        return ray_gym_here("rollout", "configs/tic_tac_toe_scripted.yaml", *overrides)

    @property
    def summary(self) -> dict[str, Any]:
        return dict(json.loads((self._folder / "mine" / "summary.json").read_text()))


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Played:
    return Played(tmp_path, monkeypatch)


def send(*numbers: signal.Signals) -> Callable[[], None]:
    def send_all() -> None:
        for number in numbers:
            os.kill(os.getpid(), number)

    return send_all


@pytest.mark.runs
@pytest.mark.parametrize("when", ["playing", "writing", "taking_down", "leaving"])
@pytest.mark.parametrize("by", SIGNALS)
def test_a_run_that_is_done_is_done_whatever_signals_come(played: Played, by: signal.Signals, when: str) -> None:
    told = played.rollout(interrupted=False, **{when: send(by, by)})
    assert (told.returncode, told.stderr) == (0, "")
    assert "done: 0 of 2 episodes" in told.stdout and "look at it with: ray-gym show" in told.stdout
    assert played.summary["interrupted"] is False and played.down


@pytest.mark.runs
@pytest.mark.parametrize("when", ["playing", "writing", "taking_down", "leaving"])
@pytest.mark.parametrize("again", SIGNALS)
def test_further_signals_leave_an_interrupted_run_its_closing_lines(
    played: Played, again: signal.Signals, when: str, tmp_path: Path
) -> None:
    later = {} if when == "playing" else {when: send(again)}
    told = played.rollout(interrupted=True, playing=send(signal.SIGINT, again), **later)
    assert (told.returncode, told.stderr) == (1, "")
    assert told.stdout.endswith(f"  {tmp_path}/mine\n  resume it with: ray-gym rollout --resume {tmp_path}/mine\n")
    assert played.summary["interrupted"] is True and played.down


@pytest.mark.ray
def test_ray_leaves_sigterm_alone_when_it_is_shut_down(cluster: dict[str, str]) -> None:
    script = """
import os, signal
from ray._private import worker
from ray_gym.run.cluster.cluster import connect
from ray_gym.run.signals import ignore_signals

def end(*given, **more):
    os.kill(os.getpid(), signal.SIGTERM)
    kill(*given, **more)

ignore_signals()
with connect():
    node = worker._global_node
    kill, node.kill_all_processes = node.kill_all_processes, end
os.kill(os.getpid(), signal.SIGTERM)
print("down")
"""
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=cluster, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, "down\n"), done.stderr


def test_a_model_that_is_not_taken_down_leaves_a_run_its_closing_lines(played: Played) -> None:
    def fails() -> None:
        raise RunFailed("the Serve application is not gone yet")

    told = played.rollout(taking_down=fails)
    assert (told.returncode, told.stderr) == (1, "ray-gym: the Serve application is not gone yet\n")
    assert "done: 0 of 2 episodes" in told.stdout and played.summary["interrupted"] is False


def test_signals_that_are_ignored_stay_so_after_the_blocks_and_are_seen_again_in_a_new_one() -> None:
    with unwind_on_signals(), unwind_on_signals(), call_on_signals(pytest.fail):
        ignore_signals()
        send(*stop_signals())()
    send(*stop_signals())()
    with pytest.raises(KeyboardInterrupt), unwind_on_signals():
        send(signal.SIGTERM)()


def test_a_function_is_called_on_signals_in_its_block_alone() -> None:
    came: list[str] = []
    with pytest.raises(KeyboardInterrupt), unwind_on_signals():
        with call_on_signals(lambda: came.append("one")):
            send(signal.SIGINT, signal.SIGTERM)()
        send(signal.SIGTERM)()
    assert came == ["one", "one"]


def test_a_command_whose_outcome_is_told_ends_well_at_the_very_end_too() -> None:
    script = (
        "import atexit, os, signal; atexit.register(os.kill, os.getpid(), signal.SIGINT)\n"
        "class Late:\n"
        "    def __del__(self, kill=os.kill, pid=os.getpid()): kill(pid, 15)\n"
        "late = Late()  # goes when Python has given up its handlers\n"
        "from ray_gym import cli; from ray_gym.cli import app; from ray_gym.run.signals import ignore_signals\n"
        "app.main = ignore_signals; cli.main(); os.kill(os.getpid(), signal.SIGTERM)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
