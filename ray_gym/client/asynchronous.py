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
from ray_gym.messages import encodable
from ray_gym.service import api

T = TypeVar("T")


class AsyncClient(ServiceClient):
    """An asynchronous client calls the service from one event loop. It has the methods of `Client`, as coroutines.

    Episodes and groups are read with `async for`. `page_size` is the most items of a page, None for the service's
    default. `key` is an idempotency key, None for a random one. Errors of all methods: ServiceError when the service
    refuses, ConnectionError when it can't be reached, TimeoutError when it does not answer in time.
    """

    def __init__(
        self, base_url: str | None = None, token: str | None = None, *, patience: Patience | None = None
    ) -> None:
        super().__init__(base_url, token, patience=patience)
        self._http = httpx.AsyncClient(**self._address.connection())

    async def submit(self, request: api.RolloutRequest, *, key: str | None = None) -> api.RolloutStatus:
        """Submits a rollout and returns its status.

        `key`: idempotency key; None: a random one. With a key of your own, the same call after a crash returns the same
        rollout. Errors: ServiceError (409) if the key was used for another request.
        """
        return await self._call(calls.submit(request, key))

    async def rollouts(self, *, cursor: str | None = None, page_size: int | None = None) -> api.RolloutList:
        """Returns a page of your rollouts, the newest first. The answer's `next` is the cursor of the next page.

        `cursor`: None for the first page. `page_size`: most items; None: the service's default.
        """
        return await self._call(calls.rollouts(cursor, page_size))

    async def rollout(self, run_id: str) -> api.RolloutStatus:
        """Returns the status of a rollout."""
        return await self._call(calls.rollout(run_id))

    async def wait(self, run_id: str, timeout_s: float) -> api.RolloutStatus:
        """Waits until a rollout has ended, and returns its status: done, failed or cancelled.

        Errors: TimeoutError after `timeout_s` seconds.
        """
        return await self._run(self._exchanges.wait(run_id, timeout_s))

    async def cancel(self, run_id: str) -> api.RolloutStatus:
        """Cancels a rollout and returns its status. Its finished episodes are kept.

        Errors: ServiceError (409) if the rollout has ended already.
        """
        return await self._run(self._exchanges.cancel(run_id))

    async def episodes(
        self, run_id: str, *, cursor: str | None = None, page_size: int | None = None, samples: bool = False
    ) -> AsyncIterator[api.JsonObject]:
        """Yields all episodes of a rollout in the order in which they were committed, after a cursor if one is given.

        While the rollout is queued or running, the iterator waits for more. `samples`: True to get the tokens.
        """
        pages = self._pages(run_id, cursor, page_size, samples)
        while not pages.ended:
            for episode in await self._run(pages.next_page()):
                yield episode

    async def groups(
        self, run_id: str, *, cursor: str | None = None, samples: bool = False
    ) -> AsyncIterator[tuple[str, api.GroupDone]]:
        """Yields each group as it finishes, until the rollout has ended: the cursor after the group, and the group.

        `cursor`: that of the last group that was received before; None: from the first group on. `samples`: True to get
        the episodes' tokens.
        """
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
        """Returns the environments that the service offers, its config's own first."""
        return (await self._call(calls.environments())).environments

    async def model(self, name: str) -> api.ModelInfo:
        """Returns the description of a model of the service's config, with a digest of its tokenizer.

        Errors: ServiceError (404) if the service has no such model.
        """
        return await self._call(calls.model(name))

    async def health(self) -> api.Health:
        """Asks whether a gateway runs, and returns its answer."""
        return await self._call(calls.health())

    async def readiness(self) -> api.Readiness:
        """Returns whether the service accepts requests, is starting, or is stopping, and the names of its models.

        While the gateway refuses this request with 503, it is repeated as any other.
        """
        return await self._call(calls.readiness())

    async def metrics(self) -> str:
        """Returns the service's metrics in Prometheus' text format."""
        return await self._call(calls.metrics())

    async def openapi(self) -> api.JsonObject:
        """Returns the OpenAPI description of the service."""
        return await self._call(calls.openapi())

    async def sessions(self, *, cursor: str | None = None, page_size: int | None = None) -> api.SessionList:
        """Returns a page of your sessions, the newest first. The answer's `next` is the cursor of the next page.

        `cursor`: None for the first page. `page_size`: most items; None: the service's default.
        """
        return await self._call(calls.sessions(cursor, page_size))

    async def open_session(self, request: api.SessionRequest | None = None, *, key: str | None = None) -> AsyncSession:
        """Opens a session, in which you play the policy of one episode, and returns it. `async with` closes it.

        `request`: environment and task; None: the service's own environment, and a generated task. `key`: idempotency
        key; None: a random one. With a key that was used before, the same session is returned.
        """
        return AsyncSession(self, await self._call(calls.open_session(request or api.SessionRequest(), key)))

    async def close(self) -> None:
        """Closes all connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _call(self, call: Call[T]) -> T:
        return await self._run(self._exchanges.send(call))

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
    """A session is one episode, whose policy the caller plays with these coroutines. `open_session` opens it.

    Errors of all methods: ServiceError when the service refuses, ConnectionError when it can't be reached, TimeoutError
    when it does not answer in time.
    """

    def __init__(self, client: AsyncClient, opened: api.SessionOpened) -> None:
        super().__init__(client.base_url, opened)
        self._client = client

    async def info(self) -> api.SessionInfo:
        """Returns the state of the session now."""
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
        """Calls a tool for a participant, and returns the result.

        `arguments` are an object, or the JSON text that the model wrote. `call_id` is the id that the model gave the
        call; None: the service makes one. `key`: idempotency key; None: a random one. A mistake in the call is in the
        result's `error`, as the model would read it.
        """
        request = api.ToolCallRequest(participant=participant, name=name, arguments=arguments, id=call_id)
        return await self._client._call(calls.call_tool(self.id, request, key))

    async def say(self, content: str, *, participant: str = "policy", key: str | None = None) -> api.MessageAnswer:
        """Says a message for a participant, and returns the messages that the participant hears in reply. Half of a
        surrogate pair in it, which UTF-8 can't spell, is said as "?".

        The message ends the participant's turn. `key`: idempotency key; None: a random one.
        """
        request = api.MessageRequest(participant=participant, content=encodable(content))
        return await self._client._call(calls.say(self.id, request, key))

    async def score(self, *, key: str | None = None) -> api.SessionInfo:
        """Ends the episode if it is not over, scores it, and returns the session's state. Later calls return the same.

        `key`: idempotency key; None: a random one.
        """
        return await self._client._call(calls.score(self.id, key))

    async def episode(self) -> api.JsonObject:
        """Waits until the ended session is committed, and returns its episode's row, tokens included.

        Errors: ServiceError (409) if the session has not ended.
        """
        return await self._client._call(calls.episode_of(self.id))

    async def close(self) -> None:
        """Closes the session. Its episode is cancelled, unless the episode was scored or has failed."""
        await self._client._run(self._client._exchanges.close_session(self.id))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
