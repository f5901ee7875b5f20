"""Follows the groups of a rollout as they finish, over as many connections as it takes."""

from __future__ import annotations

import time

import httpx
from httpx_sse import ServerSentEvent

from ray_gym.client import calls
from ray_gym.client.calls import Call
from ray_gym.client.errors import not_understood
from ray_gym.client.exchanges import Exchanges
from ray_gym.client.replies import CallOutcome
from ray_gym.client.retries import Patience
from ray_gym.service.api import GroupDone


class GroupStream:
    """Keeps between connections the cursor after the last group, and the number of failures."""

    def __init__(
        self, exchanges: Exchanges, patience: Patience, run_id: str, cursor: str | None, samples: bool
    ) -> None:
        self.ended = False
        self._exchanges = exchanges
        self._patience = patience
        self._run_id = run_id
        self._samples = samples
        self._last_id = cursor or ""
        self._told_pause_s = 0.0
        self._opened_at: float | None = None
        self._went_on = False
        self._retries = exchanges.retries(self.call())

    def call(self) -> Call[bytes]:
        """Returns the call that opens the next connection, which goes on after the last event that came."""
        return calls.stream(self._run_id, self._last_id or None, self._samples)

    def note_opened(self) -> None:
        self._opened_at = time.monotonic()

    def receive(self, event: ServerSentEvent) -> tuple[str, GroupDone] | None:
        """Reads an event. Returns the cursor to go on from and the group if the event is one, else None.

        Errors: ServiceError.
        """
        self._last_id = event.id or self._last_id
        if event.retry is not None:
            self._told_pause_s = event.retry / 1000
        if not event.data:  # a keep-alive: all that is new is the blank line after it
            return None
        self._went_on = True
        self.ended = event.event == "end"
        return (event.id, _group(event.data)) if event.event == "group" else None

    def pause_s(self, outcome: CallOutcome | None) -> float:
        """Returns the seconds to wait before the next connection. Errors: those of `Retries`."""
        if self._went_on or self._duration_s(outcome) >= self._patience.lasting_s:
            self._retries = self._exchanges.retries(self.call())
        self._went_on, self._opened_at = False, None
        cut_off = httpx.RemoteProtocolError("the stream ended before the rollout did")
        return max(self._retries.pause_s(outcome or cut_off), min(self._told_pause_s, self._patience.silence_s))

    def _duration_s(self, outcome: CallOutcome | None) -> float:
        """Returns the seconds for which the connection was of use; -inf if there was none.

        The silence at the end that made the client give up does not count.
        """
        if self._opened_at is None:
            return float("-inf")
        silent_s = self._patience.silence_s if isinstance(outcome, httpx.ReadTimeout) else 0.0
        return time.monotonic() - self._opened_at - silent_s


def _group(data: str) -> GroupDone:
    try:
        return GroupDone.model_validate_json(data)
    except ValueError as error:
        raise not_understood(200, str(error)) from None
