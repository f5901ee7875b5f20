"""Answers the model calls of a worker's programs, on a socket for each sandbox, in all dialects that the service speaks,
and their tool calls by MCP.

A program may be hostile. A key holds at one socket alone, which has so many connections. Of one program's large bodies
one is in memory, and the calls of all programs take turns, so that the event loop stays free.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from aiohttp import web

from ray_gym.agents.listener import LOG, Listener
from ray_gym.agents.refusals import Refusals
from ray_gym.agents.seat import Seat
from ray_gym.anthropic_api import models as messages_models
from ray_gym.anthropic_api.answer import token_count
from ray_gym.anthropic_api.request import read_count_request
from ray_gym.mcp.offering import VERSION, answer_post
from ray_gym.messages import Message
from ray_gym.models.base import Completion
from ray_gym.openai_api.headers import is_retry, key_of
from ray_gym.openai_api.json_body import parse_json
from ray_gym.openai_api.refused import Refused, not_found
from ray_gym.openai_api.request import ApiRequest
from ray_gym.openai_api.response_ids import ResponseId
from ray_gym.play.agent_call import AgentCall
from ray_gym.play.commands import AgentAnswer
from ray_gym.play.counting import count_call
from ray_gym.play.dialects import CHAT, EVENTS, MESSAGES, RESPONSES, Dialect
from ray_gym.sandbox.leftovers import Place
from ray_gym.sandbox.supervised import new_place

MOST_BYTES = 32 * 2**20
"""Largest body of a request."""
LARGE_BYTES = 64 * 2**10
"""Bytes of a body from which on it is read one after the other, and parsed in a thread."""
BODY_S = 60.0
"""Seconds in which a body has to arrive."""
AT_ONCE = 4
"""Calls that begin in one turn of the event loop."""
PATHS = {
    "/openai/chat/completions": CHAT,
    "/openai/v1/chat/completions": CHAT,
    "/openai/responses": RESPONSES,
    "/openai/v1/responses": RESPONSES,
    "/anthropic/v1/messages": MESSAGES,
}
"""Dialects by the path of their requests."""
COUNT_PATH = "/anthropic/v1/messages/count_tokens"

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Read = TypeVar("Read")


@dataclass(slots=True)
class Entrance:
    """Holds the socket by which the programs of one sandbox come, and the seats of these programs."""

    path: Path
    listener: Listener
    seats: dict[str, Seat] = field(default_factory=dict)
    """Seats by API key."""
    refused: Refusals = field(default_factory=Refusals)
    """Refusals since a seat recorded them."""
    reading: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while a large body is in memory."""


class AgentDoor:
    """Serves the calls of programs on Unix sockets, until it is closed. A key says whose call it is."""

    def __init__(self) -> None:
        """Makes a door that is not open yet, and lets nobody in."""
        self._entrances: dict[str, Entrance] = {}
        """Entrances by the path of their socket."""
        self._made = itertools.count()
        self._place: Place | None = None
        self._opening = asyncio.Lock()
        self._turns = asyncio.Semaphore(AT_ONCE)
        app = web.Application(client_max_size=MOST_BYTES, middlewares=[self._guarded])
        for path, dialect in PATHS.items():
            app.router.add_post(path, self._answering(dialect))
        app.router.add_post(COUNT_PATH, self._count)
        app.router.add_post("/mcp", self._mcp)
        for path in ("/openai/models", "/openai/v1/models"):
            app.router.add_get(path, self._models)
            app.router.add_get(f"{path}/{{name}}", self._model)
        app.router.add_get("/anthropic/v1/models", self._messages_models)
        app.router.add_get("/anthropic/v1/models/{name}", self._messages_model)
        self._runner = web.AppRunner(
            app, access_log=None, handle_signals=False, shutdown_timeout=1.0, auto_decompress=False, logger=LOG
        )

    async def open(self) -> Entrance:
        """Makes an entrance, and listens there. If this worker dies, the next one that opens a sandbox here removes it.
        Errors: OSError; UserError if there is no place for it.
        """
        async with self._opening:
            if self._place is None:
                place = await new_place()
                await self._runner.setup()
                self._place = place
        assert self._runner.server is not None
        path = self._place.folder / f"door-{next(self._made)}"
        entrance = Entrance(path, Listener(self._runner.server))
        await entrance.listener.listen(path)
        self._entrances[str(path)] = entrance
        return entrance

    def shut(self, entrance: Entrance) -> None:
        """Ends all connections of an entrance, and removes it, unless it is shut."""
        self._entrances.pop(str(entrance.path), None)
        entrance.listener.close()
        entrance.path.unlink(missing_ok=True)

    async def close(self) -> None:
        """Ends all connections, and removes the sockets."""
        for entrance in list(self._entrances.values()):
            self.shut(entrance)
        await self._runner.cleanup()
        if self._place is not None:
            await asyncio.to_thread(self._place.remove, is_clean=True)

    @web.middleware
    async def _guarded(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            if request.headers.get("Content-Encoding", "identity").lower() != "identity":  # it may unpack to any size
                raise Refused(415, "compressed_body", "Content-Encoding: send the body as it is")
            return await handler(request)
        except Refused as error:
            refused = error
        except web.HTTPException as error:
            refused = _unserved(request, error)
        entrance = self._entrances.get(_socket_of(request))
        if entrance is not None and request.method == "POST":  # others are no calls: clients look what is there
            entrance.refused.add(refused)
        status, body = _dialect_of_errors(request.path).refusal(refused)
        response = web.json_response(body, status=status)
        if not request.content.is_eof():  # it may be sending for ever
            response.force_close()
        return response

    def _entrance(self, request: web.Request) -> Entrance:
        """Returns the entrance by which a request came. Errors: Refused (401) if it is shut."""
        if (entrance := self._entrances.get(_socket_of(request))) is None:
            raise Refused(401, "invalid_api_key", "the episode is over")
        return entrance

    def _seat(self, request: web.Request) -> Seat:
        """Returns the seat whose key a request has. Errors: Refused (401)."""
        if (seat := self._entrance(request).seats.get(key_of(request.headers) or "")) is None:
            raise Refused(401, "invalid_api_key", "the key is that of no episode here")
        return seat

    def _answering(self, dialect: Dialect) -> Handler:
        async def answer(request: web.Request) -> web.StreamResponse:
            seat = self._seat(request)
            asked, call = await self._read(request, dialect)
            return await self._respond(request, dialect, asked, await seat.ask(call))

        return answer

    async def _read(self, request: web.Request, dialect: Dialect) -> tuple[ApiRequest, AgentCall]:
        """Reads a call. Errors: Refused, also (408) for a body that takes too long."""

        def parse(body: bytes) -> tuple[ApiRequest, AgentCall]:
            asked = _without_seed(dialect.read(parse_json(body, is_of_an_agent=True)))
            return asked, AgentCall.of(asked, is_again=is_retry(request.headers), is_named=False)

        return await self._parsed(request, parse)

    async def _parsed(self, request: web.Request, parse: Callable[[bytes], Read]) -> Read:
        """Returns what `parse` makes of a body. Errors: those of `parse`; Refused (408) for a body that takes too long."""
        length = request.content_length
        if length is not None and length <= LARGE_BYTES:
            body = await _body_of(request)
            async with self._turns:
                await asyncio.sleep(0)
                return parse(body)
        async with self._entrance(request).reading:
            return await asyncio.to_thread(parse, await _body_of(request))

    async def _respond(
        self, request: web.Request, dialect: Dialect, asked: ApiRequest, answer: AgentAnswer | None
    ) -> web.StreamResponse:
        said = answer.completion if answer is not None else Completion(Message("assistant"))
        name = dialect.new_id()
        if answer is not None and dialect is RESPONSES:
            name = str(ResponseId(answer.thread, answer.length, asked.instructed))
        if not asked.stream:
            text = json.dumps(dialect.whole(said, asked, name))
            return web.Response(text=text, headers=dialect.headers(asked, said), content_type="application/json")
        response = web.StreamResponse(headers={**dialect.headers(asked, said), "Content-Type": EVENTS})
        await response.prepare(request)
        for event in dialect.events(said, asked, name):
            await response.write(event.encode())
        return response

    async def _count(self, request: web.Request) -> web.StreamResponse:
        """Counts the tokens of a prompt by the participant's own chat template. It is no step."""

        def parse(body: bytes) -> AgentCall:
            return AgentCall.of(
                read_count_request(parse_json(body, is_of_an_agent=True)), is_again=False, is_named=False
            )

        seat = self._seat(request)
        call = await self._parsed(request, parse)
        return web.json_response(token_count(await count_call(call, seat.episode.threads[seat.participant.name])))

    async def _mcp(self, request: web.Request) -> web.StreamResponse:
        """Answers a message of an MCP client, to which the tools of the seat's participant are offered."""
        seat = self._seat(request)
        message = await self._parsed(request, lambda body: parse_json(body, is_of_an_agent=True))
        told = await answer_post(message, request.headers.get(VERSION), seat.tools)
        if told.body is None:
            return web.Response(status=told.status)
        return web.Response(status=told.status, text=json.dumps(told.body), content_type="application/json")

    async def _models(self, request: web.Request) -> web.StreamResponse:
        return web.json_response({"object": "list", "data": [_described(self._seat(request))]})

    async def _model(self, request: web.Request) -> web.StreamResponse:
        described, name = _described(self._seat(request)), request.match_info["name"]
        if name != described["id"]:
            raise not_found("model", name[:200])
        return web.json_response(described)

    async def _messages_models(self, request: web.Request) -> web.StreamResponse:
        return web.json_response(messages_models.model_list([self._seat(request).participant.name]))

    async def _messages_model(self, request: web.Request) -> web.StreamResponse:
        names = [self._seat(request).participant.name]
        return web.json_response(messages_models.describe_model(request.match_info["name"], names))


def _without_seed(asked: ApiRequest) -> ApiRequest:
    """Returns a call without a seed of its own: an episode has its own seeds, and not every engine takes some."""
    if asked.sampling.get("seed") is None:
        return asked
    sampling = {name: value for name, value in asked.sampling.items() if name != "seed"}
    return replace(asked, sampling=sampling, left_out=("seed", *asked.left_out))


def _described(seat: Seat) -> dict[str, Any]:
    return {"id": seat.participant.name, "object": "model", "created": 0, "owned_by": "ray_gym"}


def _dialect_of_errors(path: str) -> Dialect:
    """Returns the dialect in which the clients of a path understand a refusal."""
    return MESSAGES if f"{path}/".startswith("/anthropic/") else CHAT


def _unserved(request: web.Request, error: web.HTTPException) -> Refused:
    """Returns the refusal of a request that aiohttp itself does not serve: its path or method is unknown, its body too
    large.
    """
    if error.status in (404, 405):
        return Refused(error.status, "not_found", f"there is no {request.method} {request.path[:150]!r} here")
    return Refused(error.status, "invalid_request", error.reason)


def _socket_of(request: web.Request) -> str:
    """Returns the path of the socket by which a request came; "" if its connection has ended."""
    return str(request.transport.get_extra_info("sockname", "")) if request.transport is not None else ""


async def _body_of(request: web.Request) -> bytes:
    """Returns the body of a request. Errors: Refused (408) if it does not arrive in time."""
    try:
        async with asyncio.timeout(BODY_S):
            return await request.read()
    except TimeoutError:
        raise Refused(408, "body_too_slow", f"the body did not arrive within {BODY_S:g} s") from None
