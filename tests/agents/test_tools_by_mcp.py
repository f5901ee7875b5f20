"""Checks that a program calls the environment's tools by MCP, at the door where its model is: the episode carries the calls
out, ties them to its model's, and plays them again after a worker's death.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cast import play_with, program
from till import Till

from ray_gym import Message, Participant, ToolCall, tool
from ray_gym.agents import seat_tools
from ray_gym.journal.call_log import CallLog
from ray_gym.journal.frames import Scan
from ray_gym.journal.history import History
from ray_gym.journal.journal import Journal
from ray_gym.journal.records import Called, decode
from ray_gym.models.base import Completion

MCP = """
def mcp(method, number=1, **params):
    return post("/mcp", {"jsonrpc": "2.0", "id": number, "method": method, "params": params})
def call(name, **arguments):
    return mcp("tools/call", name=name, arguments=arguments)["result"]
"""


async def play(code: str, *replies: Any, log: CallLog | None = None, **limits: Any) -> Any:
    played, _ = await play_with({"policy": program(MCP + code)}, list(replies), environment=Till(), log=log, **limits)
    return played


def asks(amount: int) -> Completion:
    call = ToolCall(f"c{amount}", "mcp__environment__put", json.dumps({"amount": amount}))
    return Completion(Message("assistant", tool_calls=(call,)))


async def test_tools_are_those_of_the_participant_and_their_calls_are_the_episodes() -> None:
    code = """
names = [tool["name"] for tool in mcp("tools/list")["result"]["tools"]]
foreign = mcp("tools/call", name="rob")["error"]["code"]
ask([{"role": "user", "content": words}])
tied, own = call("put", amount=7), call("put", amount=3)
print(json.dumps([names, foreign, tied["content"][0]["text"], own["content"][0]["text"], call("put")["isError"]]))
"""
    played = await play(code, asks(7))
    assert json.loads(played.episode.answer) == [["put", "wait"], -32602, "7 in it", "10 in it", True]
    assert played.score is not None and played.score.reward == 0.1
    calls = [event for event in played.episode.events if event.kind == "tool_call"]
    assert [(one.tool_calls[0].id[:3], one.participant) for one in calls[:2]] == [("c7", "policy"), ("mcp", "policy")]
    notes = [event.content for event in played.episode.events if event.kind == "note"]
    assert len(notes) == 2, "for the two calls that no answer asked for"
    assert played.episode.usage.tool_calls == 3 and played.episode.usage.tool_errors == 1


async def test_a_call_that_ends_the_episode_ends_the_program() -> None:
    played = await play("call('put', amount=100); time.sleep(60)")
    assert (played.episode.stop.reason, played.episode.stop.text) == ("finished", "full")
    assert played.score is not None and played.score.reward == 1


async def test_a_tool_that_breaks_fails_the_episode() -> None:
    played = await play("mcp('tools/call', name='wait'); time.sleep(60)")
    assert played.status == "failed" and "the drawer is stuck" in played.failure.message
    assert played.failure.kind == "environment"


async def test_a_key_of_nobody_and_what_is_wrong_or_too_long_are_refused() -> None:
    code = """
told = [post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "ping"}, "rg-of-another-episode")["status"]]
told += [post("/mcp", "ping")["error"]["code"], mcp("ping")["result"]]
told += [call("put", amount="1" * 1_000_001)["content"][0]["text"], post("/mcp", "x" * 40_000_000)["status"]]
print(json.dumps(told))
"""
    played = await play(code)
    *told, long, status = json.loads(played.episode.answer)
    assert told == [401, -32600, {}] and "1,000,015 characters long, and may have 1,000,000" in long and status == 413
    assert not [event for event in played.episode.events if event.kind == "tool_call"]


async def test_the_arguments_of_all_calls_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seat_tools, "MOST_OF_ALL", 50)
    code = "print([call('put', amount=1)['isError'] for _ in range(4)], call('put', amount=1)['content'][0]['text'])"
    played = await play(code)
    told = "the arguments of your calls are 50 characters long, as many as there may be"
    assert played.episode.answer == f"[False, False, False, True] {told}"


@pytest.mark.agents
@pytest.mark.parametrize("calls", [100])
async def test_many_calls_at_once_lose_nothing(calls: int) -> None:
    code = f"""
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(50) as pool:
    said = list(pool.map(lambda _: call("put", amount=0)["content"][0]["text"], range({calls})))
print(set(said), len(said))
"""
    played = await play(code)
    assert played.episode.answer == f"{{'0 in it'}} {calls}" and len(played.episode.state) == calls


PUTS = """
for amount in (1, 2, 3):
    ask([{"role": "user", "content": f"{words} {amount}"}])
    said = call("put", amount=amount)["content"][0]["text"]
    said += " " + call("send", amount=amount)["content"][0]["text"]
print(said)
"""


class Post(Till):
    """Has a tool with an effect, too."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[int] = []

    @tool(participants=("policy",), effect="retry")
    async def send(self, state: list[int], caller: Participant, amount: int) -> str:
        """Send money."""
        self.sent.append(amount)
        return f"sent {amount}"


def log_of(folder: Path, number: int, history: History | None = None) -> CallLog:
    return CallLog("e", 0, number, Journal(folder / f"1-{number}.journal", "run", flush=False), history)


def history_of(folder: Path, answers: int) -> History:
    """Returns the first records of a journal, up to that many answers."""
    records = [decode(payload) for _, payload in Scan((folder / "1-0.journal").read_bytes())]
    calls = [record for record in records if isinstance(record, Called)]
    return History(0, calls[:answers])


async def test_calls_are_played_again_after_the_death_of_a_worker(tmp_path: Path) -> None:
    first = Post()
    replies = [asks(amount) for amount in (1, 2, 3)]
    whole, _ = await play_with({"policy": program(MCP + PUTS)}, replies, environment=first, log=log_of(tmp_path, 0))
    assert whole.episode.answer == "6 in it sent 3" and first.sent == [1, 2, 3]
    for number, answers in enumerate((4,), 1):
        again = Post()
        history = history_of(tmp_path, answers)
        models = sum(record.thread.startswith("policy") for record in history.calls)
        sent = sum(record.thread.startswith("effect") for record in history.calls)
        played, asked = await play_with(
            {"policy": program(MCP + PUTS)}, replies[models:], environment=again, log=log_of(tmp_path, number, history)
        )
        assert played.status == "completed" and played.diverged is None
        assert (played.episode.answer, played.episode.state) == ("6 in it sent 3", [1, 2, 3])
        assert len(asked["policy"].requests) == 3 - models and again.sent == [1, 2, 3][sent:]
        kept = [
            [event.tool_calls for event in one.episode.events if event.kind == "tool_call"] for one in (whole, played)
        ]
        assert kept[0] == kept[1]
