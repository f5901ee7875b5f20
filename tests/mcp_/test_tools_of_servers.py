"""Checks that an episode's tools are those of MCP servers, whatever the servers do: what the model reads, what fails the
episode, and what is told before the run.
"""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import psutil
import pytest
from mcp_servers import Counting, calls_at, plain
from playing_tasks import call_of, play_task, says

from ray_gym import Task
from ray_gym.errors import UserError
from ray_gym.mcp import program
from ray_gym.mcp.options import McpServer
from ray_gym.play.play import Played

ONE = call_of("add", '{"amount": 1}')


async def play(environment: Counting, *calls: Any) -> Played:
    try:
        return await play_task(environment, Task(task_id="t"), {"policy": says(*calls, "Done.")})
    finally:
        await environment.close()


def told(played: Played) -> list[tuple[str, bool]]:
    """Returns what the model was told of each call, and whether it was an error."""
    events = [event for event in played.episode.events if event.kind == "tool_result"]
    return [(event.content, event.error is not None) for event in events]


async def test_results_and_errors_are_what_the_model_reads(subtests: pytest.Subtests) -> None:
    names = ("fail", "refuse", "picture", "structured", "much", "nothing", "halves")
    calls = [ONE, call_of("add", '{"amount": "1"}'), *(call_of(name, "{}") for name in names), ONE]
    played = await play(Counting(plain=plain()), *calls)
    assert played.status == "completed", played.failure
    first, wrong, fail, refuse, picture, structured, much, nothing, halves, last = told(played)
    assert first == ("count 1", False) and last == ("count 2", False)
    assert wrong[1] and "bad arguments for add: amount: '1' is not of type 'integer'" in wrong[0]
    assert fail == ("no such file", True)
    assert halves == ("a? b", False)
    assert refuse == ('{"error": "not on Sundays"}', True)
    assert picture == ("[image (image/png): it is left out, as only text can be read here]\na cat", False)
    assert structured == ('{"reward": 0.5}', False)
    assert much[1] and "20,000,000 characters long, and may have 1,000,000" in much[0]
    assert nothing[1] and "there is no tool 'nothing'; the tools are: add, " in nothing[0]


async def test_a_server_sees_little_of_the_worker_and_ends_with_the_episode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_THE_WORKER", "x")
    played = await play(Counting(plain=plain()), call_of("env", "{}"), call_of("pid", "{}"))
    (env, _), (pid, _) = told(played)
    assert "PATH" in json.loads(env) and "SECRET_OF_THE_WORKER" not in json.loads(env)
    assert not psutil.pid_exists(int(pid))


async def test_garbage_between_messages_is_passed_over() -> None:
    played = await play(Counting(plain=plain("garbage")), ONE, ONE)
    assert told(played) == [("count 1", False), ("count 2", False)]


async def test_a_server_that_owes_an_answer_is_started_again_with_its_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "END_S", 0.1)
    environment = Counting(plain=plain(marks=tmp_path, timeout_s=0.5))
    played = await play(environment, ONE, call_of("sleep", "{}"), ONE)
    assert told(played) == [("count 1", False), ('{"error": "no result within 0.5 s"}', True), ("count 2", False)]
    assert [line.split()[0] for line in calls_at(tmp_path)] == ["add", "sleep", "add", "add"]


async def test_a_server_that_ends_is_started_again_with_its_state(tmp_path: Path) -> None:
    played = await play(
        Counting(plain=plain(marks=tmp_path)), ONE, call_of("die_once", "{}"), ONE, call_of("die", "{}"), ONE
    )
    first, once, second, twice, third = told(played)
    assert (first, once, second, third) == (
        ("count 1", False), ("1 of die_once", False), ("count 2", False), ("count 3", False),
    )  # fmt: skip
    assert twice[1] and "ended during the call, twice: it ended with exit code 3" in twice[0]
    assert "out of luck" in twice[0]


async def test_a_state_that_cant_be_made_again_fails_the_episode(tmp_path: Path) -> None:
    environment = Counting(plain=plain(marks=tmp_path))
    played = await play(environment, ONE, call_of("note", "{}"), call_of("die_once", "{}"))
    assert played.status == "failed" and played.failure is not None and played.failure.kind == "infra"
    assert played.failure.where == "MCP server plain"
    assert "its state can't be made again: call 2 (note) has another result now" in played.failure.message


async def test_one_server_serves_all_episodes_of_a_worker(subtests: pytest.Subtests) -> None:
    environment = Counting(plain=plain(per="worker", when_lost="retry"))
    try:
        plays = [
            play_task(environment, Task(task_id=f"{n}"), {"policy": says(ONE, call_of("pid", "{}"), "Done.")})
            for n in range(5)
        ]
        played = await asyncio.gather(*plays)
        assert sorted(told(one)[0][0] for one in played) == [f"count {n}" for n in range(1, 6)]
        [pid] = {told(one)[1][0] for one in played}
        again = await play_task(environment, Task(task_id="x"), {"policy": says(call_of("die", "{}"), ONE, "Done.")})
        assert told(again)[0][1] and told(again)[1] == ("count 1", False), "its state is lost, and it goes on"
        assert psutil.pid_exists(int(pid)) is False
    finally:
        await environment.close()


async def test_a_lost_call_that_may_not_be_made_again_fails_the_episode() -> None:
    played = await play(Counting(plain=plain(per="worker")), call_of("die", "{}"))
    assert played.failure is not None and played.failure.kind == "infra"
    assert "it ended during a call of die: it ended with exit code 3" in played.failure.message


async def test_prefixes_participants_and_a_choice_of_tools() -> None:
    servers = {
        "one": plain(tools=("add",), prefix="one_"),
        "two": plain("odd", tools=("files.read/all",)),
        "three": plain(prefix="three_", tools=("pid",), participants=("user",)),
    }
    calls = [
        call_of("one_add", '{"amount": 2}'),
        call_of("files_read_all", '{"amount": 0}'),
        call_of("three_pid", "{}"),
    ]
    played = await play(Counting(**servers), *calls)
    first, second, third = told(played)
    assert first == ("count 2", False) and second == ("0 of files.read/all", False)
    assert third[1] and "the tools are: one_add, files_read_all" in third[0]
    assert list(played.episode.tools) == ["one_add", "files_read_all", "three_pid"]


BAD: dict[str, tuple[dict[str, McpServer], str]] = {
    "exit": (
        {"x": plain("exit")},
        "environment.servers.x: it ended with exit code 4; it printed as errors: no licence\nset LICENCE",
    ),
    "no such program": (
        {"x": McpServer(command=("no-such-server",))},
        "it ended with exit code 1; it printed as errors: no-such-server: No such file",
    ),
    "no such folder": ({"x": plain(folder="/nowhere")}, "it can't be started: FileNotFoundError"),
    "silent": ({"x": plain("silent", start_s=0.5)}, "environment.servers.x: it did not answer within 0.5 s"),
    "garbage alone": ({"x": plain("silent", "garbage", start_s=1.5)}, "it printed what is no message: 'Listening on stdio...'"),
    "pages without end": ({"x": plain("pages")}, "its list of tools has more than 100 pages"),
    "no schema": ({"x": plain("broken")}, "tool 'add': it is no JSON schema: properties.a.type: 'whole'"),
    "a huge schema": ({"x": plain("huge")}, "tool 'add': its description and schema have 200,"),
    "a deep schema": ({"x": plain("deep", start_s=1)}, "it does not name its tools: no result within 1 s; "),
    "a long name": ({"x": plain("long")}, "its name is 65 characters long, and may have 1 to 64"),
    "no such tool": ({"x": plain(tools=("ad",))}, "it has no tool 'ad'; it has: add, note, "),
    "no such effect": ({"x": plain(effects=("nte",))}, "it has no tool 'nte'; it has: add, note, "),
    "no such participant": ({"x": plain(participants=("polcy",))}, "x.participants: there is no participant 'polcy'"),
    "a flood": (
        {"x": McpServer(command=("yes",), start_s=5)},
        "it printed more than 1,000 lines that are no message",
    ),
    "clash": ({"x": plain(), "y": plain()}, "server x and server y both have a tool 'add': give the server a `prefix`"),
    "nobody listens": ({"x": McpServer(url="http://127.0.0.1:9/mcp", start_s=2)}, "x: http://127.0.0.1:9/mcp: ConnectError"),
}  # fmt: skip
SLOW = ("a flood", "garbage alone", "a deep schema")
"""Names of the servers in `BAD` whose tests take seconds."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.agents) if name in SLOW else name for name in BAD]
)
async def test_what_is_wrong_with_a_server_is_told_before_the_run(name: str) -> None:
    servers, why = BAD[name]
    with pytest.raises(UserError) as refused:
        await Counting(**servers).prepare_worker()
    assert why in str(refused.value) and "Traceback" not in str(refused.value)
    assert not [
        child for child in psutil.Process(os.getpid()).children() if "plain_server" in " ".join(child.cmdline())
    ]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({}, "give one of command (a program) and url"),
        ({"command": ["x"], "url": "http://a/mcp"}, "give one of command"),
        ({"url": "ftp://a"}, "is not an address like http://127.0.0.1:8000/mcp"),
        ({"url": "http://me:s3cr3t@a/mcp"}, "no user and password go here; they go into headers"),
        ({"command": ["x"], "headers": {"a": "b"}}, "headers are for a url"),
        ({"url": "http://a", "env": {"A": "b"}}, "env and folder are for a command"),
        (
            {"command": ["x"], "per": "worker", "effects": ["send"]},
            "effects: all tools of a server per worker have effects",
        ),
        ({"command": ["x"], "prefix": "a b"}, "prefix"),
        ({"command": []}, "a command begins with its program"),
        ({"command": [""]}, "a command begins with its program"),
        ({"command": ["x", "a\0"]}, "no argument has a NUL"),
        ({"command": ["x"], "env": {"A=B": "c"}}, "'A=B': a variable has a name without ="),
        ({"command": ["x"], "start_s": float("inf")}, "start_s"),
        ({"url": "http://a", "headers": {"a b": "c"}}, "'a b': no header has such a name"),
        ({"url": "http://a", "headers": {"a": "b\nc: d"}}, "'a': no header has such a name, or a value"),
    ],
)
def test_options_that_contradict_each_other_are_refused(given: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError) as refused:
        McpServer.model_validate(given)
    assert why in str(refused.value)
