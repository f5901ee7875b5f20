"""Makes the calls of one episode to what lies outside of its state: models, judges, effects.

A call is answered from the journal if it was answered there; else it is made, within its deadline, and recorded before
anybody acts on the answer. A call that failed for want of infrastructure is made again; the time that this takes is not
the episode's.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
import xxhash

from ray_gym.aio.backoff import pause_s
from ray_gym.aio.clock import ActiveClock, reset_running_clock, set_running_clock
from ray_gym.aio.deadlines import Deadline
from ray_gym.aio.held import run_held
from ray_gym.episode.effects import fit_for_journal
from ray_gym.episode.stage import Stage
from ray_gym.episode.thread import Thread
from ray_gym.errors import EpisodeFailure, Failure, FailureKind
from ray_gym.journal.call_log import CallLog, MadeCall, Timing
from ray_gym.journal.records import Called
from ray_gym.models import stored as answers
from ray_gym.models.base import Completion, CompletionRequest, VersionSpan
from ray_gym.models.engine import Sized
from ray_gym.models.thoughts import last_words, with_thoughts_apart
from ray_gym.tools.answer import WhenLost

Result = TypeVar("Result")

_encode = msgspec.msgpack.Encoder().encode


@dataclass(slots=True)
class _Inside:
    """Marks work that a replay does again, and counts the calls that this work is waiting for.

    These calls have places of their own in the recorded order.
    """

    calls: int = 0


_INSIDE: ContextVar[_Inside | None] = ContextVar("inside", default=None)


class _UnderWay:
    """Marks a call as under way on its episode's clock, until the block ends."""

    __slots__ = ("_clock", "_inside", "_log", "_made", "_token")

    def __init__(self, made: MadeCall, log: CallLog, clock: ActiveClock) -> None:
        self._made, self._log, self._clock = made, log, clock

    def __enter__(self) -> None:
        self._inside = _INSIDE.get()
        if self._inside is not None:
            self._inside.calls += 1
        self._token = set_running_clock(self._clock)

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        reset_running_clock(self._token)
        self._log.end_call(self._made, error)
        if self._inside is not None:
            self._inside.calls -= 1


class Answered(msgspec.Struct, frozen=True):
    """Holds the answer of a model call, and says when the call was made."""

    completion: Completion
    started_at: float
    """Unix time in seconds at which the call began."""
    duration_s: float
    """Seconds that the call took."""


class Calls:
    """Makes the calls of one episode, or answers them from its journal."""

    def __init__(
        self,
        stage: Stage,
        log: CallLog,
        clock: ActiveClock,
    ) -> None:
        self._limits = stage.limits
        self._timer = stage.deadlines.timer(stage.limits.call_deadline_s)
        self._clock = clock
        self._slots = stage.call_slots
        self._meter = stage.meter
        self._metrics = stage.metrics
        self._pace = stage.pace
        self._told = stage.told
        self._numbers: Counter[str] = Counter()
        self.log = log
        self.live = 0
        """Number of model calls that a model answered, rather than the journal."""
        if not log.is_live:
            clock.set_replaying(True)
        self.broken: EpisodeFailure | None = None
        """Failure of infrastructure that no retry has mended; else None. Such an episode is never scored, even if the
        environment handles the exception."""

    async def complete(self, thread: Thread, request: CompletionRequest) -> Answered:
        """Makes one model call on a thread, and waits for its answer.

        In a replay, the answer comes from the journal. Errors: EpisodeFailure; Diverged if a replay does not match the
        record; RuntimeError if another call is under way on the thread.
        """
        number = thread.take()
        try:
            made = self.log.make(thread.name, number, thread.digest(request))
            with _UnderWay(made, self.log, self._clock):
                return await self._complete(made, thread, request)
        finally:
            thread.give_back()

    async def effect(
        self, name: str, arguments: Any, make: Callable[[str], Awaitable[Any]], when_lost: WhenLost
    ) -> Any:
        """Does something outside of the episode once, and returns its result (JSON data) as it is recorded. `make` is
        given the effect's idempotency key. A replay returns the recorded result.

        Errors: EpisodeFailure of kind infra if it was under way when a worker died and `when_lost` is "fail"; an
        EpisodeFailure for any exception of `make`, which is recorded too; Diverged.
        """
        digest = xxhash.xxh3_128_digest(_encode(fit_for_journal(arguments)))
        made = self.log.make(*self._next_number(f"effect {name}"), digest)
        with _UnderWay(made, self.log, self._clock):
            return await self._effect(made, f"{self.log.key}/{name}/{made.number}", make, when_lost)

    async def in_order(self, name: str, make: Callable[[], Awaitable[Result]]) -> Result:
        """Does work on the episode's state that takes time, such as a tool, and returns its result.

        A replay does it again, and keeps the order in which such work and the calls were over the first time. Errors:
        exceptions of `make`; Diverged if a replay does not match the record.
        """
        made = self.log.make(*self._next_number(name), b"")
        with _UnderWay(made, self.log, self._clock):
            return await self._in_order(made, make)

    async def _complete(self, made: MadeCall, thread: Thread, request: CompletionRequest) -> Answered:
        await self.log.hold_if_cut(made)
        if made.recorded is not None:
            await self._recall(made.recorded)
            recorded = made.recorded
            return Answered(answers.restore(recorded.answer), recorded.started_at, recorded.duration_s)
        if not self.live and (queued_s := self.log.take_queued_s()) is not None:
            self._metrics.begun(queued_s)
        started_at, began, told = time.time(), time.monotonic(), self._told.versions
        try:
            completion = await self._call_until_answered(thread, request)
            if len(completion.token_ids) and not completion.versions:
                completion.versions = (VersionSpan(told[thread.participant.model], 0, len(completion.token_ids)),)
            if not self._pace.take_room():
                await self._pace.wait()
            completion, stored = _storable(completion)
        except EpisodeFailure as error:
            await self._record_failure(made, error, started_at, began)
            raise
        timing = self._timing_of(started_at, began)
        await self.log.record(made, stored, timing)
        self.live += 1
        participant = thread.participant
        self._metrics.answered(participant.name, participant.model, completion, timing.duration_s)
        return Answered(completion, timing.started_at, timing.duration_s)

    async def _effect(
        self, made: MadeCall, key: str, make: Callable[[str], Awaitable[Any]], when_lost: WhenLost
    ) -> Any:
        await self.log.hold_if_cut(made)
        if made.recorded is not None:
            await self._recall(made.recorded)
            return answers.restore_result(made.recorded.answer)
        if when_lost == "fail" and self.log.was_intended(made):
            lost = "it was under way when its worker died; nobody knows whether it was made"
            self.broken = EpisodeFailure(FailureKind.INFRA, made.thread, lost)
            raise self.broken.to_keep()
        await self.log.intend(made)
        started_at, began = time.time(), time.monotonic()
        try:
            stored = answers.store_result(fit_for_journal(await make(key)))
        except Exception as error:
            if not isinstance(error, EpisodeFailure):
                error = EpisodeFailure.of(Failure.of(error, made.thread, code=make))
            await self._record_failure(made, error, started_at, began)
            raise error from error.__cause__
        await self.log.record(made, stored, self._timing_of(started_at, began))
        return answers.restore_result(stored)

    async def _in_order(self, made: MadeCall, make: Callable[[], Awaitable[Result]]) -> Result:
        recorded = made.recorded
        started_at, began = time.time(), time.monotonic()
        hold = (lambda: self._recall(recorded)) if recorded is not None else self.log.until_free(made)
        inside = _Inside()
        outside = _INSIDE.set(inside)
        try:
            result, took_time = await run_held(make(), hold, lambda: inside.calls == 0)
        finally:
            _INSIDE.reset(outside)
        await self.log.hold_if_cut(made)
        if took_time and recorded is None:
            await self.log.record_order(made, self._timing_of(started_at, began))
        if recorded is not None and not took_time:
            await self._recall(recorded)
        return result

    async def _record_failure(self, made: MadeCall, error: EpisodeFailure, started_at: float, began: float) -> None:
        """Records a failure, so that a replay fails in the same way. A failure of infrastructure is not recorded, since
        it may not happen again.
        """
        if error.failure.kind != FailureKind.INFRA:
            await self.log.record(made, answers.store_failure(error.failure), self._timing_of(started_at, began))

    async def _recall(self, recorded: Called) -> None:
        await self.log.recall(recorded)
        self._clock.set_age(recorded.active_s)
        if self.log.is_live:
            self._clock.set_replaying(False)

    def _next_number(self, name: str) -> tuple[str, int]:
        self._numbers[name] += 1
        return name, self._numbers[name] - 1

    def _timing_of(self, started_at: float, began: float) -> Timing:
        return Timing(started_at, time.monotonic() - began, self._clock.elapsed_s)

    async def _call_until_answered(self, thread: Thread, request: CompletionRequest) -> Completion:
        """Calls the model until it answers. Errors: EpisodeFailure; one of kind infra is raised only when all retries
        are used up, or when the failure says that a retry can't help.
        """
        for tried in itertools.count():
            began = time.monotonic()
            try:
                return await self._once(thread, request)
            except EpisodeFailure as error:
                if error.failure.kind != FailureKind.INFRA:
                    raise
                if tried >= self._limits.retries.infra or not error.retry:
                    self.broken = error.to_keep()
                    raise
            pause = pause_s(tried)
            self._clock.exclude(began, pause)  # before the pause, which may be longer than what is left of a deadline
            await asyncio.sleep(pause)
        raise AssertionError("unreachable")

    async def _once(self, thread: Thread, request: CompletionRequest) -> Completion:
        """Calls the model once, after waiting for a slot of the participant, and until the meter lets it begin. Errors:
        EpisodeFailure, of kind infra if there is no answer within `call_deadline_s` seconds.
        """
        slots = self._slots.of(thread.participant)
        if slots is not None:
            await self._clock.take(slots)
        deadline = self._timer.deadline()
        try:
            return await self._ask(thread, request, deadline)
        except TimeoutError as error:
            if not deadline.has_passed:
                raise
            late = f"no answer within call_deadline_s ({self._limits.call_deadline_s:g} s)"
            late += f"; last: {deadline.last_loss}" if deadline.last_loss else ""
            raise EpisodeFailure(FailureKind.INFRA, f"model {thread.participant.model}", late) from error
        finally:
            if slots is not None:
                slots.release()

    async def _ask(self, thread: Thread, request: CompletionRequest, deadline: Deadline) -> Completion:
        """Calls the model when the meter lets the call begin. Errors: EpisodeFailure; TimeoutError at the deadline."""

        async def ask() -> Completion:
            with self._clock.count_work(), deadline:
                return await thread.model.complete(request)

        model = thread.participant.model
        if not self._meter.applies_to(model):
            return await ask()
        with self._clock.count_wait():
            length = await thread.model.context_tokens() if isinstance(thread.model, Sized) else None
        return await self._meter.call(model, request, thread.counted, self._clock, ask, length)


def _storable(completion: Completion) -> tuple[Completion, msgspec.Raw]:
    """Returns the completion and its stored form, with the thoughts in its message told apart from the words.

    Lone surrogates, which JSON can spell and UTF-8 can't, are replaced in the completion itself before anybody reads
    the answer: a replay must give the same text as the first time.
    """
    said = last_words(completion.message.content)
    completion.message = with_thoughts_apart(completion.message)
    completion.last_words = max(0, completion.message.content.rfind(said))
    try:
        return completion, answers.store(completion)
    except UnicodeEncodeError:
        completion.message = completion.message.encodable()
        return completion, answers.store(completion)
