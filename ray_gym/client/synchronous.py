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
from ray_gym.messages import encodable
from ray_gym.service import api

T = TypeVar("T")


class Client(ServiceClient):
    """A client calls the service, and threads may share it. `AsyncClient` has the same methods.

    `page_size` is the most items of a page, None for the service's default. `key` is an idempotency key, None for a
    random one. Errors of all methods: ServiceError when the service refuses, ConnectionError when it can't be reached,
    TimeoutError when it does not answer in time.
    """

    def __init__(
        self, base_url: str | None = None, token: str | None = None, *, patience: Patience | None = None
    ) -> None:
        super().__init__(base_url, token, patience=patience)
        self._http = httpx.Client(**self._address.connection())

    def submit(self, request: api.RolloutRequest, *, key: str | None = None) -> api.RolloutStatus:
        """Submits a rollout and returns its status.

        `key`: idempotency key; None: a random one. With a key of your own, the same call after a crash returns the same
        rollout. Errors: ServiceError (409) if the key was used for another request.
        """
        return self._call(calls.submit(request, key))

    def rollouts(self, *, cursor: str | None = None, page_size: int | None = None) -> api.RolloutList:
        """Returns a page of your rollouts, the newest first. The answer's `next` is the cursor of the next page.

        `cursor`: None for the first page. `page_size`: most items; None: the service's default.
        """
        return self._call(calls.rollouts(cursor, page_size))

    def rollout(self, run_id: str) -> api.RolloutStatus:
        """Returns the status of a rollout."""
        return self._call(calls.rollout(run_id))

    def wait(self, run_id: str, timeout_s: float) -> api.RolloutStatus:
        """Waits until a rollout has ended, and returns its status: done, failed or cancelled.

        Errors: TimeoutError after `timeout_s` seconds.
        """
        return self._run(self._exchanges.wait(run_id, timeout_s))

    def cancel(self, run_id: str) -> api.RolloutStatus:
        """Cancels a rollout and returns its status. Its finished episodes are kept.

        Errors: ServiceError (409) if the rollout has ended already.
        """
        return self._run(self._exchanges.cancel(run_id))

    def episodes(
        self, run_id: str, *, cursor: str | None = None, page_size: int | None = None, samples: bool = False
    ) -> Iterator[api.JsonObject]:
        """Yields all episodes of a rollout in the order in which they were committed, after a cursor if one is given.

        While the rollout is queued or running, the iterator waits for more. `samples`: True to get the tokens.
        """
        pages = self._pages(run_id, cursor, page_size, samples)
        while not pages.ended:
            yield from self._run(pages.next_page())

    def groups(
        self, run_id: str, *, cursor: str | None = None, samples: bool = False
    ) -> Iterator[tuple[str, api.GroupDone]]:
        """Yields each group as it finishes, until the rollout has ended: the cursor after the group, and the group.

        `cursor`: that of the last group that was received before; None: from the first group on. `samples`: True to get
        the episodes' tokens.
        """
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
        """Returns the environments that the service offers, its config's own first."""
        return self._call(calls.environments()).environments

    def model(self, name: str) -> api.ModelInfo:
        """Returns the description of a model of the service's config, with a digest of its tokenizer.

        Errors: ServiceError (404) if the service has no such model.
        """
        return self._call(calls.model(name))

    def health(self) -> api.Health:
        """Asks whether a gateway runs, and returns its answer."""
        return self._call(calls.health())

    def readiness(self) -> api.Readiness:
        """Returns whether the service accepts requests, is starting, or is stopping, and the names of its models.

        While the gateway refuses this request with 503, it is repeated as any other.
        """
        return self._call(calls.readiness())

    def metrics(self) -> str:
        """Returns the service's metrics in Prometheus' text format."""
        return self._call(calls.metrics())

    def openapi(self) -> api.JsonObject:
        """Returns the OpenAPI description of the service."""
        return self._call(calls.openapi())

    def sessions(self, *, cursor: str | None = None, page_size: int | None = None) -> api.SessionList:
        """Returns a page of your sessions, the newest first. The answer's `next` is the cursor of the next page.

        `cursor`: None for the first page. `page_size`: most items; None: the service's default.
        """
        return self._call(calls.sessions(cursor, page_size))

    def open_session(self, request: api.SessionRequest | None = None, *, key: str | None = None) -> Session:
        """Opens a session, in which you play the policy of one episode, and returns it. `with` closes it at the end.

        `request`: environment and task; None: the service's own environment, and a generated task. `key`: idempotency
        key; None: a random one. With a key that was used before, the same session is returned.
        """
        return Session(self, self._call(calls.open_session(request or api.SessionRequest(), key)))

    def close(self) -> None:
        """Closes all connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _call(self, call: Call[T]) -> T:
        return self._run(self._exchanges.send(call))

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
                for part in response.iter_bytes():  # piece by piece: httpx's timeouts don't end a slow answer
                    parts.append(part)
                    if time.monotonic() > ends:
                        return httpx.ReadTimeout("the answer did not end")
                return ServiceReply(response.status_code, b"".join(parts), response.headers)
        except httpx.RequestError as error:
            return error


class Session(OpenSession):
    """A session is one episode, whose policy the caller plays with these methods. `Client.open_session` opens it.

    Errors of all methods: ServiceError when the service refuses, ConnectionError when it can't be reached, TimeoutError
    when it does not answer in time.
    """

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

        `arguments` are an object, or the JSON text that the model wrote. `call_id` is the id that the model gave the
        call; None: the service makes one. `key`: idempotency key; None: a random one. A mistake in the call is in the
        result's `error`, as the model would read it.
        """
        request = api.ToolCallRequest(participant=participant, name=name, arguments=arguments, id=call_id)
        return self._client._call(calls.call_tool(self.id, request, key))

    def say(self, content: str, *, participant: str = "policy", key: str | None = None) -> api.MessageAnswer:
        """Says a message for a participant, and returns the messages that the participant hears in reply. Half of a
        surrogate pair in it, which UTF-8 can't spell, is said as "?".

        The message ends the participant's turn. `key`: idempotency key; None: a random one.
        """
        request = api.MessageRequest(participant=participant, content=encodable(content))
        return self._client._call(calls.say(self.id, request, key))

    def score(self, *, key: str | None = None) -> api.SessionInfo:
        """Ends the episode if it is not over, scores it, and returns the session's state. Later calls return the same.

        `key`: idempotency key; None: a random one.
        """
        return self._client._call(calls.score(self.id, key))

    def episode(self) -> api.JsonObject:
        """Waits until the ended session is committed, and returns its episode's row, tokens included.

        Errors: ServiceError (409) if the session has not ended.
        """
        return self._client._call(calls.episode_of(self.id))

    def close(self) -> None:
        """Closes the session. Its episode is cancelled, unless the episode was scored or has failed."""
        self._client._run(self._client._exchanges.close_session(self.id))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
