"""Checks that servers over streamable HTTP are called, by the protocol's own server: answered as events and as JSON, with
headers, and on after a restart.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from conftest import free_port
from mcp.server.mcpserver import MCPServer
from mcp_servers import Counting, serving
from playing_tasks import call_of, play_task, says

from ray_gym import Participant, Task, tool
from ray_gym.errors import UserError
from ray_gym.mcp import live
from ray_gym.mcp.options import McpServer


def counter() -> MCPServer:
    server, values = MCPServer("counter"), [0]

    @server.tool()
    def add(amount: int) -> str:
        values[0] += amount
        return f"count {values[0]}"

    return server


class Site:
    """Serves a counter on a port, and can be started again with a new one."""

    def __init__(self, as_json: bool) -> None:
        self.port = free_port()
        self.as_json = as_json
        self.starts = 0

    @property
    def options(self) -> McpServer:
        return McpServer(url=f"http://127.0.0.1:{self.port}/mcp", headers={"X-Key": "k"}, timeout_s=5)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        self.starts += 1
        async with serving(counter().streamable_http_app(json_response=self.as_json), self.port):
            yield


class Restarting(Counting):
    """Starts the site again in the middle of an episode."""

    def __init__(self, site: Site) -> None:
        super().__init__(counter=site.options)
        self.restart = asyncio.Event()
        self.restarted = asyncio.Event()

    @tool()
    async def wait(self, state: Any, caller: Participant) -> str:
        """Wait for the new server."""
        self.restart.set()
        await self.restarted.wait()
        return "there is a new one"


@pytest.mark.parametrize("as_json", [False, True], ids=["events", "json"])
async def test_tools_over_http(as_json: bool) -> None:
    site = Site(as_json)
    async with site.running():
        await Counting(counter=site.options).prepare_worker()
        calls = [call_of("add", '{"amount": 2}'), call_of("add", '{"amount": 3}')]
        played = await play_task(Counting(counter=site.options), Task(task_id="t"), {"policy": says(*calls, "Done.")})
    assert [event.content for event in played.episode.events if event.kind == "tool_result"] == ["count 2", "count 5"]


async def test_a_server_that_was_started_again_gets_its_state_again() -> None:
    site = Site(as_json=True)
    environment = Restarting(site)
    add = call_of("add", '{"amount": 2}')
    async with site.running():
        playing = asyncio.create_task(
            play_task(environment, Task(task_id="t"), {"policy": says(add, call_of("wait", "{}"), add, "Done.")})
        )
        await environment.restart.wait()
    async with site.running():
        environment.restarted.set()
        played = await playing
    told = [event.content for event in played.episode.events if event.kind == "tool_result"]
    assert told == ["count 2", "there is a new one", "count 4"] and site.starts == 2


async def test_what_is_no_server_is_told_before_the_run() -> None:
    async def page(scope: Any, receive: Any, send: Any) -> None:
        assert scope["type"] == "http"
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/html")]})
        await send({"type": "http.response.body", "body": b"<h1>It works!</h1>"})

    port = free_port()
    async with serving(page, port):
        with pytest.raises(UserError, match=r"environment\.servers\.x: .*Unexpected content type: text/html"):
            await Counting(x=McpServer(url=f"http://127.0.0.1:{port}/mcp", start_s=2)).prepare_worker()


async def test_the_query_of_an_address_is_not_told() -> None:
    async def refuse(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 401, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    port = free_port()
    server = Counting(x=McpServer(url=f"http://127.0.0.1:{port}/mcp?key=s3cr3t", start_s=2))
    with pytest.raises(UserError, match=rf"http://127\.0\.0\.1:{port}/mcp: ConnectError") as gone:
        await server.prepare_worker()
    async with serving(refuse, port):
        with pytest.raises(UserError, match=rf"http://127\.0\.0\.1:{port}/mcp: ") as refused:
            await server.prepare_worker()
    assert "s3cr3t" not in f"{gone.value} {refused.value}"


async def test_a_server_that_is_gone_fails_the_episode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "STARTS", 1)
    site = Site(as_json=True)
    environment = Restarting(site)
    async with site.running():
        calls = [call_of("wait", "{}"), call_of("add", '{"amount": 2}')]
        playing = asyncio.create_task(play_task(environment, Task(task_id="t"), {"policy": says(*calls, "Done.")}))
        await environment.restart.wait()
    environment.restarted.set()
    played = await playing
    assert played.failure is not None and played.failure.kind == "infra"
    assert played.failure.where == "MCP server counter" and "ConnectError" in played.failure.message


async def test_a_dead_proxy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Counting(x=McpServer(url="http://servers.test/mcp", start_s=5))
    monkeypatch.setenv("http_proxy", f"http://me:secret@127.0.0.1:{free_port()}")
    with pytest.raises(UserError, match=r"http://servers\.test/mcp: ConnectError: .*of http_proxy; NO_PROXY=") as told:
        await server.prepare_worker()
    assert "secret" not in str(told.value)
    monkeypatch.setenv("http_proxy", "socks5://127.0.0.1:9")
    with pytest.raises(UserError, match=r"calls go through proxies with http:// or https:// only.*of http_proxy"):
        await server.prepare_worker()


@pytest.mark.parametrize("as_json", [False, True], ids=["events", "json"])
async def test_half_of_a_pair_in_an_answer_is_a_question_mark(as_json: bool) -> None:
    async def halves(scope: Any, receive: Any, send: Any) -> None:
        """Writes what the protocol's server writes, but with the escape of half a pair in it."""

        async def changed(message: Any) -> None:
            body = message.get("body", b"").replace(b"count 2", b"count \\ud83d 2")
            headers = [pair for pair in message.get("headers", ()) if pair[0].lower() != b"content-length"]
            await send(message | ({"body": body} if "body" in message else {"headers": headers}))

        await inner(scope, receive, changed if scope["type"] == "http" else send)

    site = Site(as_json)
    inner = counter().streamable_http_app(json_response=as_json)
    async with serving(halves, site.port):
        calls = [call_of("add", '{"amount": 2}')]
        played = await play_task(Counting(counter=site.options), Task(task_id="t"), {"policy": says(*calls, "Done.")})
    assert [event.content for event in played.episode.events if event.kind == "tool_result"] == ["count ? 2"]
