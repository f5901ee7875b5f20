"""Records what an agent's program and a door say to each other, by a proxy that stands in front of the door."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from aiohttp import ClientSession, UnixConnector, web

from ray_gym.agents.door import MOST_BYTES, AgentDoor, Entrance

SOCKET = "watched"
OF_A_CONNECTION = frozenset({"connection", "content-length", "host", "keep-alive", "transfer-encoding"})
"""Headers that are of the connection, not of the request."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """Holds a request of a program, and the answer to it."""

    method: str
    path: str
    """Path with its query."""
    headers: Mapping[str, str]
    """By their names as they came, without those of the connection."""
    body: Any
    """Value of the JSON; None for no body, or one that is no JSON."""
    status: int
    answer: str


class RecordingDoor(AgentDoor):
    """Opens a proxy in front of itself, through which all calls come."""

    def __init__(self, exchanges: list[Exchange]) -> None:
        """Makes a door that adds what is said to `exchanges`, in the order in which answers are complete."""
        super().__init__()
        self._exchanges = exchanges
        app = web.Application(client_max_size=MOST_BYTES)
        app.router.add_route("*", "/{path:.*}", self._forward)
        self._proxy = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=1.0)
        self._behind: Entrance | None = None
        self._starting = asyncio.Lock()

    async def open(self) -> Entrance:
        """Makes the one entrance that one episode needs, and returns it with the path of the proxy's socket."""
        async with self._starting:
            assert self._behind is None, "one sandbox is recorded"
            self._behind = await super().open()
            watched = self._behind.path.with_name(SOCKET)
            await self._proxy.setup()
            await web.UnixSite(self._proxy, str(watched)).start()
        return replace(self._behind, path=watched)

    def shut(self, entrance: Entrance) -> None:
        """Shuts the entrance behind the proxy."""
        if self._behind is not None:
            super().shut(self._behind)

    async def close(self) -> None:
        """Ends the proxy, and the door behind it."""
        await self._proxy.cleanup()
        await super().close()

    async def _forward(self, request: web.Request) -> web.Response:
        body, sent = await request.read(), _of_a_request(request.headers)
        assert self._behind is not None
        async with (
            ClientSession(connector=UnixConnector(str(self._behind.path)), auto_decompress=False) as caller,
            caller.request(request.method, f"http://door{request.path_qs}", headers=sent, data=body) as answer,
        ):
            said, status = await answer.read(), answer.status
            self._exchanges.append(
                Exchange(request.method, request.path_qs, sent, _json_of(body), status, said.decode())
            )
            return web.Response(status=status, body=said, headers=_of_a_request(answer.headers))


def _of_a_request(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.lower() not in OF_A_CONNECTION}


def _json_of(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None
