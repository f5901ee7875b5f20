"""Checks calls at MCP servers in an episode that is replayed: a server of the session gets the same calls again, and what
has an effect is not asked again. If a server says something else then, the episode gets a new try.
"""

from __future__ import annotations

import asyncio
import json
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from conftest import eventually
from mcp_servers import Counting, calls_at, plain
from replayed import Attempt, attempt, cut

from ray_gym import Message, ToolCall
from ray_gym.journal.history import fence
from ray_gym.models.base import CompletionRequest

WANTED: list[Any] = [("add", {"amount": 1}), ("fail", {}), ("add", {"amount": 2}), ("env", {}), ("add", {"amount": 3})]


def policy(request: CompletionRequest, rng: random.Random) -> Message:
    """Makes the wanted calls, one a step."""
    made = sum(message.role == "tool" for message in request.messages)
    if made == len(WANTED):
        return Message("assistant", f"{rng.random()}")
    name, arguments = WANTED[made]
    return Message("assistant", "", tool_calls=(ToolCall(f"c{made}", name, json.dumps(arguments)),))


def noted(marks: Path) -> list[str]:
    """Returns the names of the calls that the server has got since the last look."""
    names = [line.split()[0] for line in calls_at(marks)]
    (marks / "calls").unlink(missing_ok=True)
    return names


async def play(folder: Path, environment: Counting, answer: Any, adopted: list[str] | None = None) -> Attempt:
    try:
        return await attempt(folder, environment, answer, adopted or [], tool_deadline_s=30)
    finally:
        await environment.close()


NAMES = [name for name, _ in WANTED]


@pytest.mark.parametrize("per", ["session", "worker"])
async def test_a_session_is_made_again_and_effects_are_not(tmp_path: Path, per: Any) -> None:
    marks, journals = tmp_path / "marks", tmp_path / "journals"
    marks.mkdir()
    journals.mkdir()
    servers = {"plain": plain(marks=marks, per=per, when_lost="retry")}
    first = await play(journals, Counting(**servers), policy)
    assert first.played.status == "completed" and noted(marks) == NAMES
    kinds = {record.thread.split()[0] for record in first.answered}
    assert kinds == {"policy"} if per == "session" else {"policy", "effect"}
    for answers in (1, 4, len(first.answered)):
        again = await play(journals, Counting(**servers), policy, [cut(first, answers)])
        assert again.played.status == "completed", again.played.failure
        assert noted(marks) == (NAMES if per == "session" else NAMES[answers // 2 :])
        if per == "session":
            assert again.row == first.row
    told = [event.error for event in first.played.episode.events if event.kind == "tool_result"]
    assert [error is None for error in told] == [True, False, True, True, True]


async def test_a_sessions_effects_are_not_made_again(tmp_path: Path) -> None:
    servers = {"plain": plain(marks=tmp_path, effects=("fail", "env"))}
    first = await play(tmp_path, Counting(**servers), policy)
    noted(tmp_path)
    again = await play(tmp_path, Counting(**servers), policy, [cut(first, 10)])
    assert again.row == first.row and noted(tmp_path) == ["add", "add", "add"]


async def test_a_server_that_says_something_else_costs_a_try(tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    servers = {"plain": plain(marks=marks)}
    first = await play(tmp_path, Counting(**servers), policy)
    assert first.played.status == "completed"
    (marks / "changed").write_text("")
    again = await play(tmp_path, Counting(**servers), policy, [cut(first, 4)])
    assert again.played.status == "completed" and again.played.episode.spec.try_ == 1
    notes = [event.content for event in again.played.episode.events if event.kind == "note"]
    assert len(notes) == 1 and "asked something else than was recorded" in notes[0]
    results = [event.content for event in again.played.episode.events if event.kind == "tool_result"]
    assert results[0] == "count 1!", "from the start, and not from where the first try was"


SLOW: list[Any] = [("add", {"amount": 1}), ("add", {"amount": 2}), ("sleep", {})]
KILLED = """
import asyncio, sys
from pathlib import Path
sys.path[:0] = [{tests!r}, {here!r}]
from mcp_servers import Counting, plain
from replayed import attempt
from test_replayed_mcp import policy
import test_replayed_mcp
test_replayed_mcp.WANTED = test_replayed_mcp.SLOW
environment = Counting(plain=plain(marks=Path({marks!r}), timeout_s=60))
asyncio.run(attempt(Path({folder!r}), environment, policy, tool_deadline_s=60))
"""


@pytest.mark.chaos
def test_a_killed_worker_takes_its_servers_along_and_the_episode_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    monkeypatch.setattr(sys.modules[__name__], "WANTED", [*SLOW, ("add", {"amount": 3})])
    here = Path(__file__).parent
    code = KILLED.format(tests=str(here.parent), here=str(here), marks=str(marks), folder=str(tmp_path))
    worker = subprocess.Popen([sys.executable, "-c", code], cwd=here.parents[1])
    eventually(lambda: len(calls_at(marks)) == 3, 60)
    servers = psutil.Process(worker.pid).children(recursive=True)
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    assert len(servers) == 1 and not psutil.wait_procs(servers, timeout=10)[1]
    assert noted(marks) == ["add", "add", "sleep"]
    [journal] = tmp_path.glob("*.journal")
    adopted = [fence(journal, "run").name]
    again = asyncio.run(play(tmp_path, Counting(plain=plain(marks=marks, timeout_s=0.3)), policy, adopted))
    assert again.played.status == "completed" and again.played.episode.spec.try_ == 0, again.played.failure
    results = [event.content for event in again.played.episode.events if event.kind == "tool_result"]
    assert results[:3] == ["count 1", "count 3", '{"error": "no result within 0.3 s"}']
    assert noted(marks)[:5] == ["add", "add", "sleep", "add", "add"], (
        "twice: for the new worker, and after the lost answer"
    )
