"""Defines an environment whose episodes are some calls of a model, and an endpoint that charges for every request."""

from __future__ import annotations

import asyncio
import hashlib
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

from ray_gym import Environment, Episode, Message, Opening, Task

CALLS = 4
"""Calls of an episode."""
PICOS_IN, PICOS_CACHED, PICOS_OUT = 2_000_000, 500_000, 8_000_000
PRICE = {"input": 2, "cached": 0.5, "output": 8}
"""Price of a model in a config: money for a million tokens, which is what the endpoint charges in picos for one."""
SLOW_S = 0.02
"""Seconds that an answer takes."""


class Talk(Environment[Task, None]):
    def generate(self, rng: random.Random, index: int) -> Task:
        return Task()

    def setup(self, task: Task, episode: Episode) -> None:
        return None

    def opening(self, task: Task, state: None) -> Opening:
        return Opening(messages={"policy": [Message("user", "Hello")]})

    async def run(self, episode: Episode) -> None:
        for number in range(CALLS):
            if number:
                episode.tell("policy", f"And then, {number}?")
            await episode.turn("policy")

    def score(self, state: Any, episode: Episode) -> float:
        return 1.0


@dataclass
class Till:
    """Charges for each request when it comes, whatever becomes of the answer."""

    base_url: str = ""
    charged: int = 0
    times: list[float] = field(default_factory=list)
    """Times at which requests came, in seconds."""
    most_at_once: int = 0
    at_once: int = 0

    async def on_models(self, request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": "small"}]})

    async def on_completion(self, request: web.Request) -> web.Response:
        self.times.append(asyncio.get_running_loop().time())
        body = await request.json()
        text = "".join(message["content"] for message in body["messages"])
        drawn = int(hashlib.sha256(text.encode()).hexdigest(), 16)
        prompt, generated = 20 + len(text) // 3, 1 + drawn % body["max_tokens"]
        cached = prompt // 2
        self.charged += (prompt - cached) * PICOS_IN + cached * PICOS_CACHED + generated * PICOS_OUT
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await asyncio.sleep(SLOW_S)
        finally:
            self.at_once -= 1
        said = {"role": "assistant", "content": f"Well, {drawn % 1000}."}
        details = {"prompt_tokens": prompt, "completion_tokens": generated}
        usage = {**details, "prompt_tokens_details": {"cached_tokens": cached}}
        return web.json_response({"choices": [{"message": said, "finish_reason": "stop"}], "usage": usage})


@contextmanager
def open_till() -> Iterator[Till]:
    """Serves a till from a thread of its own, since commands are waited for in the test's."""
    till, loop = Till(), asyncio.new_event_loop()
    runner = web.AppRunner(_application(till), shutdown_timeout=0.1)

    async def start() -> None:
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        till.base_url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"

    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(start(), loop).result(10)
        yield till
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


def _application(till: Till) -> web.Application:
    application = web.Application()
    application.router.add_get("/v1/models", till.on_models)
    application.router.add_post("/v1/chat/completions", till.on_completion)
    return application


def config_at(till: Till, folder: Path, episodes: int = 24) -> dict[str, Any]:
    """Returns a config of episodes that are played at a till by two workers."""
    model = {"engine": "openai", "base_url": till.base_url, "model": "small", "token_ids": False, "price": PRICE}
    return {
        "run": {"name": "paid"},
        "environment": {"id": "paying:Talk"},
        "tasks": {"generate": episodes},
        "models": {"small": model},
        "participants": {"policy": {"model": "small", "sampling": {"max_tokens": 100}}},
        "fanout": {"workers": 2, "concurrency": 16},
        "output": {"dir": str(folder / "runs"), "roll_s": 1},
    }
