"""Keeps MCP servers reachable: starts them, starts them again when they have ended, and makes their state again."""

from __future__ import annotations

import asyncio
from typing import Any, Protocol

import xxhash

from ray_gym.aio.backoff import pause_s
from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.mcp.connection import CallRefused, Connection, ServerDown
from ray_gym.mcp.offered import OfferedTool, offered_tools
from ray_gym.mcp.options import McpServer
from ray_gym.mcp.results import answer_of
from ray_gym.tools.answer import ToolAnswer

STARTS = 3
"""Times that a server is tried to be started, one after the other."""
MOST_DEATHS = 20
"""Most times that a server of a session may end, before its episode fails."""


class LiveServer(Protocol):
    """Answers calls by a server, which is started when it is needed."""

    async def tools(self) -> list[OfferedTool]:
        """Returns the tools that are offered. Errors: EpisodeFailure."""
        ...

    async def call(self, tool: str, arguments: dict[str, Any]) -> ToolAnswer:
        """Calls a tool by its name at the server, and returns its answer. Errors: EpisodeFailure."""
        ...

    async def close(self) -> None:
        """Closes the connection, and ends the server if it is a program."""
        ...


class SharedServer:
    """Serves all episodes of a worker. If it ends, it is started again, without the state that it had."""

    def __init__(self, name: str, options: McpServer) -> None:
        self._name, self._options = name, options
        self._connection: Connection | None = None
        self._tools: list[OfferedTool] = []
        self._opening = asyncio.Lock()

    async def tools(self) -> list[OfferedTool]:
        await self._connected()
        return self._tools

    async def call(self, tool: str, arguments: dict[str, Any]) -> ToolAnswer:
        why = ""
        for _ in range(2):
            connection = await self._connected()
            try:
                return await answer_of(connection, tool, arguments)
            except ServerDown as error:
                why = str(error)
            if self._options.when_lost == "fail":
                raise _failure(self._name, f"it ended during a call of {tool}: {why}")
        return _ended(why)

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    async def _connected(self) -> Connection:
        async with self._opening:
            if self._connection is None or self._connection.is_down:
                await self.close()
                self._connection, self._tools = await _open(self._name, self._options)
            return self._connection


class OwnServer:
    """Serves one episode. Its calls are made one after the other. If it ends, it is started again, and gets the same calls
    again, which have to have the same results.
    """

    def __init__(self, name: str, options: McpServer) -> None:
        self._name, self._options = name, options
        self._connection: Connection | None = None
        self._tools: list[OfferedTool] = []
        self._order = asyncio.Lock()
        self._made: list[tuple[str, dict[str, Any], bytes]] = []
        """Calls that were made: tool, arguments, and digest of the answer; without those that have effects."""
        self._deaths = 0

    async def tools(self) -> list[OfferedTool]:
        async with self._order:
            await self._connected()
            return self._tools

    async def call(self, tool: str, arguments: dict[str, Any]) -> ToolAnswer:
        effect, why = self._options.effect_of(tool), ""
        async with self._order:
            for _ in range(2):
                connection = await self._connected()
                try:
                    answer = await answer_of(connection, tool, arguments)
                except ServerDown as error:
                    why = str(error)
                    if effect == "fail":
                        raise _failure(self._name, f"it ended during a call of {tool}: {why}") from None
                    continue
                if effect is None and not connection.is_late:
                    self._made.append((tool, arguments, _digest(answer)))
                return answer
            return _ended(why)

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    async def _connected(self) -> Connection:
        """Returns the connection. If the server has ended, or owes an answer, another is started, with the state that it had
        before that call. Errors: EpisodeFailure.
        """
        while self._connection is None or self._connection.is_down or self._connection.is_late:
            if self._connection is not None:
                self._deaths += self._connection.is_down
                await self.close()
            if self._deaths > MOST_DEATHS:
                raise _failure(self._name, f"it has ended {self._deaths} times in this episode")
            self._connection, self._tools = await _open(self._name, self._options)
            try:
                await self._make_again(self._connection)
            except ServerDown:
                continue  # it is counted as one more death
        return self._connection

    async def _make_again(self, connection: Connection) -> None:
        for number, (tool, arguments, digest) in enumerate(self._made, 1):
            if _digest(await answer_of(connection, tool, arguments)) != digest:
                told = f"it has ended, and its state can't be made again: call {number} ({tool}) has another result now"
                raise _failure(self._name, told)


async def _open(name: str, options: McpServer) -> tuple[Connection, list[OfferedTool]]:
    """Connects to a server. Errors: EpisodeFailure."""
    for tried in range(STARTS):
        try:
            return await connect(name, options)
        except ServerDown as error:
            why = str(error)
        except ValueError as error:
            raise EpisodeFailure(FailureKind.ENVIRONMENT, f"MCP server {name}", str(error)) from None
        await asyncio.sleep(pause_s(tried))
    raise _failure(name, why)


async def connect(name: str, options: McpServer) -> tuple[Connection, list[OfferedTool]]:
    """Connects to a server once, and returns its tools, too. Errors: ServerDown; ValueError for tools that can't be
    offered.
    """
    connection = await Connection.open(options)
    try:
        return connection, offered_tools(name, options, await connection.list_tools())
    except CallRefused as error:
        await connection.close()
        raise ServerDown(f"it does not name its tools: {error}{connection.story and f'; {connection.story}'}") from None
    except BaseException:
        await connection.close()
        raise


def _digest(answer: ToolAnswer) -> bytes:
    digest: bytes = xxhash.xxh3_128_digest(f"{answer.error is None}{answer.content}".encode())
    return digest


def _ended(why: str) -> ToolAnswer:
    told = f"the server of this tool ended during the call, twice: {why}"
    return ToolAnswer(told, told)


def _failure(name: str, why: str) -> EpisodeFailure:
    return EpisodeFailure(FailureKind.INFRA, f"MCP server {name}", why)
