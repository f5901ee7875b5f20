"""Checks how much one session may take, so that it is no burden to others."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from captured_agent import HELLO, Echo
from captured_agent import opened as opened_for_agent
from market import Market, opened

from ray_gym import Message, Participant, tool
from ray_gym.openai_api.refused import Refused
from ray_gym.play import session
from ray_gym.play.agent_call import AgentCall
from ray_gym.play.commands import CallTool
from ray_gym.play.entrance import TooManyWaiting
from ray_gym.play.session import CommandSession
from ray_gym.service.api import ToolCallRequest
from ray_gym.service.sessions import session_table
from ray_gym.service.sessions.session_table import SessionTable


class Slow(Market):
    def __init__(self) -> None:
        super().__init__()
        self.begun = asyncio.Semaphore(0)
        self.goes_on = asyncio.Event()

    @tool()
    async def wait(self, state: dict[str, Any], caller: Participant) -> str:
        self.begun.release()
        await self.goes_on.wait()
        return "done"

    @tool()
    def garble(self, state: dict[str, Any], caller: Participant) -> str:
        return "half of \ud83d"


def in_a_table(held: CommandSession) -> tuple[SessionTable, asyncio.Task[Any]]:
    at = SessionTable("market", 60)
    return at, asyncio.create_task(at.host("s", held))


async def test_what_is_under_way_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "MOST_UNDER_WAY", 2)
    environment = Slow()
    driven = await opened(tmp_path, environment=environment)
    calls = [CallTool("policy", f"c{n}", "wait", "{}") for n in range(3)]
    begun = [asyncio.create_task(driven.session.perform(call.id, call)) for call in calls[:2]]
    for _ in begun:
        await environment.begun.acquire()
    for task in begun:
        task.cancel()  # their callers leave
    with pytest.raises(TooManyWaiting, match="2 commands are under way"):
        await driven.session.perform("c2", calls[2])
    environment.goes_on.set()
    await driven.session.settle()
    assert (await driven.session.perform("c2", calls[2])).events[-1].content == "done"


async def test_a_session_has_a_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_table, "LARGEST", 5_000)
    driven = await opened(tmp_path)
    at, hosting = in_a_table(driven.session)
    bad = ToolCallRequest(name="buy", arguments="x" * 3_000)
    for key in ("1", "2"):
        assert (await at.call_tool("s", key, bad)).error
    with pytest.raises(Refused, match="session_too_large"):
        await at.call_tool("s", "3", bad)
    with pytest.raises(Refused, match="session_too_large"):
        await at.ask("s", "policy", "4", AgentCall((Message("user", "Hello"),), b"Hello"))
    assert (await at.score("s", "5")).score is not None
    await hosting


async def test_arguments_are_as_long_as_text_may_be_however_they_are_written(tmp_path: Path) -> None:
    at, hosting = in_a_table((await opened(tmp_path)).session)
    with pytest.raises(Refused, match=r"longer than 1,000,000 characters"):
        await at.call_tool("s", "1", ToolCallRequest(name="buy", arguments={"item": "x" * 1_000_000}))
    await at.close("s")
    await hosting


async def test_text_that_is_none_is_shown_all_the_same(tmp_path: Path) -> None:
    """A tool read bytes that are no UTF-8, say."""
    at, hosting = in_a_table((await opened(tmp_path, environment=Slow())).session)
    answer = await at.call_tool("s", "1", ToolCallRequest(name="garble", arguments={}))
    assert answer.content == "half of ?"
    info = await at.info("s")
    assert info.model_dump_json() and info.participants["policy"].messages[-1].content == "half of ?"
    assert json.loads((await at.score("s", "2")).model_dump_json())["score"]["reward"] is not None
    await hosting


async def test_a_key_of_an_agents_call_is_for_that_call(tmp_path: Path) -> None:
    agent = await opened_for_agent(tmp_path, model=Echo())
    at, hosting = in_a_table(agent.session)
    call = AgentCall((HELLO,), b"hello", is_named=True)
    first = await at.ask("s", "policy", "key", call)
    assert (await at.ask("s", "policy", "key", call))[0] == first[0]
    with pytest.raises(Refused, match="key_reused"):
        await at.ask("s", "policy", "key", AgentCall((HELLO,), b"something else", is_named=True))
    assert agent.session.given == 1
    await at.close("s")
    await hosting
