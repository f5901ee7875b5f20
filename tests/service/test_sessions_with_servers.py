"""Checks sessions whose tools are those of an MCP server: calls at once get each its own answer, and the server ends with the
session, however that ends.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psutil
import pytest
from mcp_servers import Counting, plain

from ray_gym.config.sections import LimitsSection, ParticipantSection
from ray_gym.episode.participant import Participant
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.episode.stage import Stage
from ray_gym.journal.call_log import CallLog
from ray_gym.play.session import CommandSession
from ray_gym.service.api import ToolCallAnswer, ToolCallRequest
from ray_gym.service.sessions.session_table import SessionTable


@asynccontextmanager
async def opened() -> AsyncIterator[SessionTable]:
    limits = LimitsSection()
    cast = {"policy": Participant.from_config("policy", ParticipantSection(model="m"), limits)}
    stage = Stage(Counting(plain=plain()), cast, {"m": None}, limits)  # type: ignore[dict-item]
    table = SessionTable("counting", 60)
    session = CommandSession(EpisodeSpec("s", "g", "t", 0, 7, "{}"), stage, CallLog("s"))
    hosting = asyncio.create_task(table.host("s", session))
    await table.find("s")
    try:
        yield table
    finally:
        if session.played is None:
            hosting.cancel()
        await asyncio.gather(hosting, return_exceptions=True)


async def call(table: SessionTable, key: str, name: str, **arguments: int) -> ToolCallAnswer:
    return await table.call_tool("s", key, ToolCallRequest(name=name, arguments=json.dumps(arguments)))


async def test_calls_at_once_get_each_its_own_answer() -> None:
    async with opened() as table:
        answers = await asyncio.gather(*(call(table, str(amount), "add", amount=amount) for amount in (1, 10, 100)))
    assert [answer.content for answer in answers] == ["count 1", "count 11", "count 111"]


@pytest.mark.parametrize("end", ["score", "close", "let go"])
async def test_the_server_ends_with_the_session(end: str) -> None:
    async with opened() as table:
        pid = int((await call(table, "pid", "pid")).content)
        assert psutil.pid_exists(pid)
        if end == "score":
            await table.score("s", "score")
        elif end == "close":
            await table.close("s")
    assert not psutil.pid_exists(pid)
