"""Answers the model calls of a worker's programs, on a socket of its own, in all dialects that the service speaks, and
their tool calls by MCP.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

from aiohttp import web

from ray_gym.agents.seat import Seat
from ray_gym.mcp.offering import VERSION, answer_post
from ray_gym.messages import Message
from ray_gym.models.base import Completion
from ray_gym.openai_api.refused import Refused
from ray_gym.openai_api.request import ApiRequest
from ray_gym.openai_api.response_ids import ResponseId
from ray_gym.play.agent_call import AgentCall
from ray_gym.play.commands import AgentAnswer
from ray_gym.play.dialects import CHAT, EVENTS, MESSAGES, RESPONSES, Dialect
from ray_gym.sandbox.leftovers import Place
from ray_gym.sandbox.supervised import new_place

MOST_BYTES = 32 * 2**20
"""Largest body of a request."""
SOCKET = "door"
RETRIES = "x-stainless-retry-count"
PATHS = {
    "/openai/chat/completions": CHAT,
    "/openai/v1/chat/completions": CHAT,
    "/openai/responses": RESPONSES,
    "/openai/v1/responses": RESPONSES,
    "/anthropic/v1/messages": MESSAGES,
}
"""Dialects by the path of their requests."""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class AgentDoor:
    """Serves the calls of programs on a Unix socket, until it is closed. A key says whose call it is."""

    def __init__(self) -> None:
        """Makes a door that is not open yet, and lets nobody in."""
        self._seats: dict[str, Seat] = {}
        self._place: Place | None = None
        self._opening = asyncio.Lock()
        app = web.Application(client_max_size=MOST_BYTES, middlewares=[self._guarded])
        for path, dialect in PATHS.items():
            app.router.add_post(path, self._answering(dialect))
        app.router.add_post("/mcp", self._mcp)
        for path in ("/openai/models", "/openai/v1/models"):
            app.router.add_get(path, self._models)
        self._runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=1.0)

    async def open(self) -> Path:
        """Listens, unless it does already, and returns the path of the socket. If this worker dies, the next one that
        opens a sandbox here removes it. Errors: OSError; UserError if there is no place for it.
        """
        async with self._opening:
            if self._place is None:
                place = await new_place()
                await self._runner.setup()
                await web.UnixSite(self._runner, str(place.folder / SOCKET)).start()
                self._place = place
            return self._place.folder / SOCKET

    async def close(self) -> None:
        """Ends all connections, and removes the socket."""
        await self._runner.cleanup()
        if self._place is not None:
            await asyncio.to_thread(self._place.remove, is_clean=True)

    def let_in(self, key: str, seat: Seat) -> None:
        """Takes the calls with an API key for those of a seat's program."""
        self._seats[key] = seat

    def let_out(self, key: str) -> None:
        """Takes no more calls with a key."""
        self._seats.pop(key, None)

    @web.middleware
    async def _guarded(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        dialect = PATHS.get(request.path, CHAT)
        try:
            return await handler(request)
        except Refused as refused:
            return _refusal(dialect, refused)
        except web.HTTPException as error:
            return _refusal(dialect, Refused(error.status, "invalid_request", error.reason))

    def _seat(self, request: web.Request) -> Seat:
        """Returns the seat whose key a request has. Errors: Refused (401)."""
        given = request.headers.get("x-api-key") or request.headers.get("Authorization", "").removeprefix("Bearer ")
        if (seat := self._seats.get(given)) is None:
            raise Refused(401, "invalid_api_key", "the key is that of no episode here")
        return seat

    def _answering(self, dialect: Dialect) -> Handler:
        async def answer(request: web.Request) -> web.StreamResponse:
            seat, body = self._seat(request), await request.read()
            asked = await asyncio.to_thread(lambda: dialect.read(_json_of(body)))
            call = AgentCall.of(asked, is_again=request.headers.get(RETRIES, "0") != "0", is_named=False)
            return await self._respond(request, dialect, asked, await seat.ask(call))

        return answer

    async def _respond(
        self, request: web.Request, dialect: Dialect, asked: ApiRequest, answer: AgentAnswer | None
    ) -> web.StreamResponse:
        said = answer.completion if answer is not None else Completion(Message("assistant"))
        name = dialect.new_id()
        if answer is not None and dialect is RESPONSES:
            name = str(ResponseId(answer.thread, answer.length, asked.instructed))
        if not asked.stream:
            text = json.dumps(dialect.whole(said, asked, name))
            return web.Response(text=text, headers=dialect.headers(asked), content_type="application/json")
        response = web.StreamResponse(headers={**dialect.headers(asked), "Content-Type": EVENTS})
        await response.prepare(request)
        for event in dialect.events(said, asked, name):
            await response.write(event.encode())
        return response

    async def _mcp(self, request: web.Request) -> web.StreamResponse:
        """Answers a message of an MCP client, to which the tools of the seat's participant are offered."""
        seat, body = self._seat(request), await request.read()
        told = await answer_post(_json_of(body), request.headers.get(VERSION), seat.tools)
        if told.body is None:
            return web.Response(status=told.status)
        return web.Response(status=told.status, text=json.dumps(told.body), content_type="application/json")

    async def _models(self, request: web.Request) -> web.StreamResponse:
        model = {"id": self._seat(request).participant.name, "object": "model", "created": 0, "owned_by": "ray_gym"}
        return web.json_response({"object": "list", "data": [model]})


def _json_of(body: bytes) -> object:
    """Reads a body. Errors: Refused (400) if it is no JSON."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise Refused(400, "invalid_request", "the body is not JSON") from None


def _refusal(dialect: Dialect, refused: Refused) -> web.Response:
    """Returns a refusal in the form of its dialect."""
    status, body = dialect.refusal(refused)
    return web.json_response(body, status=status)
