"""The calls of one episode to what lies outside of its state: models, judges, effects.

Each is answered from the journal if it was answered there; else it is made, within its deadline, and recorded before anybody acts on
the answer. A call that failed for want of infrastructure is made again; the time that this takes is not the episode's.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import msgspec
import xxhash

from ray_gym.backoff import pause_s
from ray_gym.clock import ActiveClock
from ray_gym.config import LimitsSection
from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.journal import answers
from ray_gym.journal.call_log import CallLog, Timing
from ray_gym.models.base import Completion, CompletionRequest
from ray_gym.thread import Thread
from ray_gym.tools import WhenLost

_encode = msgspec.msgpack.Encoder().encode


@dataclass(frozen=True, slots=True)
class Answered:
    completion: Completion
    started_at: float
    duration_s: float


class Calls:
    def __init__(self, limits: LimitsSection, log: CallLog, clock: ActiveClock) -> None:
        self._limits = limits
        self._clock = clock
        self._effects: Counter[str] = Counter()
        self.log = log
        self.broken: EpisodeFailure | None = None
        """Infrastructure failed for good: whatever the environment makes of it, such an episode is never scored."""

    async def complete(self, thread: Thread, request: CompletionRequest) -> Answered:
        """One model call. Errors: EpisodeFailure; Diverged; RuntimeError if the thread is busy."""
        with thread.in_use() as number:
            log, digest, issued = self.log, thread.digest(request), self.log.given
            recorded = await log.recall(thread.name, number, digest)
            if recorded is not None:
                self._clock.go_on_from(recorded.active_s)
                return Answered(answers.restore(recorded.answer), recorded.started_at, recorded.duration_s)
            started_at, began = time.time(), time.monotonic()
            completion = await self._until_answered(thread, request)
            timing = Timing(started_at, time.monotonic() - began, self._clock.elapsed_s)
            completion, stored = _storable(completion)
            await log.record(thread.name, number, digest, issued, stored, timing)
            return Answered(completion, timing.started_at, timing.duration_s)

    async def effect(
        self, name: str, arguments: Any, make: Callable[[str], Awaitable[Any]], when_lost: WhenLost
    ) -> Any:
        """Do something outside of the session once, and keep its result (JSON data). `make` is given the effect's idempotency key.

        Errors: EpisodeFailure (infra) if it was under way when a worker died and `when_lost` is "fail"; what `make` raises; Diverged.
        """
        thread, number = f"effect {name}", self._effects[name]
        self._effects[name] += 1
        log, issued = self.log, self.log.given
        digest = xxhash.xxh3_128_digest(_encode(arguments))
        recorded = await log.recall(thread, number, digest)
        if recorded is not None:
            self._clock.go_on_from(recorded.active_s)
            return msgspec.msgpack.decode(recorded.answer)
        if when_lost == "fail" and log.was_intended(thread, number):
            self.broken = EpisodeFailure(
                FailureKind.INFRA, thread, "it was under way when its worker died; nobody knows whether it was made"
            )
            raise self.broken
        await log.intend(thread, number)
        started_at, began = time.time(), time.monotonic()
        result = await make(f"{log.key}/{name}/{number}")
        timing = Timing(started_at, time.monotonic() - began, self._clock.elapsed_s)
        await log.record(thread, number, digest, issued, msgspec.Raw(_encode(result)), timing)
        return result

    async def _until_answered(self, thread: Thread, request: CompletionRequest) -> Completion:
        """Errors: EpisodeFailure; of kind infra only when the budget of retries is spent."""
        for tried in itertools.count():
            began = time.monotonic()
            try:
                async with asyncio.timeout(self._limits.call_deadline_s) as deadline:
                    return await thread.model.complete(request)
            except TimeoutError:
                if not deadline.expired():
                    raise
                limit = f"call_deadline_s ({self._limits.call_deadline_s:g} s)"
                failure = EpisodeFailure(
                    FailureKind.INFRA, f"model {thread.participant.model}", f"no answer within {limit}"
                )
            except EpisodeFailure as error:
                if error.failure.kind != FailureKind.INFRA:
                    raise
                failure = error
            if tried >= self._limits.retries.infra:
                self.broken = failure
                raise failure
            await asyncio.sleep(pause_s(tried))
            self._clock.exclude_since(began)
        raise AssertionError("unreachable")


def _storable(completion: Completion) -> tuple[Completion, msgspec.Raw]:
    """Lone surrogates (JSON can spell them, UTF-8 can't) are replaced at once: a replay must see what was seen first."""
    try:
        return completion, answers.store(completion)
    except UnicodeEncodeError:
        completion.message = completion.message.encodable()
        return completion, answers.store(completion)
