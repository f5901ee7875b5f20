"""Checks that a session offers its policy's tools as an MCP server, by the protocol's own client and message by message;
and that calls there are the session's, tied to those of the agent's model.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from gateway_app import TOKENS
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from session_door import HOST, PATH, Door, opened

PEN, BOOK = {"item": "pen", "count": 1}, {"item": "book", "count": 1}


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    async with opened(tmp_path) as door:
        yield door


def client(door: Door, mode: str = "auto") -> Client:
    web = httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app=door.app), headers={"Authorization": f"Bearer {door.key}"}
    )
    return Client(streamable_http_client(HOST + PATH, http_client=web), mode=mode)


async def post(door: Door, body: Any, token: str | None = None, **headers: str) -> Any:
    async with door.web(token or door.key) as web:
        return await web.post(PATH, json=body, headers=headers)


def request(method: str, number: Any = 1, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def calls_of(door: Door) -> list[tuple[str, str, str | None]]:
    events = door.session.episode.events
    return [(event.tool_calls[0].id, event.content, event.error) for event in events if event.kind == "tool_call"]


def text_of(result: Any) -> str:
    [part] = result.content
    return str(part.text)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_protocols_own_client_finds_and_calls_the_tools(door: Door, mode: str) -> None:
    async with client(door, mode) as agent:
        assert agent.server_info is not None and agent.server_info.name == "ray_gym"
        assert agent.protocol_version == "2025-11-25"
        [tool] = (await agent.list_tools()).tools
        assert (tool.name, tool.description) == ("take", "Take something off the shelf.")
        assert set(tool.input_schema["properties"]) == {"item", "count"}
        taken = await agent.call_tool("take", PEN)
        wrong = await agent.call_tool("take", {"item": "shoe", "count": 1})
        with pytest.raises(MCPError, match="there is no tool 'steal'"):
            await agent.call_tool("steal", {})
    assert (taken.is_error, text_of(taken)) == (False, '{"taken": 1}')
    assert wrong.is_error and "bad arguments for take: item: " in text_of(wrong)
    assert door.session.episode.state == ["pen"]
    assert [error is None for _, _, error in calls_of(door)] == [True, False]
    notes = [event.content for event in door.session.episode.events if event.kind == "note"]
    assert len(notes) == 2 and "no answer of its model asks for that" in notes[0]


async def test_calls_are_tied_to_the_answers_that_ask_for_them(door: Door) -> None:
    asked: Any = [
        {"role": "system", "content": "You are a customer."},
        {"role": "user", "content": "What would you like, a pen or a book?"},
        {"role": "user", "content": "buy buy"},
    ]
    described: Any = {"name": "mcp__environment__take", "parameters": {"type": "object"}}
    said = await door.openai().chat.completions.create(
        model="policy", messages=asked, tools=[{"type": "function", "function": described}]
    )
    wanted = [call.id for call in said.choices[0].message.tool_calls or ()]
    async with client(door) as agent:
        answers = await asyncio.gather(*(agent.call_tool("take", PEN) for _ in wanted))
        await agent.call_tool("take", PEN)
    assert sorted(text_of(answer) for answer in answers) == ['{"taken": 1}', '{"taken": 2}']
    ids = [call for call, _, _ in calls_of(door)]
    assert sorted(ids[:2]) == sorted(wanted) and ids[2].startswith("mcp_")
    kinds = [event.kind for event in door.session.episode.events if event.seq > 3]
    assert kinds.count("note") == 1 and "tool_result" not in kinds, "its conversation is the agent's to continue"


async def test_the_end_of_the_episode_is_told_as_an_error_of_the_tool(door: Door) -> None:
    async with client(door) as agent:
        for _ in range(3):
            last = await agent.call_tool("take", PEN)
        after = await agent.call_tool("take", PEN)
        assert text_of(last) == '{"taken": 3}' and after.is_error and "the bag is full" in text_of(after)
        await door.row()
        scored = await agent.call_tool("take", PEN)
        assert scored.is_error and (await agent.list_tools()).tools == []


@pytest.mark.parametrize("params", [{"params": None}, {"params": {"cursor": ""}}, {"params": {"cursor": None}}, {}])
async def test_parameters_that_ask_for_nothing_are_taken(door: Door, params: dict[str, Any]) -> None:
    answer = await post(door, {"jsonrpc": "2.0", "id": 1, "method": "tools/list", **params})
    assert [tool["name"] for tool in answer.json()["result"]["tools"]] == ["take"]


@pytest.mark.services
@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (request("prompts/list"), 200, -32601),
        (request("server/discover"), 200, -32601),
        (request("tools/list", cursor="2"), 200, -32602),
        (request("tools/call", arguments={}), 200, -32602),
        (request("tools/call", name="take", arguments=[1]), 200, -32602),
        (request("initialize"), 200, -32602),
        ({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]}, 200, -32602),
        ({"jsonrpc": "1.0", "id": 1, "method": "ping"}, 400, -32600),
        (request("ping", number=None), 400, -32600),
        (request("ping", number=True), 400, -32600),
        ({"jsonrpc": "2.0", "id": 1}, 400, -32600),
        ("ping", 400, -32600),
        ([], 400, -32600),
        ([request("ping")] * 101, 400, -32600),
    ],
)
async def test_what_is_wrong_is_told_by_its_code(door: Door, body: Any, status: int, code: int) -> None:
    answer = await post(door, body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code), answer.text
    assert door.session.given == 0


async def test_messages_one_by_one(door: Door, subtests: pytest.Subtests) -> None:
    with subtests.test("a version that is spoken is taken, for another the newest is offered"):
        for asked, told in [("2025-06-18", "2025-06-18"), ("1999-01-01", "2025-11-25")]:
            answer = await post(door, request("initialize", "a", protocolVersion=asked, capabilities={}))
            assert answer.json()["id"] == "a" and answer.json()["result"]["protocolVersion"] == told
    with subtests.test("a request in another version is refused with those that are spoken"):
        answer = await post(door, request("ping"), **{"MCP-Protocol-Version": "2026-07-28"})
        assert answer.status_code == 400 and answer.json()["error"]["data"]["requested"] == "2026-07-28"
    with subtests.test("ping, and what needs no answer"):
        assert (await post(door, request("ping", 0))).json() == {"jsonrpc": "2.0", "id": 0, "result": {}}
        told = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        for body in (told, {"jsonrpc": "2.0", "id": 4, "result": {}}, [told, told]):
            answer = await post(door, body)
            assert (answer.status_code, answer.content) == (202, b"")
    with subtests.test("a batch is answered by a batch"):
        answer = await post(door, [request("ping", 1), told, request("tools/list", 2), "x"])
        assert [one["id"] for one in answer.json()] == [1, 2, None]
    with subtests.test("there is no stream, and no session to delete"):
        async with door.web(door.key) as web:
            assert [(await web.request(method, PATH)).status_code for method in ("GET", "DELETE")] == [405, 405]


async def test_who_may_call(door: Door) -> None:
    assert (await post(door, request("ping"), TOKENS["alice"])).status_code == 200
    assert (await post(door, request("ping"), "not-a-token-at-all")).status_code == 401
    async with door.web(door.key) as web:
        other = await web.post("/v1/sessions/b-session/mcp", json=request("ping"))
        assert (other.status_code, other.json()["error"]["code"]) == (403, "wrong_session")
    for origin, status in [("https://evil.example", 403), ("null", 403), ("http://localhost:3000", 200)]:
        assert (await post(door, request("ping"), origin=origin)).status_code == status


async def test_arguments_that_are_too_long_are_refused(door: Door) -> None:
    answer = await post(door, request("tools/call", name="take", arguments={"item": "x" * 1_000_001}))
    assert answer.status_code == 422 and door.session.given == 0
    assert json.loads(answer.text)["error"]["param"] == "arguments"
