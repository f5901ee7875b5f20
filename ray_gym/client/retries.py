"""Decides whether a request is sent again, and when. No other module decides that."""

from __future__ import annotations

import time
from dataclasses import dataclass

import httpx

from ray_gym.aio import backoff
from ray_gym.client.errors import refusal
from ray_gym.client.replies import CallOutcome, ServiceReply
from ray_gym.errors import describe
from ray_gym.proxies import unreached

PASSING = frozenset({429, 502, 503, 504})
"""HTTP statuses after which the same request may succeed later."""
NOT_YET = 409
"""HTTP status after which the same request may succeed later if the reply has `Retry-After`."""


@dataclass(frozen=True)
class Patience:
    """Holds the limits after which a client gives up."""

    deadline_s: float = 120.0
    """Most seconds of a call, all tries included."""
    tries: int = 7
    """Most tries that fail. A try whose reply has `Retry-After` does not count.

    The default lasts at least 15 s, within which Serve replaces a proxy that has died.
    """
    first_pause_s: float = 0.5
    """Seconds before the second try. The pause doubles after every try that fails."""
    silence_s: float = 60.0
    """Seconds without any data, keep-alives included, after which a stream counts as broken."""
    lasting_s: float = 20.0
    """Seconds after which a stream that breaks does not count as a failed try."""


class Retries:
    """Counts the tries of one call, and decides about the next.

    Every call may be sent again: GET and DELETE are idempotent, and a POST has an idempotency key.
    """

    def __init__(self, what: str, patience: Patience, within_s: float | None = None) -> None:
        """Takes the method and the URL of the call, the client's limits, and the seconds for all tries.

        None: the seconds are `deadline_s` of the patience.
        """
        self._what = what
        self._patience = patience
        self._ends = time.monotonic() + (patience.deadline_s if within_s is None else within_s)
        self._tries = 0
        self._failures = 0

    def left_s(self) -> float:
        """Returns the seconds that are left for the call, at least 0.01."""
        return max(self._ends - time.monotonic(), 0.01)

    def pause_s(self, outcome: CallOutcome) -> float:
        """Counts a try that failed, and returns the seconds to wait before the next one. `outcome`: outcome of the try.

        Errors, if there is no next try: ServiceError for a refusal; without a reply, TimeoutError if none came in time,
        else ConnectionError.
        """
        self._tries += 1
        pause_s = self._pause_s(outcome)
        if pause_s is None or pause_s >= self.left_s():
            raise self._error_of(outcome)
        return pause_s

    def _pause_s(self, outcome: CallOutcome) -> float | None:
        patience = self._patience
        if isinstance(outcome, ServiceReply):
            asked_s = outcome.retry_after_s
            if outcome.status not in PASSING and not (outcome.status == NOT_YET and asked_s is not None):
                return None
            if asked_s is not None:
                return asked_s + backoff.pause_s(0, patience.first_pause_s)  # many clients may have got the same number
        self._failures += 1
        return backoff.pause_s(self._failures - 1, patience.first_pause_s) if self._failures < patience.tries else None

    def _error_of(self, outcome: CallOutcome) -> Exception:
        if isinstance(outcome, ServiceReply):
            return refusal(outcome, self._tries)
        if isinstance(outcome, httpx.TimeoutException):
            return TimeoutError(f"{self._what}: no answer in time ({describe(outcome)}), in {self._tries} tries")
        _, _, url = self._what.partition(" ")
        reason = f"can't be reached ({unreached(outcome, url)}), in {self._tries} tries"
        return ConnectionError(f"{self._what}: {reason}; is the service up, and this its address?")
