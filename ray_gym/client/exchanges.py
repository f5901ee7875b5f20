"""Defines exchanges, which are sequences of requests to the service. They do no input and output themselves.

An exchange is a generator. It yields the next step (a request or a pause), is sent the outcome, and returns the answer.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, TypeVar

from ray_gym.aio import backoff
from ray_gym.client import calls
from ray_gym.client.address import Address
from ray_gym.client.calls import Call
from ray_gym.client.errors import ServiceError, not_understood
from ray_gym.client.replies import CallOutcome, ServiceReply
from ray_gym.client.retries import Patience, Retries
from ray_gym.service.api import EpisodePage, JsonObject, RolloutStatus

T = TypeVar("T")

ENDED = ("done", "failed", "cancelled")
"""States of a rollout that has ended."""
LONGEST_POLL_S = 5.0
"""Most seconds between two requests for a rollout's status or its next episodes."""
LAST_LOOK_S = 1.0
"""Least seconds for a request for a rollout's status, so that the last one is not cut short."""


@dataclass(frozen=True)
class Send:
    """This step of an exchange sends a request. Its outcome is a `ServiceReply`, or httpx's error."""

    call: Call[Any]
    within_s: float
    """Seconds within which the whole reply has to come."""


@dataclass(frozen=True)
class Pause:
    """This step of an exchange waits. Its outcome is None."""

    seconds: float


Exchange = Generator[Send | Pause, CallOutcome | None, T]
"""Generator of steps, which is sent their outcomes and returns the answer."""


class Exchanges:
    """Makes the exchanges with one service.

    They raise ServiceError when the service refuses, ConnectionError when it can't be reached, and TimeoutError when it
    does not answer in time.
    """

    def __init__(self, address: Address, patience: Patience) -> None:
        self._url = address.url
        self._patience = patience

    def retries(self, call: Call[Any], within_s: float | None = None) -> Retries:
        """Makes an object that decides about the tries of a call.

        `within_s`: seconds for all tries; None: `deadline_s` of the patience.
        """
        return Retries(f"{call.method} {self._url}{call.path}", self._patience, within_s)

    def send(self, call: Call[T], within_s: float | None = None) -> Exchange[T]:
        """Sends a call, again if `Retries` says so, and returns its answer.

        `within_s`: seconds for all tries; None: `deadline_s` of the patience.
        """
        retries = self.retries(call, within_s)
        while True:
            outcome = yield Send(call, retries.left_s())
            assert outcome is not None
            if isinstance(outcome, ServiceReply):
                if 200 <= outcome.status < 300:
                    return _read_answer(call, outcome)
                if outcome.status == call.also:
                    try:
                        return call.read(outcome.body)
                    except ValueError:
                        pass  # the reply is a refusal
            yield Pause(retries.pause_s(outcome))

    def wait(self, run_id: str, timeout_s: float) -> Exchange[RolloutStatus]:
        """Asks for a rollout's status until the rollout has ended, and returns the status.

        Errors: TimeoutError after `timeout_s` seconds.
        """
        ends = time.monotonic() + timeout_s
        looked = 0
        while True:
            left_s = max(ends - time.monotonic(), LAST_LOOK_S)
            status = yield from self.send(calls.rollout(run_id), min(left_s, self._patience.deadline_s))
            if status.state in ENDED:
                return status
            left_s = ends - time.monotonic()
            if left_s <= 0:
                over = sum(status.statuses.values())
                message = f"rollout {run_id} is still {status.state} ({over} of {status.episodes} episodes are over)"
                raise TimeoutError(f"{message} after {timeout_s:g} s")
            yield Pause(min(left_s, backoff.pause_s(looked, 0.1, LONGEST_POLL_S)))
            looked += 1

    def cancel(self, run_id: str) -> Exchange[RolloutStatus]:
        """Cancels a rollout and returns its status.

        If an earlier try has cancelled it and the answer was lost, the status is read. Errors: ServiceError (409) if
        the rollout had ended before.
        """
        try:
            return (yield from self.send(calls.cancel(run_id)))
        except ServiceError as error:
            if error.status != 409 or error.tries == 1:
                raise
        return (yield from self.send(calls.rollout(run_id)))  # an earlier try has cancelled it, and its answer was lost

    def close_session(self, session_id: str) -> Exchange[None]:
        """Closes a session. A session that the service does not know any more counts as closed.

        It may have ended long ago, or the answer to an earlier try may have been lost.
        """
        try:
            yield from self.send(calls.close_session(session_id))
        except ServiceError as error:
            if error.status != 404:
                raise


class Pages:
    """Reads the episodes of a rollout page by page, until the rollout has ended and all were read."""

    def __init__(
        self, exchanges: Exchanges, run_id: str, cursor: str | None, page_size: int | None, samples: bool
    ) -> None:
        self.ended = False
        """True once the last page was read."""
        self._exchanges = exchanges
        self._run_id = run_id
        self._cursor = cursor
        self._page_size = page_size
        self._samples = samples
        self._empty = 0

    def next_page(self) -> Exchange[list[JsonObject]]:
        """Reads and returns the next page, which is empty if there are no more episodes yet.

        If the page before was empty, the exchange begins with a pause.
        """
        if self._empty:
            yield Pause(backoff.pause_s(self._empty - 1, 0.1, LONGEST_POLL_S))
        call = calls.episodes(self._run_id, self._cursor, self._page_size, self._samples)
        page: EpisodePage = yield from self._exchanges.send(call)
        self._empty = 0 if page.episodes else self._empty + 1
        self._cursor, self.ended = page.next, page.next is None
        return page.episodes


def _read_answer(call: Call[T], reply: ServiceReply) -> T:
    """Reads the answer from a reply. Errors: ServiceError if the reply is no such answer."""
    try:
        return call.read(reply.body)
    except ValueError as error:
        raise not_understood(reply.status, str(error)) from None
