from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from ray_gym.engines.http1.pool import READ_AT_ONCE
from ray_gym.engines.proxied import Proxied, open_session

CALLS = 4 * READ_AT_ONCE


@pytest.fixture
async def proxy() -> AsyncIterator[str]:
    """Answers all calls in one turn of the event loop, as soon as it has them all."""
    everyone = asyncio.Barrier(CALLS)

    async def answer(request: web.Request) -> web.Response:
        await request.read()
        await everyone.wait()
        return web.Response(text="{}")

    application = web.Application()
    application.router.add_post("/v1/completions", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


async def test_answers_that_come_together_are_told_in_several_turns(proxy: str) -> None:
    session = open_session({}, proxy, limit=CALLS, connect_s=5, silence_s=60)
    proxied = Proxied("http://far.invalid/v1", session)
    loop, told = asyncio.get_running_loop(), [0]

    async def call() -> None:
        assert (await proxied.post("/completions", {}, b"{}")).body == b"{}"
        told[-1] += 1

    def count_anew() -> None:
        told.append(0)
        counting.append(loop.call_soon(count_anew))

    counting = [loop.call_soon(count_anew)]
    await asyncio.gather(*(call() for _ in range(CALLS)))
    counting[-1].cancel()
    await proxied.close()
    assert sum(told) == CALLS and max(told) == READ_AT_ONCE
