"""Calls an ASGI app within its own process, without HTTP."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from ray_gym.models.door import DoorHead, DoorPart, DoorRequest

GRACE_S = 5.0
"""Seconds that an app may take to end by itself after its caller has disconnected."""

_Messages = asyncio.Queue[dict[str, Any] | None]


async def call(app: Any, request: DoorRequest) -> AsyncGenerator[DoorPart, None]:
    """Yields the parts of the app's answer: its head, then its body. If the app raises, the answer just ends, or is
    empty. If the generator is closed early, the app gets `http.disconnect`.

    `app`: ASGI app.
    """
    messages: _Messages = asyncio.Queue()  # without a limit: the answer's tokens are limited
    gone = asyncio.Event()
    unread = [request.body]

    async def receive() -> dict[str, Any]:
        if unread:
            return {"type": "http.request", "body": unread.pop(), "more_body": False}
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        messages.put_nowait(message)

    running = asyncio.ensure_future(app(_scope(request), receive, send))
    running.add_done_callback(lambda _: messages.put_nowait(None))
    try:
        async with aclosing(_read_parts(messages)) as parts:
            async for part in parts:
                yield part
    finally:
        gone.set()
        await _wait_for_end(running)


async def _read_parts(messages: _Messages) -> AsyncGenerator[DoorPart, None]:
    while (message := await messages.get()) is not None:
        if message["type"] == "http.response.start":
            headers = {key.lower(): value for key, value in message["headers"]}
            yield DoorHead(message["status"], headers.get(b"content-type", b"application/json").decode("latin-1"))
            continue
        pieces = [message]
        while not messages.empty():  # pieces that are ready are yielded as one
            following = messages.get_nowait()
            if following is None:
                break
            pieces.append(following)
        if body := b"".join(piece.get("body", b"") for piece in pieces):
            yield body
        if not pieces[-1].get("more_body", False):
            return


async def _wait_for_end(running: asyncio.Future[Any]) -> None:
    """Waits for the app to end, and cancels it after `GRACE_S` seconds. It is not cancelled at once, since vLLM's
    handlers abort a generation when they see that the caller has disconnected, but not when they are cancelled.
    """
    await asyncio.wait({running}, timeout=GRACE_S)
    running.cancel()
    await asyncio.wait({running}, timeout=GRACE_S)
    if running.done() and not running.cancelled() and (error := running.exception()) is not None:
        logging.getLogger(__name__).warning("the OpenAI app failed: %r", error)


def _scope(request: DoorRequest) -> dict[str, Any]:
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},  # with 2.3, Starlette's streams listen for http.disconnect
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": request.path,
        "raw_path": request.path.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": [(b"host", b"replica"), (b"content-type", b"application/json")],
        "client": None,
        "server": ("replica", 80),
        "state": {},
    }
