"""Connects to an MCP server by the protocol's own client, in a task of its own."""

from __future__ import annotations

import asyncio
import importlib
import logging
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from ray_gym.errors import describe, leaves
from ray_gym.mcp.half_pairs import whole_pairs
from ray_gym.mcp.options import McpServer
from ray_gym.mcp.program import ServerProgram, start_program
from ray_gym.printable import beginning, masked
from ray_gym.proxies import require_proxy, unreached

if TYPE_CHECKING:
    from mcp import Client
    from mcp_types import CallToolResult
    from mcp_types import Tool as McpTool

MOST_PAGES = 100
"""Most pages of a list of tools."""
CLOSE_S = 10.0
"""Seconds for a connection to close; then it is given up."""
CLOSED = -32000
"""Code of the client's own error for a connection that was closed."""


class ServerDown(Exception):
    """Says that a server can't be reached, or has ended."""


class CallRefused(Exception):
    """Says that a server has answered a call with an error, or not in time."""


class Connection:
    """Holds the connection to a server, which ends when it is closed, or the server does."""

    def __init__(self, options: McpServer) -> None:
        self._options = options
        self._program: ServerProgram | None = None
        self._closing = asyncio.Event()
        self._client: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._keeping = asyncio.create_task(self._keep())
        self._is_forgotten = False
        self.is_down = False
        """True once a call has found the server gone."""
        self.is_late = False
        """True once a call had no answer in time."""

    @staticmethod
    async def open(options: McpServer) -> Connection:
        """Connects to a server, which is started if it is a program. Errors: ServerDown, within `start_s` seconds."""
        await asyncio.to_thread(importlib.import_module, "mcp")  # it takes a second
        connection = Connection(options)
        try:
            async with asyncio.timeout(options.start_s):
                await asyncio.shield(connection._client)
        except TimeoutError:
            story = connection.story
            await connection.close()
            raise ServerDown(f"it did not answer within {options.start_s:g} s{story and f'; {story}'}") from None
        except BaseException:
            await connection.close()
            raise
        return connection

    async def list_tools(self) -> list[McpTool]:
        """Returns all tools of the server. Errors: ServerDown, also for a list that has no end; CallRefused."""
        found: list[McpTool] = []
        cursor = None
        for _ in range(MOST_PAGES):
            listing = self._client.result().list_tools(cursor=cursor)
            page = await self._ask(listing, self._options.start_s)
            found += page.tools
            cursor = page.next_cursor
            if cursor is None:
                return found
        raise ServerDown(f"its list of tools has more than {MOST_PAGES} pages")

    async def call(self, name: str, arguments: dict[str, Any]) -> CallToolResult:
        """Calls a tool, and returns its result. Errors: ServerDown; CallRefused."""
        seconds = self._options.timeout_s
        result: CallToolResult = await self._ask(self._client.result().call_tool(name, arguments), seconds)
        return result

    async def close(self) -> None:
        """Closes the connection, and ends the server if it is a program."""
        self._closing.set()
        if not self._client.done():
            self._keeping.cancel()  # it has not greeted the server yet, and may never do
        _, late = await asyncio.wait([self._keeping], timeout=CLOSE_S)
        if late:
            self._keeping.cancel()
            await asyncio.wait([self._keeping], timeout=CLOSE_S)
        if self._client.done() and not self._client.cancelled():
            self._client.exception()  # it was told, or nobody asks any more

    async def _ask(self, asked: Any, seconds: float) -> Any:
        """Awaits an answer of the server. Errors: ServerDown; CallRefused."""
        from mcp import MCPError

        try:
            async with asyncio.timeout(seconds):
                return await asked
        except TimeoutError:
            self.is_late = True
            raise CallRefused(f"no result within {seconds:g} s") from None
        except MCPError as error:
            if error.code == CLOSED or self._is_forgotten:
                raise self._down(describe(error)) from None
            raise CallRefused(error.error.message) from None
        except (ValueError, RuntimeError) as error:
            if self._keeping.done():
                raise self._down("its connection was lost") from None
            raise CallRefused(
                f"the server's answer is not one of the protocol: {beginning(describe(error), 500)}"
            ) from None
        except Exception as error:  # the client's stream was closed, or its connection lost
            raise self._down(describe(error)) from None

    def _down(self, why: str) -> ServerDown:
        self.is_down = True
        return ServerDown(self.story or why)

    @property
    def story(self) -> str:
        """Returns what is known of a program's end or silence; "" if nothing is."""
        return self._program.story if self._program is not None else ""

    async def _keep(self) -> None:
        """Holds the connection until it is closed. The client has to be left by the task that has entered it."""
        try:
            async with self._connected() as client:
                self._client.set_result(client)
                await self._closing.wait()
        except BaseException as error:
            if not self._client.done():
                url = self._options.url
                told = [describe(one) if url is None else _unreached(one, url) for one in leaves(error)]
                why = "; ".join(told)
                self._client.set_exception(ServerDown(self.story or why))
            if not isinstance(error, Exception):
                raise

    async def _look(self, response: Any) -> None:
        """Notes that a server over HTTP has forgotten this session, by the status of its answer, whose body is read
        without half pairs.
        """
        response.stream = whole_pairs(response.stream)
        if response.request.method == "POST" and response.status_code == HTTPStatus.NOT_FOUND:
            self._is_forgotten = True

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[Client]:
        """Gives a client that has greeted the server. Errors: those of the client; OSError."""
        import httpx2
        from mcp import Client
        from mcp.client.streamable_http import streamable_http_client

        logging.getLogger("mcp").setLevel(logging.CRITICAL)  # what it says are tracebacks of what is told here
        options = self._options
        if options.command is not None:
            self._program = await start_program(options.command, options.env, options.folder)
            async with Client(self._program.streams(), mode="legacy", cache=None) as client:
                yield client
            return
        assert options.url is not None
        limits = httpx2.Timeout(options.start_s, read=max(options.start_s, options.timeout_s) + 5)
        hooks = {"response": [self._look]}
        headers = {"Accept-Encoding": "identity", **options.headers}
        web = httpx2.AsyncClient(
            headers=headers,
            timeout=limits,
            event_hooks=hooks,
            proxy=require_proxy(options.url),
            verify=ssl.create_default_context(),  # the machine's own certificates
            trust_env=False,
        )
        streams = streamable_http_client(options.url, http_client=web)
        async with web, Client(streams, mode="legacy", cache=None) as client:
            yield client


def _unreached(error: BaseException, url: str) -> str:
    """Describes an error of a connection to an address, without the address's query, which may hold a key."""
    address, _, query = url.partition("?")
    told = unreached(error, url)
    return f"{address}: {masked(told, f'?{query}', '') if query else told}"
