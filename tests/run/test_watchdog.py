"""Checks the watchdog in real processes that get stuck or too big: what they say before they die, and that they die."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import eventually
from playing import Alone

from ray_gym import Episode, Message, Opening, Participant, Task, Turn, tool, tool_call_message
from ray_gym.envs.blackjack import Blackjack
from ray_gym.journal.stacks import LastPlace, StackFile, last_place
from ray_gym.models.base import CompletionRequest
from ray_gym.run.driver.fences import Fences
from ray_gym.run.worker.watchdog import authors_place, find_running
from ray_gym.testing import play_task

HERE = Path(__file__).parent
MODES = ("nap", "look", "hang", "hoard", "leak", "fenced", "unreachable", "fork")


def start(mode: str, *stacks: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(HERE / "watched.py"), mode, *map(str, stacks)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE.parents[1]), str(HERE.parent)])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture(scope="module")
def workers() -> Iterator[dict[str, subprocess.Popen[str]]]:
    """Starts all workers at once, because they mostly sleep."""
    started = {mode: start(mode) for mode in MODES}
    yield started
    for worker in started.values():
        worker.kill()
        worker.communicate()


def charge_of(worker: subprocess.Popen[str]) -> dict[str, Any]:
    told, complained = worker.communicate(timeout=90)
    assert worker.returncode == -signal.SIGKILL, told + complained
    charge: dict[str, Any] = json.loads(told)
    return charge


def test_a_tool_that_blocks_the_loop_is_named_with_its_episode(workers: dict[str, subprocess.Popen[str]]) -> None:
    charge = charge_of(workers["nap"])
    assert (charge["reason"], charge["episode_id"], charge["attempt"]) == ("stuck", "episode-nap", 3)
    expected = r"the event loop was blocked for \d s in tool nap \(watched.py:\d+ in snore\)"
    expected += r"; declare it with @tool\(blocking=True\), and it runs in a thread"
    assert re.fullmatch(expected, charge["message"])


def test_a_hook_that_blocks_the_loop_is_named_with_its_episode(workers: dict[str, subprocess.Popen[str]]) -> None:
    charge = charge_of(workers["look"])
    assert (charge["reason"], charge["episode_id"], charge["attempt"]) == ("stuck", "episode-look", 3)
    assert re.search(
        r"in Sleepy.score \(watched.py:\d+\); .* run in a thread: `await episode.in_thread\(function, ...\)`$",
        charge["message"],
    )


class Looking(Alone):
    """Looking notes in its hooks what the watchdog would say of them."""

    def __init__(self) -> None:
        super().__init__()
        self.remedies: dict[str, str] = {}
        self.places: dict[str, str] = {}

    def look(self, name: str) -> None:
        running = find_running(sys._getframe())
        assert running is not None and running.spec is not None
        self.places[name] = re.sub(r":\d+", "", running.place)
        self.remedies[name] = running.remedy

    async def setup(self, task: Task, episode: Episode) -> dict[str, Any]:  # type: ignore[override]
        self.look("setup")
        return {}

    def opening(self, task: Task, state: Any) -> Opening:
        self.look("opening")
        return Opening(messages={"policy": "Play."})

    def next_speaker(self, state: Any, episode: Episode, turn: Turn) -> str | None:
        self.look("next_speaker")
        return None

    def finished(self, state: Any, episode: Episode) -> str | None:
        self.look("finished")
        return None

    @tool()
    def deal(self, state: Any, caller: Participant) -> str:
        self.look("deal")
        return "an ace"

    def score(self, state: Any, episode: Episode) -> float:
        self.look("score")
        return 1.0


async def test_what_blocks_the_loop_is_told_with_what_its_author_can_do() -> None:
    environment = Looking()
    answers = [tool_call_message("deal", {}), Message("assistant", "done")]

    def player(request: CompletionRequest) -> Message:
        environment.look("player")
        return answers.pop(0)

    played = await play_task(environment, Task(), {"policy": player})
    assert played.score is not None, played.failure
    in_a_thread = "have what it waits for run in a thread: `await episode.in_thread(function, ...)`"
    hooks = ("setup", "opening", "finished", "next_speaker", "score")
    inside = "(test_watchdog.py in Looking.look)"
    assert environment.places.items() >= {hook: f"Looking.{hook} {inside}" for hook in hooks}.items()
    assert environment.places["deal"] == f"tool deal {inside}"
    told = "do it in `setup`, `run` or a tool, since `{}` can't wait: `await episode.in_thread(function, ...)`"
    assert environment.remedies == {
        "setup": in_a_thread,
        "score": in_a_thread,
        **{hook: told.format(hook) for hook in ("opening", "finished", "next_speaker")},
        "deal": "declare it with @tool(blocking=True), and it runs in a thread",
        "player": "write the player with async def, and have it `await asyncio.to_thread(function, ...)`",
    }


def test_a_loop_that_is_stuck_outside_any_episode_charges_none_even_if_nobody_listens(
    workers: dict[str, subprocess.Popen[str]],
) -> None:
    charge = charge_of(workers["hang"])  # its on_end never returns
    assert (charge["reason"], charge["episode_id"], charge["attempt"]) == ("stuck", None, None)
    assert re.search(r"in snore \(watched.py:\d+\)$", charge["message"])


def test_a_tool_that_eats_the_memory_in_one_go_is_charged(workers: dict[str, subprocess.Popen[str]]) -> None:
    charge = charge_of(workers["hoard"])
    assert (charge["reason"], charge["episode_id"], charge["attempt"]) == ("memory", "episode-hoard", 3)
    expected = r"the worker took \d+ MB of memory, over its limit of \d+ MB, in tool hoard \(watched.py:\d+\)"
    assert re.fullmatch(expected, charge["message"])


def test_memory_that_leaks_while_the_loop_goes_on_is_nobodys_in_particular(
    workers: dict[str, subprocess.Popen[str]],
) -> None:
    charge = charge_of(workers["leak"])
    assert (charge["reason"], charge["episode_id"]) == ("memory", None)


def test_a_fenced_worker_ends_itself(workers: dict[str, subprocess.Popen[str]]) -> None:
    assert charge_of(workers["fenced"])["reason"] == "fenced"


@pytest.mark.runs
def test_a_healthy_worker_is_left_alone_and_a_stopped_watchdog_minds_nothing(
    workers: dict[str, subprocess.Popen[str]],
) -> None:
    told, complained = workers["unreachable"].communicate(timeout=90)
    assert (told, workers["unreachable"].returncode) == ("alive\n", 0), complained
    assert "the disk is away" in complained  # whether it is fenced was not to be known, and that is said


@pytest.mark.runs
def test_code_that_holds_the_interpreters_lock_leaves_its_place_behind(tmp_path: Path) -> None:
    """No thread of Python runs then, so the process goes on until it is killed from outside."""
    fences = Fences(tmp_path, "run")
    with start("hold", tmp_path / "1-0.stall") as worker:
        try:
            eventually(lambda: (tmp_path / "1-0.stall").exists() and (tmp_path / "1-0.stall").stat().st_size > 0, 60)
            last = fences.last_place_of("1-0")
        finally:
            worker.kill()
    assert last is not None and last.crash is None and re.fullmatch(r"hold \(watched\.py:\d+\)", last.place)
    assert not list(tmp_path.iterdir()) and fences.last_place_of("1-0") is None


def test_a_forked_process_ends_alone(workers: dict[str, subprocess.Popen[str]]) -> None:
    charge = charge_of(workers["fork"])
    assert (charge["reason"], charge["episode_id"]) == ("stuck", "episode-fork"), "its scoring blocks, later"


@pytest.mark.runs
@pytest.mark.parametrize(
    ("mode", "status", "crash"),
    [("leave", 3, "os._exit"), ("leave_a_thread", 3, "os._exit"), ("crash", -signal.SIGSEGV, "Segmentation fault")],
)
def test_code_that_crashes_leaves_its_place_behind(mode: str, status: int, crash: str, tmp_path: Path) -> None:
    """A thread tells no episode, and after a segmentation fault no Python runs any more."""
    with start(mode, tmp_path / "1-0.stall") as worker:
        told, complained = worker.communicate(timeout=90)
    assert worker.returncode == status, told + complained
    last = Fences(tmp_path, "run").last_place_of("1-0")
    assert last is not None and last.crash == crash and re.fullmatch(rf"{mode} \(watched\.py:\d+\)", last.place)


def test_a_lock_that_was_given_back_is_not_told_of_a_later_loss(tmp_path: Path) -> None:
    stacks = StackFile(path := tmp_path / "1-0.stall", 3600)
    stacks.write_exit()
    assert path.stat().st_size
    stacks.go_on()
    assert not path.stat().st_size
    stacks.stop()


STACKS = """Timeout (0:00:11)!
Thread 0x00007feb846286c0 (most recent call first):
  <no Python frame>

Thread 0x00007feb82e256c0 (most recent call first):
  File "/home/me/tools.py", line 3 in wait_for_it
  File "/opt/ray_gym/tools/blocking.py", line 40 in run

Thread 0x00007feb850ff6c0 (most recent call first):
  File "LIBRARY/re/__init__.py", line 166 in match
  File "/home/me/game.py", line 7 in score
  File "/opt/ray_gym/play/play.py", line 206 in score
  File "/opt/ray_gym/run/worker/worker.py", line 343 in _play
"""


def test_of_several_threads_the_one_that_plays_comes_first() -> None:
    """The stack has no frame of asyncio, since Ray runs uvloop."""
    stacks = STACKS.replace("LIBRARY", sysconfig.get_paths()["stdlib"])
    assert last_place(stacks) == LastPlace("score (game.py:7)")
    assert last_place(stacks.partition("Thread 0x00007feb850ff6c0")[0]) == LastPlace("wait_for_it (tools.py:3)")
    assert last_place("") is None


def test_of_a_crash_its_own_thread_alone_counts() -> None:
    crashed = f"{STACKS}Fatal Python error: Aborted\n\nCurrent thread 0x1 (most recent call first):\n"
    assert last_place(crashed) is None
    assert last_place(f'{crashed}  File "/home/me/c.py", line 2 in call\n') == LastPlace("call (c.py:2)", "Aborted")


def test_a_worker_that_ends_well_leaves_nothing_behind(tmp_path: Path) -> None:
    stacks = StackFile(tmp_path / "1-0.stall", 3600)
    stacks.go_on()
    assert (tmp_path / "1-0.stall").exists() and Fences(None, "run").last_place_of("1-0") is None
    stacks.stop()
    assert not list(tmp_path.iterdir())


def test_the_engines_own_code_is_not_that_of_an_environment_that_comes_with_it() -> None:
    """Both lie in one package."""
    engine: dict[str, Any] = {"__name__": "ray_gym.record.columns"}
    exec("import sys\n\ndef lists():\n    frame = sys._getframe()\n    return [frame, frame.f_back]", engine)
    ours: dict[str, Any] = {"__name__": "ray_gym.envs.blackjack.environment", "lists": engine["lists"]}
    exec("def deal():\n    return lists()", ours)
    assert authors_place(ours["deal"](), Blackjack()) == "deal (<string>:2)"
    assert authors_place(engine["lists"]()[:1], Blackjack()) is None
