"""Handles clients that go away before they are answered, or before they have their whole answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any

from fastapi import Request, Response
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Scope, Send

GONE = 499
"""Status of an answer that nobody reads."""


async def unless_gone(request: Request, answer: Coroutine[Any, Any, Response]) -> Response:
    """Returns the answer, or an empty one if the client goes away before: then the answer is cancelled."""
    answering = asyncio.ensure_future(answer)
    leaving = asyncio.ensure_future(_left(request))
    try:
        await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
        return answering.result() if answering.done() else Response(status_code=GONE)
    finally:
        for task in (answering, leaving):
            task.cancel()
        await asyncio.gather(answering, leaving, return_exceptions=True)


class Watched(Response):
    """An answer is watched to tell whether it went out whole before its client left."""

    def __init__(self, answer: Response, tell: Callable[[bool], Awaitable[None]]) -> None:
        super().__init__(status_code=answer.status_code)
        self._answer = answer
        self._tell = tell

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        gone, whole = asyncio.Event(), False

        async def listen() -> Message:
            message = await receive()
            if message["type"] == "http.disconnect":
                gone.set()
            return message

        async def sent(message: Message) -> None:
            nonlocal whole
            await asyncio.sleep(0)  # an answer that is there at once must let the news come between its pieces
            if gone.is_set():
                raise ClientDisconnect
            await send(message)
            whole = message["type"] == "http.response.body" and not message.get("more_body", False)

        leaving = asyncio.ensure_future(_until_left(listen))
        try:
            with suppress(ClientDisconnect):
                await self._answer(scope, _never, sent)
        finally:
            leaving.cancel()
            await asyncio.gather(leaving, return_exceptions=True)
            await self._tell(whole)


async def _left(request: Request) -> None:
    await _until_left(request.receive)


async def _until_left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _never() -> Message:
    """Never returns. It takes the place of the answer's `receive`, as `Watched` itself listens for the
    client's going.
    """
    await asyncio.Event().wait()
    raise AssertionError("unreachable")
