"""What is asked of the service one after the other, whoever does the input and output.

An exchange is a generator: it yields what is to be done, is sent what came of it, and returns the answer.
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
from ray_gym.client.replies import Outcome, Reply
from ray_gym.client.retries import Patience, Retries
from ray_gym.service.api import EpisodePage, JsonObject, RolloutStatus

T = TypeVar("T")

ENDED = ("done", "failed", "cancelled")
LONGEST_POLL_S = 5.0
LAST_LOOK_S = 1.0
"""What an answer has at least, also when the time to wait is nearly up: else it is cut short, and what it says is lost."""


@dataclass(frozen=True)
class Send:
    """What came of it is a `Reply` or httpx's error."""

    call: Call[Any]
    within_s: float


@dataclass(frozen=True)
class Pause:
    seconds: float


Exchange = Generator[Send | Pause, Outcome | None, T]


class Exchanges:
    def __init__(self, address: Address, patience: Patience) -> None:
        self._url = address.url
        self._patience = patience

    def retries(self, call: Call[Any], within_s: float | None = None) -> Retries:
        return Retries(f"{call.method} {self._url}{call.path}", self._patience, within_s)

    def of(self, call: Call[T], within_s: float | None = None) -> Exchange[T]:
        """One call, tried again as long as that may help."""
        retries = self.retries(call, within_s)
        while True:
            outcome = yield Send(call, retries.left_s())
            assert outcome is not None
            if isinstance(outcome, Reply):
                if 200 <= outcome.status < 300:
                    return _understood(call, outcome)
                if outcome.status == call.also:
                    try:
                        return call.read(outcome.body)
                    except ValueError:
                        pass  # it is a refusal after all
            yield Pause(retries.pause_s(outcome))

    def wait(self, run_id: str, timeout_s: float) -> Exchange[RolloutStatus]:
        """Until it has ended. Errors: TimeoutError."""
        ends = time.monotonic() + timeout_s
        looked = 0
        while True:
            left_s = max(ends - time.monotonic(), LAST_LOOK_S)
            status = yield from self.of(calls.rollout(run_id), min(left_s, self._patience.deadline_s))
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
        try:
            return (yield from self.of(calls.cancel(run_id)))
        except ServiceError as error:
            if error.status != 409 or error.tries == 1:
                raise
        return (yield from self.of(calls.rollout(run_id)))  # an earlier try has cancelled it, and its answer was lost

    def close_session(self, session_id: str) -> Exchange[None]:
        """One that is gone already (it had expired, or the answer to an earlier try was lost) is closed too."""
        try:
            yield from self.of(calls.close_session(session_id))
        except ServiceError as error:
            if error.status != 404:
                raise


class Pages:
    """The episodes of a rollout, page after page, also those that are still to come."""

    def __init__(
        self, exchanges: Exchanges, run_id: str, cursor: str | None, page_size: int | None, samples: bool
    ) -> None:
        self.ended = False
        self._exchanges = exchanges
        self._run_id = run_id
        self._cursor = cursor
        self._page_size = page_size
        self._samples = samples
        self._empty = 0

    def next(self) -> Exchange[list[JsonObject]]:
        if self._empty:
            yield Pause(backoff.pause_s(self._empty - 1, 0.1, LONGEST_POLL_S))
        call = calls.episodes(self._run_id, self._cursor, self._page_size, self._samples)
        page: EpisodePage = yield from self._exchanges.of(call)
        self._empty = 0 if page.episodes else self._empty + 1
        self._cursor, self.ended = page.next, page.next is None
        return page.episodes


def _understood(call: Call[T], reply: Reply) -> T:
    try:
        return call.read(reply.body)
    except ValueError as error:
        raise not_understood(reply.status, str(error)) from None
