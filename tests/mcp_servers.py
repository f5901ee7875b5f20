"""Defines an environment whose tools are those of the plain server, and serves applications over HTTP."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import uvicorn

from ray_gym import Environment, Episode, Opening, Participant, Task, Tool
from ray_gym.mcp.options import McpServer
from ray_gym.mcp.servers import McpServers, McpSession

PLAIN = Path(__file__).parent / "mcp_" / "plain_server.py"


def plain(*faults: str, marks: Path | None = None, **options: Any) -> McpServer:
    """Names the plain server. `marks`: folder in which it notes its calls."""
    env = {"MARKS": str(marks)} if marks is not None else {}
    return McpServer(command=(sys.executable, "-S", str(PLAIN), *faults), env=env, **{"timeout_s": 5, **options})


def calls_at(marks: Path) -> list[str]:
    """Returns the names and arguments of the calls that the plain server has noted."""
    noted = marks / "calls"
    return noted.read_text().splitlines() if noted.exists() else []


class Counting(Environment[Task, McpSession]):
    """The policy counts at a server."""

    def __init__(self, **servers: McpServer) -> None:
        super().__init__()
        self.servers = McpServers(servers)

    async def prepare_worker(self) -> None:
        await self.servers.check(participants=self.participants)

    async def close(self) -> None:
        await self.servers.close()

    async def setup(self, task: Task, episode: Episode) -> McpSession:
        return await self.servers.open(episode)

    def opening(self, task: Task, state: McpSession) -> Opening:
        return Opening(messages={"policy": "Count."})

    def tools_for(self, task: Task, state: McpSession) -> Sequence[Tool]:
        return state.tools(self.call)

    async def call(self, state: McpSession, caller: Participant, name: str, arguments: dict[str, Any]) -> str:
        return await state.call(name, arguments)

    def score(self, state: McpSession, episode: Episode) -> float:
        return 1.0


class Server(uvicorn.Server):
    """Tells when it has started."""

    def __init__(self, app: Any, port: int) -> None:
        super().__init__(uvicorn.Config(app, port=port, log_level="critical", timeout_graceful_shutdown=0))
        self.up = asyncio.Event()

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        self.up.set()


@asynccontextmanager
async def serving(app: Any, port: int) -> AsyncIterator[None]:
    server = Server(app, port)
    task = asyncio.create_task(server.serve())
    await server.up.wait()
    try:
        yield
    finally:
        server.should_exit = True
        await task
