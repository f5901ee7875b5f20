"""Imitates a service that is *broken*: it refuses, breaks connections off and never ends, in the order of a test.

A real service can't be made to do so on demand; how the client gets on with a real one is tested elsewhere.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn
from conftest import eventually, free_port
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

METHODS = ["GET", "POST", "DELETE", "PUT"]


@dataclass(frozen=True)
class Seen:
    method: str
    path: str
    query: dict[str, str]
    key: str | None
    authorization: str | None
    body: Any


class BrokenService:
    def __init__(self, url: str) -> None:
        self.url = url
        self.seen: list[Seen] = []
        self._answers: deque[Response] = deque()

    def forget(self) -> None:
        self.seen.clear()
        self._answers.clear()

    def will(self, *answers: Response) -> None:
        self._answers.extend(answers)

    async def answer(self, request: Request) -> Response:
        body = await request.body()
        said = request.headers
        parsed = json.loads(body) if body else None
        path, query = request.scope["raw_path"].decode(), dict(request.query_params)
        self.seen.append(
            Seen(request.method, path, query, said.get("Idempotency-Key"), said.get("Authorization"), parsed)
        )
        return self._answers.popleft() if self._answers else refused(500, "nothing_left", "the test asked for no more")


def says(body: Any, status: int = 200, **headers: str) -> Response:
    return JSONResponse(body, status, {name.replace("_", "-"): value for name, value in headers.items()})


def refused(status: int, code: str, message: str, param: str | None = None, **headers: str) -> Response:
    problem = {"message": message, "type": "invalid_request_error", "code": code, "param": param}
    return says({"error": problem}, status, **headers)


def breaks_off() -> Response:
    """The connection is closed in the middle of an answer."""
    return streams(b'{"id": ')


def streams(*pieces: bytes, breaks: bool = True) -> Response:
    async def body() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece
        if breaks:
            raise ConnectionResetError

    return StreamingResponse(body(), media_type="text/event-stream")


def falls_silent(*pieces: bytes) -> Response:
    async def body() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece
        await asyncio.Event().wait()

    return StreamingResponse(body(), media_type="text/event-stream")


def never_ends() -> Response:
    async def body() -> AsyncIterator[bytes]:
        while True:
            yield b" "
            await asyncio.sleep(0.01)

    return StreamingResponse(body())


@contextmanager
def broken_service() -> Iterator[BrokenService]:
    port = free_port()
    service = BrokenService(f"http://127.0.0.1:{port}")
    app = Starlette()
    app.add_route("/{path:path}", service.answer, METHODS)
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="critical", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        eventually(lambda: server.started, within_s=20)
        yield service
    finally:
        server.should_exit = True
        thread.join(timeout=20)
