"""Provides replicas that are called by real lanes; only their models and Serve's handle are doubles."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from ray.exceptions import ActorDiedError

from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.hosting.lanes.lane import Lane
from ray_gym.hosting.lanes.lanes import Lanes
from ray_gym.hosting.lanes.replica import LaneServer, Whereabouts
from ray_gym.messages import Message
from ray_gym.models.base import Completion, CompletionRequest, Sampling


def asked(text: str, session: str = "episode") -> CompletionRequest:
    return CompletionRequest([Message("user", text)], Sampling(), session, seed=1)


class Replica:
    """The words of a request tell the replica's model what to do."""

    def __init__(self, name: str, slots: int = 1000) -> None:
        self.name = name
        self.end = LaneServer(name, self.complete, slots)
        self.is_alive = True
        self.seen: list[str] = []
        self.cancelled: list[str] = []
        self.at_once = 0
        self.most_at_once = 0
        self.go_on = asyncio.Event()
        self.whereabouts: Whereabouts | None = None

    async def listens(self) -> Whereabouts:
        if self.whereabouts is None:
            self.whereabouts = await self.end.open("127.0.0.1")
        return self.whereabouts

    async def complete(self, request: CompletionRequest) -> Completion:
        text = request.messages[-1].content
        self.seen.append(text)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            if text.startswith("slow"):
                await self.go_on.wait()
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            self.cancelled.append(text)
            raise
        finally:
            self.at_once -= 1
        if text == "fails":
            raise EpisodeFailure(FailureKind.DATA, "template", "bad", retry=False)
        if text == "engine died":
            raise EpisodeFailure(FailureKind.INFRA, "vllm", "dead", retry=True)
        if text == "raises":
            raise KeyError("my bug")
        if text == "gone":
            raise ConnectionError("its engine went away")
        return Completion(Message("assistant", f"{self.name}: {text}"))

    async def die(self) -> None:
        self.is_alive = False
        await self.end.close()


class Handle:
    """Serve's handle says which replicas there are."""

    def __init__(self, *replicas: Replica) -> None:
        self.replicas = list(replicas)

    def broadcast(self, method: str) -> Any:
        assert method == "whereabouts"
        return self

    async def results_async(self, timeout_s: float, return_exceptions: bool) -> list[Any]:
        return [await replica.listens() if replica.is_alive else ActorDiedError() for replica in self.replicas]


async def never_gone() -> None:
    return None


@asynccontextmanager
async def lane_to(replica: Replica) -> AsyncIterator[Lane]:
    lane = Lane(await replica.listens())
    await lane.open()
    try:
        yield lane
    finally:
        lane.close()
        await replica.end.close()


@asynccontextmanager
async def lanes_to(handle: Handle, look: Any = never_gone) -> AsyncIterator[Lanes]:
    lanes = Lanes(handle, look)
    try:
        yield lanes
    finally:
        await lanes.close()
        for replica in handle.replicas:
            await replica.end.close()


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0)


def said(completions: list[Completion]) -> list[str]:
    return [completion.message.content for completion in completions]
