"""Defines `ray_gym.Client`, which calls the service and blocks until it answers."""

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
from ray_gym.client.replies import CallOutcome, ServiceReply
from ray_gym.client.retries import Patience
from ray_gym.service import api

T = TypeVar("T")


class Client(ServiceClient):
    """A client calls the service, and threads may share it. `AsyncClient` has the same methods.

    Errors of all methods: ServiceError when the service refuses, ConnectionError when it can't be reached, TimeoutError.
    """

    def __init__(
        self, base_url: str | None = None, token: str | None = None, *, patience: Patience | None = None
    ) -> None:
        super().__init__(base_url, token, patience=patience)
        self._http = httpx.Client(**self._address.connection())

    def submit(self, request: api.RolloutRequest, *, key: str | None = None) -> api.RolloutStatus:
        """Submits tasks to be played.

        With an idempotency key of your own, asking again after a crash gives the same rollout.
        """
        return self._call(calls.submit(request, key))

    def rollouts(self, *, cursor: str | None = None, page_size: int | None = None) -> api.RolloutList:
        """Returns a page of your rollouts, the newest first. The answer's `next` is the cursor of the next page."""
        return self._call(calls.rollouts(cursor, page_size))

    def rollout(self, run_id: str) -> api.RolloutStatus:
        return self._call(calls.rollout(run_id))

    def wait(self, run_id: str, timeout_s: float) -> api.RolloutStatus:
        """Waits until a rollout has ended, well or not, as its `state` says.

        Errors: TimeoutError after `timeout_s` seconds.
        """
        return self._run(self._exchanges.wait(run_id, timeout_s))

    def cancel(self, run_id: str) -> api.RolloutStatus:
        return self._run(self._exchanges.cancel(run_id))

    def episodes(
        self, run_id: str, *, cursor: str | None = None, page_size: int | None = None, samples: bool = False
    ) -> Iterator[api.JsonObject]:
        """Yields all episodes of a rollout in the order in which they were committed.

        If the rollout is still running, it waits for those to come.
        """
        pages = self._pages(run_id, cursor, page_size, samples)
        while not pages.ended:
            yield from self._run(pages.next())

    def groups(
        self, run_id: str, *, cursor: str | None = None, samples: bool = False
    ) -> Iterator[tuple[str, api.GroupDone]]:
        """Yields each group as it finishes, after the cursor to go on from, until the rollout has ended."""
        stream, silence = self._group_stream(run_id, cursor, samples), timeouts(self._patience.silence_s)
        while True:
            broken: CallOutcome | None = None
            try:
                with self._http.stream(**stream.call().request(), timeout=silence) as response:
                    if response.status_code == 200:
                        stream.note_opened()
                        for event in EventSource(response).iter_sse():
                            if (group := stream.receive(event)) is not None:
                                yield group
                            if stream.ended:
                                return
                    else:
                        broken = ServiceReply(response.status_code, response.read(), response.headers)
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
        """Returns the service's metrics in Prometheus' text format."""
        return self._call(calls.metrics())

    def openapi(self) -> api.JsonObject:
        return self._call(calls.openapi())

    def sessions(self, *, cursor: str | None = None, page_size: int | None = None) -> api.SessionList:
        """Returns a page of your sessions, the newest first. The answer's `next` is the cursor of the next page."""
        return self._call(calls.sessions(cursor, page_size))

    def open_session(self, request: api.SessionRequest | None = None, *, key: str | None = None) -> Session:
        """Opens a session: one episode that you play. As a context manager, the session is closed at the end."""
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
        outcome: CallOutcome | None = None
        while True:
            try:
                step = exchange.send(outcome)
            except StopIteration as end:
                answer: T = end.value
                return answer
            outcome = self._carry_out(step)

    def _carry_out(self, step: Send | Pause) -> CallOutcome | None:
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
                return ServiceReply(response.status_code, b"".join(parts), response.headers)
        except httpx.RequestError as error:
            return error


class Session(OpenSession):
    def __init__(self, client: Client, opened: api.SessionOpened) -> None:
        super().__init__(client.base_url, opened)
        self._client = client

    def info(self) -> api.SessionInfo:
        """Returns the state of the session now."""
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
        """Calls a tool for a participant, and returns the result.

        Arguments are an object, or the JSON text that the model wrote. `call_id` is the id that the model gave the
        call.
        """
        request = api.ToolCallRequest(participant=participant, name=name, arguments=arguments, id=call_id)
        return self._client._call(calls.call_tool(self.id, request, key))

    def say(self, content: str, *, participant: str = "policy", key: str | None = None) -> api.MessageAnswer:
        """Says something for a participant, and returns the messages that it hears in reply."""
        request = api.MessageRequest(participant=participant, content=content)
        return self._client._call(calls.say(self.id, request, key))

    def score(self, *, key: str | None = None) -> api.SessionInfo:
        return self._client._call(calls.score(self.id, key))

    def episode(self) -> api.JsonObject:
        """Returns the session's row of the table with its tokens, once the session has ended and is committed."""
        return self._client._call(calls.episode_of(self.id))

    def close(self) -> None:
        self._client._run(self._client._exchanges.close_session(self.id))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
