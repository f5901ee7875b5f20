"""`ray_gym.Client`: the service, called by code that waits for its answers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from types import TracebackType
from typing import Self, TypeVar

import httpx
from httpx_sse import EventSource

from ray_gym.client import calls
from ray_gym.client.address import timeouts
from ray_gym.client.base import OpenSession, ServiceClient
from ray_gym.client.calls import Call
from ray_gym.client.exchanges import Exchange, Pause, Send
from ray_gym.client.replies import Outcome, Reply
from ray_gym.client.retries import Patience
from ray_gym.service import api

T = TypeVar("T")


class Client(ServiceClient):
    """Threads may share one. `AsyncClient` has the same methods.

    Errors of all methods: ServiceError when the service refuses, ConnectionError when it can't be reached, TimeoutError.
    """

    def __init__(
        self, base_url: str | None = None, token: str | None = None, *, patience: Patience | None = None
    ) -> None:
        super().__init__(base_url, token, patience=patience)
        self._http = httpx.Client(**self._address.connection())

    def submit(self, request: api.RolloutRequest, *, key: str | None = None) -> api.RolloutStatus:
        """Have tasks played. With an idempotency key of your own, asking again after a crash gives the same rollout."""
        return self._call(calls.submit(request, key))

    def rollouts(self, *, cursor: str | None = None, page_size: int | None = None) -> api.RolloutList:
        """A page of them, the newest first; `next` of the answer is the cursor of the one after it."""
        return self._call(calls.rollouts(cursor, page_size))

    def rollout(self, run_id: str) -> api.RolloutStatus:
        return self._call(calls.rollout(run_id))

    def wait(self, run_id: str, timeout_s: float) -> api.RolloutStatus:
        """Until it has ended, well or not: see `state`. Errors: TimeoutError."""
        return self._run(self._exchanges.wait(run_id, timeout_s))

    def cancel(self, run_id: str) -> api.RolloutStatus:
        return self._run(self._exchanges.cancel(run_id))

    def episodes(
        self, run_id: str, *, cursor: str | None = None, page_size: int | None = None, samples: bool = False
    ) -> Iterator[api.JsonObject]:
        """All of them, in the order in which they were committed; of a running rollout, those to come are waited for."""
        pages = self._pages(run_id, cursor, page_size, samples)
        while not pages.ended:
            yield from self._run(pages.next())

    def groups(
        self, run_id: str, *, cursor: str | None = None, samples: bool = False
    ) -> Iterator[tuple[str, api.GroupDone]]:
        """Each group as it finishes, with the cursor to go on from, until the rollout has ended."""
        stream, silence = self._group_stream(run_id, cursor, samples), timeouts(self._patience.silence_s)
        while True:
            broken: Outcome | None = None
            try:
                with self._http.stream(**stream.call().request(), timeout=silence) as response:
                    if response.status_code == 200:
                        stream.opened()
                        for event in EventSource(response).iter_sse():
                            if (group := stream.receive(event)) is not None:
                                yield group
                            if stream.ended:
                                return
                    else:
                        broken = Reply(response.status_code, response.read(), response.headers)
            except httpx.RequestError as error:
                broken = error
            time.sleep(stream.pause_s(broken))

    def environments(self) -> list[api.EnvironmentInfo]:
        return self._call(calls.environments()).environments

    def health(self) -> api.Health:
        return self._call(calls.health())

    def readiness(self) -> api.Readiness:
        return self._call(calls.readiness())

    def metrics(self) -> str:
        """In Prometheus' text format."""
        return self._call(calls.metrics())

    def openapi(self) -> api.JsonObject:
        return self._call(calls.openapi())

    def sessions(self, *, cursor: str | None = None, page_size: int | None = None) -> api.SessionList:
        """A page of them, as `rollouts`."""
        return self._call(calls.sessions(cursor, page_size))

    def open_session(self, request: api.SessionRequest | None = None, *, key: str | None = None) -> Session:
        """One episode that is played from outside. As a context manager, the session is closed at the end."""
        return Session(self, self._call(calls.open_session(request or api.SessionRequest(), key)))

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _call(self, call: Call[T]) -> T:
        return self._run(self._exchanges.of(call))

    def _run(self, exchange: Exchange[T]) -> T:
        outcome: Outcome | None = None
        while True:
            try:
                step = exchange.send(outcome)
            except StopIteration as end:
                answer: T = end.value
                return answer
            outcome = self._carry_out(step)

    def _carry_out(self, step: Send | Pause) -> Outcome | None:
        if isinstance(step, Pause):
            time.sleep(step.seconds)
            return None
        ends = time.monotonic() + step.within_s
        parts: list[bytes] = []
        try:
            with self._http.stream(**step.call.request(), timeout=timeouts(step.within_s)) as response:
                for part in response.iter_bytes():  # by the piece: a timeout alone does not end an answer that trickles
                    parts.append(part)
                    if time.monotonic() > ends:
                        return httpx.ReadTimeout("the answer did not end")
                return Reply(response.status_code, b"".join(parts), response.headers)
        except httpx.RequestError as error:
            return error


class Session(OpenSession):
    def __init__(self, client: Client, opened: api.SessionOpened) -> None:
        super().__init__(client.base_url, opened)
        self._client = client

    def info(self) -> api.SessionInfo:
        """As it is now."""
        return self._client._call(calls.session(self.id))

    def call_tool(
        self,
        name: str,
        arguments: api.JsonObject | str,
        *,
        call_id: str | None = None,
        participant: str = "policy",
        key: str | None = None,
    ) -> api.ToolCallAnswer:
        """Arguments are an object, or its JSON text as the model wrote it; `call_id` is the model's."""
        request = api.ToolCallRequest(participant=participant, name=name, arguments=arguments, id=call_id)
        return self._client._call(calls.call_tool(self.id, request, key))

    def say(self, content: str, *, participant: str = "policy", key: str | None = None) -> api.MessageAnswer:
        """Gives what the participant hears then."""
        request = api.MessageRequest(participant=participant, content=content)
        return self._client._call(calls.say(self.id, request, key))

    def score(self, *, key: str | None = None) -> api.SessionInfo:
        return self._client._call(calls.score(self.id, key))

    def episode(self) -> api.JsonObject:
        """Its row of the table, tokens and all, once it has ended and is committed."""
        return self._client._call(calls.episode_of(self.id))

    def close(self) -> None:
        self._client._run(self._client._exchanges.close_session(self.id))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
