"""Defines `ray_gym.AsyncClient`, which calls the service from an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Self, TypeVar

import httpx
from httpx_sse import EventSource

from ray_gym.client import calls
from ray_gym.client.address import timeouts
from ray_gym.client.base import OpenSession, ServiceClient
from ray_gym.client.calls import Call
from ray_gym.client.exchanges import Exchange, Pause, Send
from ray_gym.client.replies import CallOutcome, ServiceReply
from ray_gym.client.retries import Patience
from ray_gym.service import api

T = TypeVar("T")


class AsyncClient(ServiceClient):
    """An asynchronous client calls the service from one event loop.

    The methods are those of `Client`. Episodes and groups are read with `async for`.
    """

    def __init__(
        self, base_url: str | None = None, token: str | None = None, *, patience: Patience | None = None
    ) -> None:
        super().__init__(base_url, token, patience=patience)
        self._http = httpx.AsyncClient(**self._address.connection())

    async def submit(self, request: api.RolloutRequest, *, key: str | None = None) -> api.RolloutStatus:
        return await self._call(calls.submit(request, key))

    async def rollouts(self, *, cursor: str | None = None, page_size: int | None = None) -> api.RolloutList:
        return await self._call(calls.rollouts(cursor, page_size))

    async def rollout(self, run_id: str) -> api.RolloutStatus:
        return await self._call(calls.rollout(run_id))

    async def wait(self, run_id: str, timeout_s: float) -> api.RolloutStatus:
        return await self._run(self._exchanges.wait(run_id, timeout_s))

    async def cancel(self, run_id: str) -> api.RolloutStatus:
        return await self._run(self._exchanges.cancel(run_id))

    async def episodes(
        self, run_id: str, *, cursor: str | None = None, page_size: int | None = None, samples: bool = False
    ) -> AsyncIterator[api.JsonObject]:
        pages = self._pages(run_id, cursor, page_size, samples)
        while not pages.ended:
            for episode in await self._run(pages.next()):
                yield episode

    async def groups(
        self, run_id: str, *, cursor: str | None = None, samples: bool = False
    ) -> AsyncIterator[tuple[str, api.GroupDone]]:
        stream, silence = self._group_stream(run_id, cursor, samples), timeouts(self._patience.silence_s)
        while True:
            broken: CallOutcome | None = None
            try:
                async with self._http.stream(**stream.call().request(), timeout=silence) as response:
                    if response.status_code == 200:
                        stream.note_opened()
                        async for event in EventSource(response).aiter_sse():
                            if (group := stream.receive(event)) is not None:
                                yield group
                            if stream.ended:
                                return
                    else:
                        broken = ServiceReply(response.status_code, await response.aread(), response.headers)
            except httpx.RequestError as error:
                broken = error
            await asyncio.sleep(stream.pause_s(broken))

    async def environments(self) -> list[api.EnvironmentInfo]:
        return (await self._call(calls.environments())).environments

    async def health(self) -> api.Health:
        return await self._call(calls.health())

    async def readiness(self) -> api.Readiness:
        return await self._call(calls.readiness())

    async def metrics(self) -> str:
        return await self._call(calls.metrics())

    async def openapi(self) -> api.JsonObject:
        return await self._call(calls.openapi())

    async def sessions(self, *, cursor: str | None = None, page_size: int | None = None) -> api.SessionList:
        return await self._call(calls.sessions(cursor, page_size))

    async def open_session(self, request: api.SessionRequest | None = None, *, key: str | None = None) -> AsyncSession:
        return AsyncSession(self, await self._call(calls.open_session(request or api.SessionRequest(), key)))

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _call(self, call: Call[T]) -> T:
        return await self._run(self._exchanges.of(call))

    async def _run(self, exchange: Exchange[T]) -> T:
        outcome: CallOutcome | None = None
        while True:
            try:
                step = exchange.send(outcome)
            except StopIteration as end:
                answer: T = end.value
                return answer
            outcome = await self._carry_out(step)

    async def _carry_out(self, step: Send | Pause) -> CallOutcome | None:
        if isinstance(step, Pause):
            await asyncio.sleep(step.seconds)
            return None
        try:
            async with asyncio.timeout(step.within_s):
                response = await self._http.request(**step.call.request(), timeout=timeouts(step.within_s))
            return ServiceReply(response.status_code, response.content, response.headers)
        except TimeoutError:
            return httpx.ReadTimeout("the answer did not end")
        except httpx.RequestError as error:
            return error


class AsyncSession(OpenSession):
    def __init__(self, client: AsyncClient, opened: api.SessionOpened) -> None:
        super().__init__(client.base_url, opened)
        self._client = client

    async def info(self) -> api.SessionInfo:
        return await self._client._call(calls.session(self.id))

    async def call_tool(
        self,
        name: str,
        arguments: api.JsonObject | str,
        *,
        call_id: str | None = None,
        participant: str = "policy",
        key: str | None = None,
    ) -> api.ToolCallAnswer:
        request = api.ToolCallRequest(participant=participant, name=name, arguments=arguments, id=call_id)
        return await self._client._call(calls.call_tool(self.id, request, key))

    async def say(self, content: str, *, participant: str = "policy", key: str | None = None) -> api.MessageAnswer:
        request = api.MessageRequest(participant=participant, content=content)
        return await self._client._call(calls.say(self.id, request, key))

    async def score(self, *, key: str | None = None) -> api.SessionInfo:
        return await self._client._call(calls.score(self.id, key))

    async def episode(self) -> api.JsonObject:
        """Returns the session's row of the table with its tokens, once the session has ended and is committed."""
        return await self._client._call(calls.episode_of(self.id))

    async def close(self) -> None:
        await self._client._run(self._client._exchanges.close_session(self.id))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
