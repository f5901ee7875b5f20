"""The groups of a rollout as they finish, over as many connections as it takes."""

from __future__ import annotations

import time
from collections.abc import Iterator

import httpx

from ray_gym.client import calls
from ray_gym.client.calls import Call
from ray_gym.client.errors import not_understood
from ray_gym.client.exchanges import Exchanges
from ray_gym.client.replies import Outcome
from ray_gym.client.retries import Patience
from ray_gym.client.server_sent_events import EventParser, ServerSentEvent
from ray_gym.service.api import GroupDone


class GroupStream:
    """What is known between connections: how far it came, and how often it failed."""

    def __init__(
        self, exchanges: Exchanges, patience: Patience, run_id: str, cursor: str | None, samples: bool
    ) -> None:
        self.ended = False
        self._exchanges = exchanges
        self._patience = patience
        self._run_id = run_id
        self._samples = samples
        self._parser = EventParser(cursor or "")
        self._opened_at = 0.0
        self._went_on = False
        self._retries = exchanges.retries(self.call())

    def call(self) -> Call[bytes]:
        """The next connection's: from after the last event that came."""
        return calls.stream(self._run_id, self._parser.last_id or None, self._samples)

    def opened(self) -> None:
        self._parser = EventParser(self._parser.last_id)
        self._opened_at = time.monotonic()

    def receive(self, piece: bytes) -> Iterator[tuple[str, GroupDone]]:
        """The groups that are complete with this piece. Errors: ServiceError."""
        lasted_s = time.monotonic() - self._opened_at
        self._went_on = self._went_on or lasted_s >= self._patience.lasting_s
        for event in self._parser.feed(piece):
            self._went_on = True
            if event.type == "group":
                yield event.id, _group(event)
            self.ended = self.ended or event.type == "end"

    def pause_s(self, outcome: Outcome | None) -> float:
        """Before the next connection. Errors: those of `Retries`."""
        if self._went_on:
            self._went_on, self._retries = False, self._exchanges.retries(self.call())
        cut_off = httpx.RemoteProtocolError("the stream ended before the rollout did")
        return max(
            self._retries.pause_s(outcome or cut_off), min(self._parser.retry_s or 0.0, self._patience.silence_s)
        )


def _group(event: ServerSentEvent) -> GroupDone:
    try:
        return GroupDone.model_validate_json(event.data)
    except ValueError as error:
        raise not_understood(200, str(error)) from None
