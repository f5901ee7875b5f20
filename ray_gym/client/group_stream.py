"""Follows the groups of a rollout as they finish. If a connection breaks, another one continues at the same place."""

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
    """Keeps the state of a stream of groups between its connections: the cursor and the failed tries."""

    def __init__(
        self, exchanges: Exchanges, patience: Patience, run_id: str, cursor: str | None, samples: bool
    ) -> None:
        self.ended = False
        """True once the rollout has ended and all groups were received."""
        self._exchanges = exchanges
        self._patience = patience
        self._run_id = run_id
        self._samples = samples
        self._last_id = cursor or ""
        self._retry_pause_s = 0.0
        self._opened_at: float | None = None
        self._has_progressed = False
        self._retries = exchanges.retries(self.call())

    def call(self) -> Call[bytes]:
        """Returns the call that opens the next connection, at the cursor after the last event."""
        return calls.stream(self._run_id, self._last_id or None, self._samples)

    def note_opened(self) -> None:
        """Notes that a connection was opened."""
        self._opened_at = time.monotonic()

    def receive(self, event: ServerSentEvent) -> tuple[str, GroupDone] | None:
        """Reads an event. Returns the cursor after the group and the group; None for other events.

        The event `end` sets the attribute `ended`.
        Errors: ServiceError for a group that this client cannot read.
        """
        self._last_id = event.id or self._last_id
        if event.retry is not None:
            self._retry_pause_s = event.retry / 1000
        if not event.data:  # a keep-alive has no data
            return None
        self._has_progressed = True
        self.ended = event.event == "end"
        return (event.id, _group(event.data)) if event.event == "group" else None

    def pause_s(self, outcome: CallOutcome | None) -> float:
        """Returns the seconds to wait before the next connection.

        `outcome`: how the last connection failed; None if it only ended too early. Errors, if there is no next try:
        ServiceError for a refusal; without a reply, TimeoutError if none came in time, else ConnectionError.
        """
        if self._has_progressed or self._duration_s(outcome) >= self._patience.lasting_s:
            self._retries = self._exchanges.retries(self.call())
        self._has_progressed, self._opened_at = False, None
        cut_off = httpx.RemoteProtocolError("the stream ended before the rollout did")
        return max(self._retries.pause_s(outcome or cut_off), min(self._retry_pause_s, self._patience.silence_s))

    def _duration_s(self, outcome: CallOutcome | None) -> float:
        """Returns the seconds for which the connection was open; -inf if there was none.

        If the client has given up because of silence, the seconds of the silence are not counted.
        """
        if self._opened_at is None:
            return float("-inf")
        silent_s = self._patience.silence_s if isinstance(outcome, httpx.ReadTimeout) else 0.0
        return time.monotonic() - self._opened_at - silent_s


def _group(data: str) -> GroupDone:
    """Reads a group from the data of an event. Errors: ServiceError if it is no group."""
    try:
        return GroupDone.model_validate_json(data)
    except ValueError as error:
        raise not_understood(200, str(error)) from None
