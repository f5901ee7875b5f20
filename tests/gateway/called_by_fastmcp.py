"""Calls a session's tools by fastmcp's client, and by the client of version 1 of the package mcp, on which that is built;
prints what they saw as JSON. Arguments: address and key.
"""

import asyncio
import json
import sys
from datetime import timedelta

from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport
from fastmcp.exceptions import ToolError
from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client


async def by_fastmcp(url: str, key: str) -> dict[str, object]:
    async with Client(StreamableHttpTransport(url, auth=key)) as client:
        seen: dict[str, object] = {"ping": await client.ping()}
        seen["tools"] = [tool.name for tool in await client.list_tools()]
        seen["taken"] = (await client.call_tool("take", {"item": "pen", "count": 1})).content[0].text
        try:
            await client.call_tool("take", {"item": "shoe", "count": 1})
        except ToolError as error:
            seen["error"] = str(error)
        seen["server"] = client.initialize_result.serverInfo.name
    return seen


async def by_version_1(url: str, key: str) -> dict[str, object]:
    headers = {"Authorization": f"Bearer {key}"}
    async with (
        streamablehttp_client(url, headers=headers, timeout=timedelta(seconds=20)) as (read, write, session_id),
        ClientSession(read, write) as session,
    ):
        told = await session.initialize()
        tools = (await session.list_tools()).tools
        taken = await session.call_tool("take", {"item": "book", "count": 1})
        return {
            "version": told.protocolVersion,
            "session": session_id(),
            "tools": [tool.name for tool in tools],
            "taken": [taken.isError, taken.content[0].text],
        }


async def main(url: str, key: str) -> None:
    print(json.dumps([await by_fastmcp(url, key), await by_version_1(url, key)]))


asyncio.run(main(*sys.argv[1:]))
