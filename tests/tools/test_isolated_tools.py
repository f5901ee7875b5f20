"""Checks isolated tools: whatever a call does to its process, the worker gets an answer or a clear failure, and no
process stays behind.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import laboratory
import pytest
import pytest_asyncio
from conftest import eventually
from laboratory import CALLER, Laboratory, Unloadable
from playing import bare, calls, play_script

from ray_gym import Environment, ToolCall, tool
from ray_gym.errors import EpisodeFailure, Failure, FailureKind
from ray_gym.tools.answer import ToolAnswer
from ray_gym.tools.calling import call_tool
from ray_gym.tools.runner import ToolRunner

on_one_loop = pytest.mark.asyncio(loop_scope="module")
"""The tests share a runner, whose zygotes belong to one loop."""
LABORATORY = Laboratory()


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def runner() -> AsyncIterator[ToolRunner]:
    runner = ToolRunner(processes=2)
    yield runner
    await runner.close()


async def ask(
    runner: ToolRunner,
    name: str,
    state: Any = None,
    deadline_s: float = 60,
    environment: Environment[Any, Any] = LABORATORY,
    **values: Any,
) -> ToolAnswer:
    call = ToolCall("c", name, json.dumps(values))
    return await call_tool(environment, environment.tools, state, CALLER, call, deadline_s, runner)


async def failure_of(runner: ToolRunner, name: str, **asked: Any) -> Failure:
    with pytest.raises(EpisodeFailure) as caught:
        await ask(runner, name, **asked)
    return caught.value.failure


def is_alive(pid: int) -> bool:
    """A zombie is dead; who should have reaped it is another matter."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def all_gone(pids: list[int]) -> bool:
    return not any(map(is_alive, pids))


async def written(path: Path) -> list[int]:
    await asyncio.to_thread(eventually, path.exists, 60)
    return read(path)


def read(path: Path) -> list[int]:
    return [int(pid) for pid in path.read_text().split()]


@on_one_loop
async def test_a_call_works_on_a_copy_of_the_state_and_on_fresh_globals(runner: ToolRunner) -> None:
    state = {"count": 1}
    for _ in range(2):
        assert await ask(runner, "add", state, amount=3) == ToolAnswer('{"count":4,"seen":1}')
    assert state == {"count": 1} and laboratory.seen == []


async def test_an_episode_plays_on_after_an_isolated_tool() -> None:
    game = await play_script(LABORATORY, [calls("add", amount=3), "done"], limits={"max_steps_per_turn": 2})
    assert game.texts("tool_result") == ['{"count":4,"seen":1}']
    assert game.played.score is not None and game.played.score.reward == 1


@on_one_loop
async def test_a_zygote_is_used_again(runner: ToolRunner) -> None:
    first = json.loads((await ask(runner, "leave_behind")).content)
    zygotes = {zygote._process.pid for zygote in runner.isolated._all}
    assert all_gone(first)  # also the one in a session of its own
    await ask(runner, "refuse")
    assert {zygote._process.pid for zygote in runner.isolated._all} == zygotes


@on_one_loop
async def test_sets_of_strings_have_the_same_order_in_every_zygote(monkeypatch: pytest.MonkeyPatch) -> None:
    orders = set()
    for seed in ("1", "2"):
        monkeypatch.setenv("PYTHONHASHSEED", seed)  # as it may be on another worker
        runner = ToolRunner()
        orders.add((await ask(runner, "order")).content)
        await runner.close()
    assert len(orders) == 1


@on_one_loop
async def test_async_tools_and_big_results(runner: ToolRunner) -> None:
    assert await ask(runner, "slowly") == ToolAnswer("done")
    assert await ask(runner, "big", size=1_000_000) == ToolAnswer("x" * 1_000_000)


@on_one_loop
async def test_what_a_tool_prints_is_no_answer(capfd: pytest.CaptureFixture[str]) -> None:
    runner = ToolRunner()
    assert await ask(runner, "shout") == ToolAnswer("shouted, and read ''")
    await runner.close()
    assert capfd.readouterr().out == "printed by python\nwritten to the descriptor\n"


@on_one_loop
async def test_arguments_are_checked_before_anything_is_started(runner: ToolRunner) -> None:
    answer = await ask(runner, "add", {"count": 1}, amount="3")
    assert answer.error is not None and "valid integer" in answer.error


@on_one_loop
async def test_a_tool_error_is_told_to_the_caller(runner: ToolRunner) -> None:
    assert (await ask(runner, "refuse")).error == "the shop is closed"
    assert await ask(runner, "refuse_in_its_words") == ToolAnswer("closed", error="HTTP 422")


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("crash", {}, "ZeroDivisionError: division by zero"),
        ("leave", {"code": 3, "politely": True}, "SystemExit: 3"),
        ("leave", {"code": 3, "politely": False}, "its process exited with code 3 before it had answered"),
        ("leave", {"code": 0, "politely": False}, "its process exited with code 0 before it had answered"),
        ("die", {}, "its process was killed by SIGKILL before it had answered"),
        ("segfault", {}, "its process was killed by SIGSEGV before it had answered"),
        ("hoard", {"small": False}, "MemoryError (memory_mb is 16)"),
        ("hoard", {"small": True}, "MemoryError (memory_mb is 16)"),
        ("kill_its_parent", {}, "the process that it is forked from is gone (killed?)"),
        ("give_nan", {}, "ValueError: it returned nan, which is no number that JSON has"),
        (
            "give_a_lambda",
            {},
            "TypeError: it returned a function, of which all might be shown: return a text, numbers, lists, mappings, or a pydantic model",
        ),
    ],
)
@on_one_loop
async def test_what_ends_badly_is_the_environments_failure(
    runner: ToolRunner, name: str, values: dict[str, Any], message: str
) -> None:
    failure = await failure_of(runner, name, **values)
    assert (failure.kind, bare(failure.where), failure.message) == (FailureKind.ENVIRONMENT, f"tool {name}", message)
    assert failure.where.startswith(f"tool {name} (laboratory.py:")
    assert await ask(runner, "slowly") == ToolAnswer("done")  # and the next call is served


@on_one_loop
async def test_a_failure_that_a_tool_raises_keeps_its_kind(runner: ToolRunner) -> None:
    assert await failure_of(runner, "blame") == Failure(FailureKind.JUDGE, "grader", "no grade")


@on_one_loop
async def test_a_state_that_cannot_be_pickled_is_a_clear_failure(runner: ToolRunner) -> None:
    failure = await failure_of(runner, "slowly", state=threading.Lock())
    assert failure.where.startswith("tool slowly (laboratory.py:")
    assert "the state can't be pickled, which an isolated tool needs" in failure.message


@on_one_loop
async def test_an_environment_that_cannot_get_there_is_a_clear_failure(runner: ToolRunner) -> None:
    failure = await failure_of(runner, "slowly", environment=Unloadable())
    assert bare(failure.message) == "its process could not be set up: ValueError: a part is missing"
    assert "(laboratory.py:" in failure.message
    environment = Laboratory()
    environment.options = threading.Lock()
    failure = await failure_of(runner, "slowly", environment=environment)
    assert "the environment can't be pickled, which an isolated tool needs" in failure.message
    assert not runner.isolated._all


@on_one_loop
async def test_the_deadline_kills_all_that_the_call_started(runner: ToolRunner, tmp_path: Path) -> None:
    failure = await failure_of(runner, "linger", state=str(tmp_path / "pids"), deadline_s=1)
    assert failure.where.startswith("tool linger (laboratory.py:")
    assert failure.message == "TimeoutError: no result within tool_deadline_s (1 s)"
    pids = await written(tmp_path / "pids")
    assert len(pids) == 4 and all_gone(pids)


@on_one_loop
async def test_cancellation_kills_the_call_too(runner: ToolRunner, tmp_path: Path) -> None:
    task = asyncio.create_task(ask(runner, "linger", str(tmp_path / "pids")))
    pids = await written(tmp_path / "pids")
    assert all(map(is_alive, pids))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(pids) == 4 and all_gone(pids)


@on_one_loop
async def test_two_calls_run_at_once_and_a_third_waits(runner: ToolRunner, tmp_path: Path) -> None:
    meetings = [ask(runner, "meet", str(tmp_path), me=me, other=other) for me, other in (("a", "b"), ("b", "a"))]
    answers = await asyncio.gather(*meetings, ask(runner, "slowly", deadline_s=5))
    assert [answer.content for answer in answers] == ["met", "met", "done"]
    assert len(runner.isolated._all) <= 2


@on_one_loop
async def test_closing_ends_running_calls_and_all_processes(tmp_path: Path) -> None:
    runner = ToolRunner()
    task = asyncio.create_task(ask(runner, "linger", str(tmp_path / "pids")))
    pids = await written(tmp_path / "pids")
    await runner.close()
    with pytest.raises(EpisodeFailure, match="is gone"):
        await task
    assert all_gone(pids) and not runner.isolated._all


@on_one_loop
async def test_a_zygote_that_died_in_between_is_replaced(runner: ToolRunner) -> None:
    await ask(runner, "slowly")
    for zygote in list(runner.isolated._idle):
        os.kill(zygote._process.pid, signal.SIGKILL)
        await zygote._process.wait()
    assert await ask(runner, "slowly") == ToolAnswer("done")


@on_one_loop
async def test_an_environment_that_cannot_be_imported_by_name_goes_by_value(runner: ToolRunner) -> None:
    class Local(Environment[Any, Any]):
        @tool(isolated=True)
        def hello(self, state: Any, caller: Any) -> str:
            return f"hello from {type(self).__name__}"

    assert await ask(runner, "hello", environment=Local()) == ToolAnswer("hello from Local")


def test_nothing_is_left_when_the_worker_is_killed(tmp_path: Path) -> None:
    script, pids_file = Path(laboratory.__file__), tmp_path / "pids"
    worker = subprocess.Popen(
        [sys.executable, str(script), str(pids_file)], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    )
    try:
        eventually(pids_file.exists, within_s=60)
        pids = read(pids_file)
        assert len(pids) == 4 and all(map(is_alive, pids))
    finally:
        worker.kill()
        worker.wait()
    eventually(lambda: all_gone(pids), within_s=10)


def test_options_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(TypeError, match="drop blocking=True"):
        tool(isolated=True, blocking=True)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"memory_mb": 64}, "memory_mb is an option of a tool with isolated=True"),
        ({"isolated": True, "memory_mb": 0}, "memory_mb is a whole number of megabytes, from 1"),
    ]
    for options, told in wrong:
        with pytest.raises(TypeError, match=told):
            tool(**options)  # type: ignore[arg-type]
