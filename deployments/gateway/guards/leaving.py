"""Handles clients that disconnect before they have their whole answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any

from fastapi import Request, Response
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Scope, Send

GONE = 499
"""Status of an answer to a client that has disconnected."""


async def answer_unless_gone(request: Request, answer: Coroutine[Any, Any, Response]) -> Response:
    """Returns the response of the coroutine `answer`. If the client disconnects before, the coroutine is cancelled, and
    an empty response with the status `GONE` is returned. Errors: those that `answer` raises.
    """
    answering = asyncio.ensure_future(answer)
    leaving = asyncio.ensure_future(_wait_for_leaving(request))
    try:
        await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
        return answering.result() if answering.done() else Response(status_code=GONE)
    finally:
        for task in (answering, leaving):
            task.cancel()
        await asyncio.gather(answering, leaving, return_exceptions=True)


class WatchedResponse(Response):
    """Sends an answer, and then calls `tell` with True if all of it was sent before the client disconnected, else with
    False.
    """

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

        async def send_watched(message: Message) -> None:
            nonlocal whole
            await asyncio.sleep(0)  # so that `listen` runs between the pieces of an answer that is complete at once
            if gone.is_set():
                raise ClientDisconnect
            await send(message)
            whole = message["type"] == "http.response.body" and not message.get("more_body", False)

        leaving = asyncio.ensure_future(_wait_for_disconnect(listen))
        try:
            with suppress(ClientDisconnect):
                await self._answer(scope, _wait_forever, send_watched)
        finally:
            leaving.cancel()
            await asyncio.gather(leaving, return_exceptions=True)
            await self._tell(whole)


async def _wait_for_leaving(request: Request) -> None:
    await _wait_for_disconnect(request.receive)


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _wait_forever() -> Message:
    """Never returns. The wrapped answer gets it as its `receive`, since `WatchedResponse` itself listens for the
    disconnect.
    """
    await asyncio.Event().wait()
    raise AssertionError("unreachable")
