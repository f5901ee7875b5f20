"""Imitates OpenAI-compatible endpoints that misbehave in ways that a real server can't be made to on demand."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reply:
    """`body` is sent as JSON, or as it stands if it is text. `hang` never answers; `stalls`: the body is not all of the answer.
    `compressed`: it is sent by gzip, also unasked.
    """

    body: Json | str
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    hang: bool = False
    stalls: bool = False
    compressed: bool = False

    async def response(self) -> web.Response:
        if self.hang:
            await asyncio.Event().wait()
        if isinstance(self.body, str):
            return web.Response(text=self.body, status=self.status, headers=self.headers)
        if self.compressed:
            body = gzip.compress(json.dumps(self.body).encode())
            return web.Response(body=body, headers={"Content-Type": "application/json", "Content-Encoding": "gzip"})
        return web.json_response(self.body, status=self.status, headers=self.headers)


def answer(content: str | None = "Hello.", **choice: Any) -> Json:
    """Returns a chat completion as OpenAI gives it, without token ids."""
    message = {"role": "assistant", "content": content, **choice.pop("message", {})}
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 4}}
    return {"choices": [{"message": message, "finish_reason": "stop", **choice}], "usage": usage}


def exact_answer(prompt: list[int], generated: list[int], logprobs: list[float]) -> Json:
    """Returns a chat completion as vLLM gives it with `return_token_ids` and `logprobs`."""
    content = [{"token": "x", "logprob": logprob} for logprob in logprobs]
    return {**answer(token_ids=generated, logprobs={"content": content}), "prompt_token_ids": prompt}


@dataclass(slots=True)
class EndpointDouble:
    """Answers from `replies`, the last one for ever, and keeps what it was asked."""

    base_url: str = ""
    models: Reply = field(default_factory=lambda: Reply({"object": "list", "data": [{"id": "small"}, {"id": "large"}]}))
    replies: deque[Reply] = field(default_factory=lambda: deque([Reply(answer())]))
    requests: list[Json] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    left: asyncio.Event = field(default_factory=asyncio.Event)

    def will_answer(self, *replies: Reply) -> None:
        self.replies = deque(replies)

    async def stall(self, request: web.Request, reply: Reply) -> web.StreamResponse:
        """Sends the body of a reply, but not its end, and waits until the client disconnects."""
        response = web.StreamResponse(headers=reply.headers)
        await response.prepare(request)
        await response.write(str(reply.body).encode())
        try:
            await asyncio.Event().wait()
        finally:
            self.left.set()
        return response

    async def on_models(self, request: web.Request) -> web.Response:
        return await self.models.response()

    async def on_completion(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(await request.json())
        self.headers.append(dict(request.headers))
        self.times.append(asyncio.get_running_loop().time())
        self.paths.append(request.path)
        self.asked.set()
        reply = self.replies.popleft() if len(self.replies) > 1 else self.replies[0]
        return await (self.stall(request, reply) if reply.stalls else reply.response())


@asynccontextmanager
async def running_endpoint() -> AsyncIterator[EndpointDouble]:
    double = EndpointDouble()
    application = web.Application()
    application.router.add_get("/v1/models", double.on_models)
    for path in ("chat/completions", "completions", "responses"):
        application.router.add_post(f"/v1/{path}", double.on_completion)
    runner = web.AppRunner(application, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        double.base_url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        yield double
    finally:
        await runner.cleanup()
