"""A gateway's application with a few routes of its own, called in process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx
from asked import asked
from fastapi import APIRouter, FastAPI
from pydantic import BaseModel
from ray.exceptions import RayTaskError
from starlette.responses import StreamingResponse

from ray_gym.config.sections import ServiceSection, TokensSection
from ray_gym.deployments.gateway.app import AppSlots, make_app
from ray_gym.deployments.gateway.doors.general import general_routes
from ray_gym.deployments.gateway.guards.auth import Caller, Doorkeeper
from ray_gym.deployments.gateway.guards.tokens import digests
from ray_gym.deployments.gateway.metrics import Metrics
from ray_gym.openai_api.refused import not_found, service_unavailable
from ray_gym.service.api import EnvironmentList, Readiness

SECRET = b"s" * 32
TOKENS = {"alice": "alices-token-0123456789", "bob": "bobs-token-0123456789ab"}


class Item(BaseModel):
    name: str
    count: int = 0
    size: int | list[int] = 0
    more: dict[str, Any] = {}


class StillService:
    """Answers what it is told to."""

    def __init__(self) -> None:
        self.readiness = Readiness(status="ready", models=["small"])
        self.numbers: dict[str, float] | Exception = {}

    async def ready(self) -> Readiness:
        return self.readiness

    async def counts(self) -> dict[str, float]:
        if isinstance(self.numbers, Exception):
            raise self.numbers
        return self.numbers

    async def environments(self) -> EnvironmentList:
        return EnvironmentList(environments=[])


class Waiting:
    """Requests that are answered once they are let go."""

    def __init__(self) -> None:
        self.arrivals: asyncio.Queue[None] = asyncio.Queue()
        self.go = asyncio.Event()

    async def stay(self) -> None:
        self.arrivals.put_nowait(None)
        await self.go.wait()

    async def until(self, inside: int) -> None:
        async with asyncio.timeout(10):
            for _ in range(inside):
                await self.arrivals.get()


def routes(waiting: Waiting) -> APIRouter:
    router = APIRouter()

    @router.post("/v1/items")
    async def post(caller: Caller, item: Item) -> dict[str, Any]:
        return {"caller": caller, "item": item.model_dump()}

    @router.get("/v1/who")
    async def who(caller: Caller) -> str:
        return caller

    @router.get("/v1/sessions/{session_id}")
    @router.post("/v1/sessions/{session_id}/score")
    async def session(caller: Caller, session_id: str) -> str:
        return f"{caller}: {session_id}"

    @router.delete("/v1/sessions/{session_id}", status_code=204)
    async def close(session_id: str) -> None:
        return

    @router.get("/v1/wait")
    async def wait() -> str:
        await waiting.stay()
        return "went"

    @router.get("/v1/rollouts/{run_id}/stream")
    async def stream(run_id: str) -> StreamingResponse:
        async def events() -> AsyncIterator[bytes]:
            yield b": hello\n\n"
            await waiting.stay()

        return StreamingResponse(events(), media_type="text/event-stream")

    @router.get("/v1/fail/{kind}")
    async def fail(kind: str) -> None:
        if kind == "refused":
            raise service_unavailable("not now", retry_after_s=1.2)
        if kind == "far":
            raise RayTaskError("method", "traceback", not_found("rollout", "x")).as_instanceof_cause()
        if kind == "late":
            raise TimeoutError
        raise RuntimeError("the password is hunter2")

    return router


def make(
    waiting: Waiting | None = None,
    *,
    tokens: Mapping[str, str] = TOKENS,
    service: StillService | None = None,
    **section: Any,
) -> FastAPI:
    settings = ServiceSection(tokens=TokensSection(env="GIVEN") if tokens else None, **section)
    slots = AppSlots.of(settings)
    metrics = Metrics("g1", slots.requests, slots.streams)
    doorkeeper = Doorkeeper(SECRET, digests(SECRET, tokens))
    routers = [general_routes(asked(service or StillService()), metrics), routes(waiting or Waiting())]
    return make_app(settings, doorkeeper, metrics, slots, routers)


def client(app: FastAPI, token: str | None = TOKENS["alice"], host: str = "localhost") -> httpx.AsyncClient:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=f"http://{host}", headers=headers)


def problem(response: httpx.Response, status: int) -> dict[str, Any]:
    """Checks that an answer is an error in the one shape, and returns the error."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    body = response.json()
    assert set(body) == {"error"} and set(body["error"]) == {"message", "type", "code", "param"}
    found: dict[str, Any] = body["error"]
    return found
