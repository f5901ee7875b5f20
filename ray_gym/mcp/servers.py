"""Gives episodes the tools of MCP servers. An environment opens a session of them in `setup`, and offers its tools in
`tools_for`; `docs/mcp.md` shows how.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection, Mapping
from typing import Any

from ray_gym.episode.episode import Episode
from ray_gym.errors import EpisodeFailure, FailureKind, UserError
from ray_gym.installed.extras import require
from ray_gym.mcp.connection import ServerDown
from ray_gym.mcp.live import LiveServer, OwnServer, SharedServer, connect
from ray_gym.mcp.offered import OfferedTool, require_distinct
from ray_gym.mcp.options import McpServer
from ray_gym.tools.answer import ToolAnswer, ToolError
from ray_gym.tools.tool import Tool, tool_by_schema


class McpServers:
    """Holds the MCP servers of an environment: those per worker, and how those per session are started."""

    def __init__(self, servers: Mapping[str, McpServer], where: str = "environment.servers") -> None:
        """Takes the servers by name. `where`: their place in the config, for messages. Errors: NotInstalled without the
        package mcp.
        """
        self._servers, self._where = dict(servers), where
        self._shared: dict[str, SharedServer] = {}
        if servers:
            require("mcp", "mcp", where)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_shared": {}}  # connections stay where they are

    async def check(
        self, own: Mapping[str, object] | None = None, participants: Collection[str] | None = None
    ) -> frozenset[str]:
        """Starts each server once, checks its tools, and returns their names for models. `own`: tools of the environment
        by name. `participants`: those that there are; None if it is not known. Errors: UserError that names the server,
        and what it printed as errors.
        """
        for name, options in self._servers.items():
            unknown = (
                [] if participants is None else [one for one in options.participants or () if one not in participants]
            )
            if unknown and participants is not None:
                told = f"there is no participant {unknown[0]!r}; there are: {', '.join(participants)}"
                raise UserError(f"{self._where}.{name}.participants: {told}")

        async def tools_of(name: str, options: McpServer) -> list[OfferedTool]:
            try:
                connection, tools = await connect(name, options)
            except (ServerDown, ValueError) as error:
                raise UserError(f"{self._where}.{name}: {error}") from None
            await connection.close()
            return tools

        found = await asyncio.gather(
            *(tools_of(name, options) for name, options in self._servers.items()), return_exceptions=True
        )
        for one in found:
            if isinstance(one, BaseException):
                raise one
        tools = [tool for one in found if isinstance(one, list) for tool in one]
        try:
            require_distinct(tools, own or {})
        except ValueError as error:
            raise UserError(f"{self._where}: {error}") from None
        return frozenset(tool.schema.name for tool in tools)

    async def open(self, episode: Episode) -> McpSession:
        """Opens the servers for an episode, and has those that are its own closed when it is over. Errors:
        EpisodeFailure that names the server.
        """
        live = {name: self._live(name, options) for name, options in self._servers.items()}
        session = McpSession(episode, self._servers, live)
        episode.when_over(session.close)
        found = await asyncio.gather(*(server.tools() for server in live.values()), return_exceptions=True)
        for one in found:
            if isinstance(one, BaseException):
                raise one
            session.offered |= {tool.schema.name: tool for tool in one}
        try:
            require_distinct([tool for one in found if isinstance(one, list) for tool in one], {})
        except ValueError as error:
            raise EpisodeFailure(FailureKind.ENVIRONMENT, self._where, str(error)) from None
        return session

    async def close(self) -> None:
        """Closes the servers of this worker."""
        shared, self._shared = self._shared, {}
        await asyncio.gather(*(server.close() for server in shared.values()))

    def _live(self, name: str, options: McpServer) -> LiveServer:
        if options.per == "session":
            return OwnServer(name, options)
        if name not in self._shared:
            self._shared[name] = SharedServer(name, options)
        return self._shared[name]


class McpSession:
    """Calls the tools of the servers in one episode."""

    def __init__(self, episode: Episode, servers: Mapping[str, McpServer], live: Mapping[str, LiveServer]) -> None:
        self._episode, self._servers, self._live = episode, servers, live
        self.offered: dict[str, OfferedTool] = {}
        """Tools by the names under which models see them."""

    def tools(self, method: Callable[..., Any], without: tuple[str, ...] = ()) -> list[Tool]:
        """Returns the tools for `Environment.tools_for`. `method`: the environment's method that answers for them, which
        calls `call`. `without`: names of tools that no participant gets.
        """
        return [self._tool(tool, method) for name, tool in self.offered.items() if name not in without]

    async def call(self, name: str, arguments: dict[str, Any]) -> str:
        """Calls a tool by its name for models, and returns its text. Errors: ToolError for an error of the call;
        EpisodeFailure if its server can't be had.
        """
        return _text_of(await self._answer(name, arguments))

    async def ask(self, name: str, arguments: dict[str, Any]) -> str:
        """Calls a tool from the environment's own code. A result with an effect is recorded, and given again in a replay.
        Errors: as `call`; ValueError if there is no such tool.
        """
        if name not in self.offered:
            raise ValueError(f"no MCP server has a tool {name!r}; there are: {', '.join(self.offered) or 'none'}")
        effect = self._effect_of(self.offered[name])
        if effect is None:
            return await self.call(name, arguments)

        async def make(key: str) -> list[str | None]:
            answer = await self._answer(name, arguments)
            return [answer.content, answer.error]

        return _text_of(ToolAnswer(*await self._episode.effect(f"mcp {name}", make, json.dumps(arguments), effect)))

    async def close(self) -> None:
        """Closes the servers that are this episode's own."""
        own = [server for server in self._live.values() if isinstance(server, OwnServer)]
        await asyncio.gather(*(server.close() for server in own), return_exceptions=True)

    async def _answer(self, name: str, arguments: dict[str, Any]) -> ToolAnswer:
        tool = self.offered[name]
        return await self._live[tool.server].call(tool.name, arguments)

    def _tool(self, tool: OfferedTool, method: Callable[..., Any]) -> Tool:
        participants = self._servers[tool.server].participants
        return tool_by_schema(tool.schema, method, participants=participants, effect=self._effect_of(tool))

    def _effect_of(self, tool: OfferedTool) -> Any:
        return self._servers[tool.server].effect_of(tool.name)


def _text_of(answer: ToolAnswer) -> str:
    """Returns the text of an answer. Errors: ToolError if it is an error."""
    if answer.error is not None:
        raise ToolError(answer.error, content=answer.content)
    return answer.content
