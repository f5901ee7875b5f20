"""Checks when a response counts as delivered, and that this is reported."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any, cast

import pytest
from starlette.responses import JSONResponse, Response, StreamingResponse

from ray_gym.deployments.gateway.doors.session_router import SessionRouter
from ray_gym.deployments.gateway.guards.leaving import WatchedResponse
from ray_gym.deployments.gateway.remote_service import RemoteService

SCOPES = [{"type": "http", "asgi": {"spec_version": version}} for version in ("2.3", "2.4")]


class Client:
    """Reads so many pieces of an answer and then leaves, or reads all of it."""

    def __init__(self, pieces: int | None) -> None:
        self.left = asyncio.Event()
        self.bodies: list[bytes] = []
        self._pieces = pieces
        if pieces == 0:
            self.left.set()

    async def receive(self) -> Any:
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.body":
            self.bodies.append(message["body"])
            if not message.get("more_body") or len(self.bodies) == self._pieces:
                self.left.set()  # servers say so, too, once an answer is whole


def events() -> Iterator[str]:
    yield from ("one", "two", "three")


async def told(answer: Response, client: Client, scope: Any) -> list[bool]:
    said: list[bool] = []

    async def tell(whole: bool) -> None:
        said.append(whole)

    await WatchedResponse(answer, tell)(scope, client.receive, client.send)
    return said


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize(("pieces", "whole"), [(None, True), (1, False), (2, False), (0, False)])
async def test_a_stream_that_is_cut_is_not_delivered(scope: Any, pieces: int | None, whole: bool) -> None:
    client = Client(pieces)
    assert await told(StreamingResponse(events()), client, scope) == [whole]
    assert (b"".join(client.bodies) == b"onetwothree") == whole


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize(("pieces", "whole"), [(None, True), (0, False)])
async def test_an_answer_in_one_piece(scope: Any, pieces: int | None, whole: bool) -> None:
    assert await told(JSONResponse({}), Client(pieces), scope) == [whole]


async def test_an_answer_that_cannot_be_sent_is_not_delivered() -> None:
    class Broken(Client):
        async def send(self, message: Any) -> None:
            raise OSError("reset")

    client, said = Broken(None), list[bool]()

    async def tell(whole: bool) -> None:
        said.append(whole)

    with pytest.raises(OSError, match="reset"):
        await WatchedResponse(JSONResponse({}), tell)(SCOPES[0], client.receive, client.send)
    assert said == [False]


async def test_what_is_told_apart_is_told_to_the_end_and_not_in_the_name_of_the_request() -> None:
    """Ray finds what to cancel with a request by a variable of its context."""
    request_of: ContextVar[str] = ContextVar("request_of", default="nobody")
    begun, goes_on = asyncio.Event(), asyncio.Event()
    told: asyncio.Queue[str] = asyncio.Queue()

    async def tell() -> None:
        begun.set()
        await goes_on.wait()
        told.put_nowait(request_of.get())

    async def request() -> None:
        request_of.set("a request")
        await router.run_detached(tell())

    router = SessionRouter(cast(RemoteService, None))
    asked = asyncio.create_task(request())
    await begun.wait()
    asked.cancel()
    await asyncio.wait({asked})
    goes_on.set()
    async with asyncio.timeout(5):
        assert await told.get() == "nobody"
    assert asked.cancelled()
