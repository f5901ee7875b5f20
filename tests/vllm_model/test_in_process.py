"""Checks an ASGI app called in process: its answer comes in parts, and it is told when the caller disconnects."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse

from ray_gym.deployments.vllm.grammar_gate import GrammarGate
from ray_gym.deployments.vllm.in_process import call
from ray_gym.deployments.vllm.openai_door import OpenAIDoor
from ray_gym.models.door import DoorHead, DoorPart, DoorRequest


async def parts_of(app: Any, path: str, body: bytes = b"{}") -> list[DoorPart]:
    return [part async for part in call(app, DoorRequest(path, body))]


async def test_an_answer_is_a_head_and_a_body() -> None:
    app = FastAPI()

    @app.post("/echo")
    async def echo(request: Request) -> Any:
        return await request.json()

    assert await parts_of(app, "/echo", b'{"a":1}') == [DoorHead(200, "application/json"), b'{"a":1}']
    head, _ = await parts_of(app, "/nothing")
    assert isinstance(head, DoorHead) and head.status == 404


async def test_pieces_come_as_they_are_made_and_a_caller_who_goes_ends_it() -> None:
    app, more, ended = FastAPI(), asyncio.Event(), asyncio.Event()

    @app.post("/stream")
    async def stream() -> StreamingResponse:
        async def pieces() -> AsyncIterator[bytes]:
            try:
                yield b"one"
                await more.wait()
                yield b"two"
                await asyncio.Event().wait()
            finally:
                ended.set()

        return StreamingResponse(pieces(), media_type="text/event-stream")

    answer = call(app, DoorRequest("/stream", b""))
    assert [await anext(answer), await anext(answer)][1] == b"one"
    more.set()
    assert await anext(answer) == b"two" and not ended.is_set()
    await answer.aclose()
    assert ended.is_set()


async def test_an_app_that_fails_gives_an_error_and_a_path_that_is_not_offered_none() -> None:
    async def broken(scope: Any, receive: Any, send: Any) -> None:
        raise KeyError("my bug")

    async def build() -> Any:
        return broken

    door = OpenAIDoor("small", build, takes_seeds=False, gate=GrammarGate(engine=None))
    for path, status in (("/v1/completions", 503), ("/v1/load_lora_adapter", 404), ("/v1/responses/../x", 404)):
        head, body = [part async for part in door.answer(DoorRequest(path, b"{}"))]
        assert isinstance(head, DoorHead) and head.status == status and isinstance(body, bytes)
        assert b"my bug" not in body
