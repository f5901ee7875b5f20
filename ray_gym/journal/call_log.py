"""Answers the calls of one try from its records as long as there are some, and records the calls after that."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

import msgspec

from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.journal.history import History
from ray_gym.journal.journal import Journal
from ray_gym.journal.records import Begun, Called, Commanded, Intended, Tried
from ray_gym.journal.replay import Diverged, Replay
from ray_gym.journal.stillness import Stillness


class MadeCall(msgspec.Struct, frozen=True, gc=False):
    """Identifies a call of an episode (to a model, a tool or an effect) that was just made, by its thread and its
    number in the thread.
    """

    thread: str
    """Thread of a model call; kind and name of another call (`effect NAME`, `tool NAME`)."""
    number: int
    request: bytes
    """Digest of the request: of everything asked on the thread so far for a model call, of the arguments for an effect;
    empty for other work."""
    issued: int
    """Number of answers that the episode had when the call was made."""
    recorded: Called | None
    """Record of the call's answer; None if it has to be made."""

    @property
    def name(self) -> tuple[str, int]:
        """Returns the call's thread and its number in the thread."""
        return self.thread, self.number


class Timing(msgspec.Struct, frozen=True, gc=False):
    """Says when a call was made, and how long it took."""

    started_at: float
    """Unix time in seconds at which the call was made."""
    duration_s: float
    """Seconds from the call to its answer."""
    active_s: float
    """Seconds that the episode had been played when the call was answered, without pauses."""


class CallLog:
    """Gives an episode the recorded answers of its calls in a replay, and records new answers after it."""

    def __init__(
        self,
        episode: str = "",
        try_: int = 0,
        attempt: int = 0,
        journal: Journal | None = None,
        history: History | None = None,
        patience_s: float = 60,
    ) -> None:
        """Makes the log of one try and attempt at an episode.

        journal: gets new records; None records nothing, so the episode can't be resumed. history: records of earlier
        attempts, which are replayed; None stands for none. patience_s: seconds that a replay waits while nothing
        happens, before it counts as diverged.
        """
        self._episode, self._try, self._attempt = episode, try_, attempt
        self._journal = journal
        self._history = history or History(try_)
        self._stillness = Stillness()
        self._replay = Replay(self._history.calls, self._stillness, patience_s)
        self._answers = self._replay.total
        self._under_way: set[tuple[str, int]] = set()
        self._to_cut = {call for command in self._history.commands for call in command.cut}
        self._were_cut: set[tuple[str, int]] = set()
        self._giving = asyncio.Lock()
        self.started_at = self._history.started_at or time.time()
        """Unix time in seconds at which this try began."""
        self.diverged: str | None = None
        """First difference between the replay and the record; None if there is none."""
        self.key = f"{episode}/{try_}"
        """Name of this try of the episode, the same in every attempt."""

    @property
    def replayed(self) -> int:
        """Returns the number of recorded answers that were given so far."""
        return self._replay.given

    @property
    def is_live(self) -> bool:
        """Says whether all recorded answers were given, so that new calls are really made. True from the start if there
        are none.
        """
        return self._replay.is_over

    def take_queued_s(self) -> float | None:
        """Returns the seconds that the episode has waited to begin. Returns None on any later call, and for an episode
        that is resumed.
        """
        queued_at, self._history.queued_at = self._history.queued_at, None
        return None if queued_at is None else time.time() - queued_at

    @property
    def commands(self) -> list[Commanded]:
        """Returns the recorded commands of the session, in their order: the log's own list, not a copy."""
        return self._history.commands

    def make(self, thread: str, number: int, request: bytes) -> MadeCall:
        """Registers that a call is made, and returns it, with the record of its answer if there is one. The caller must
        call `end_call` when the call is over.

        thread: thread of a model call; kind and name of another call. number: number of the call in its thread.
        request: digest of the request. Errors: Diverged if the call differs from the recorded one in its request or its
        place in the order.
        """
        if self._replay.is_over:
            made = MadeCall(thread, number, request, self._answers, None)
        else:
            try:
                recorded = self._replay.make(thread, number, request)
            except Diverged as error:
                self._note_divergence(error)
                raise
            made = MadeCall(thread, number, request, self._replay.given, recorded)
        self._under_way.add(made.name)
        if made.name in self._to_cut:
            self._replay.look_again()
        return made

    def end_call(self, made: MadeCall, error: BaseException | None = None) -> None:
        """Unregisters a call that has ended. `error`: the exception with which it ended, or None; a Diverged is kept in
        `diverged`.
        """
        self._under_way.discard(made.name)
        if not self._replay.is_over:
            self._replay.look_again()
        if isinstance(error, Diverged):
            self._note_divergence(error)

    async def hold_if_cut(self, made: MadeCall) -> None:
        """Waits for ever if a recorded command has cut the call (ended it before it was answered): that command comes
        next in the replay, and cancels the wait. Returns at once for other calls.
        """
        if made.name in self._to_cut:
            await asyncio.get_running_loop().create_future()

    async def rest(self) -> None:
        """Waits until nothing of the episode moves any more, since its code can't continue without another answer."""
        self._stillness.stir()
        await self._stillness.wait()

    async def recall(self, recorded: Called) -> None:
        """Waits until a recorded answer is the next to be given, and counts it as given. Errors: Diverged if nothing
        happens meanwhile for `patience_s` seconds.
        """
        await self._replay.give(recorded)

    async def record(self, made: MadeCall, answer: msgspec.Raw, timing: Timing) -> None:
        """Writes an answer into the journal, when its turn has come: after a replay, and when the episode rests if
        other calls are under way. The caller must not use the answer before this returns.

        Errors: Diverged if the replay does not end; OSError; CancelledError if a command has cut the call.
        """
        if not self._replay.is_over:
            await self._replay.wait_until_over(made.thread, made.number)
        if len(self._under_way) > 1 or not self._stillness.is_still:
            async with self._giving:
                await self._stillness.wait()
                self._append(made, answer, timing)
                self._stillness.stir()
        else:
            self._append(made, answer, timing)

    def until_free(self, made: MadeCall) -> Callable[[], Awaitable[None]] | None:
        """Returns an async function that waits until the work of a call without a recorded answer may continue; None
        outside of a replay.

        The function returns when all recorded answers were given, or when nothing else of the episode could come before
        this work. Its errors: Diverged if neither happens.
        """
        if self._replay.is_over:
            return None
        return lambda: self._replay.wait_until(lambda: self._is_free(made), made.thread, made.number)

    def _is_free(self, made: MadeCall) -> bool:
        """Says whether nothing else of the episode can come before this call."""
        return self._replay.is_over or (made.issued == self._replay.given and len(self._under_way) == 1)

    async def record_order(self, made: MadeCall, timing: Timing) -> None:
        """Records when a piece of work was done, without its result, since a replay does such work again. Records
        nothing if no answer was given meanwhile, and no other call is under way.

        Errors: Diverged if the replay does not end; OSError; CancelledError if a command has cut the call.
        """
        answered_meanwhile = made.issued != (self._answers if self._replay.is_over else self._replay.given)
        if not answered_meanwhile and len(self._under_way) == 1:
            return
        if not self._replay.is_over:
            await self._replay.wait_until_over(made.thread, made.number)
        self._append(made, msgspec.Raw(b"\xc0"), timing)  # at once, since the work has changed the state already
        self._stillness.stir()

    def was_intended(self, made: MadeCall) -> bool:
        """Says whether an earlier attempt at this try recorded that this effect comes next. The effect may have been
        made or not.
        """
        return (made.thread, made.number) in self._history.intended

    async def intend(self, made: MadeCall) -> None:
        """Records that an effect on something outside of the episode comes next, which a replay must not make again.
        With `durability: disk` the record is on the disk when this returns. Does nothing without a journal.

        Errors: EpisodeFailure (infra, without a retry) if the journal was fenced; OSError.
        """
        if self._journal is not None:
            self._journal.append(Intended(self._episode, self._try, self._attempt, made.thread, made.number))
            await self._journal.sync()
            if self._journal.is_fenced():
                lost = "this worker counts as lost; another resumes the episode"
                raise EpisodeFailure(FailureKind.INFRA, made.thread, lost, retry=False)

    def begin(self) -> None:
        """Records that the try was begun, unless the history has the time of that. Errors: OSError."""
        if self._journal is not None and self._history.started_at is None:
            self._journal.append(Begun(self._episode, self._try, self._attempt, self.started_at))

    def command(self, index: int, command: msgspec.Raw, key: str, under_way: tuple[int, ...], cuts: bool) -> None:
        """Records a command from outside before it is carried out. The record may not be on the disk yet (see `sync`).

        index: number of the command in its session. command: the command as msgpack. key: its caller's name for it.
        under_way: numbers of the earlier commands that are not done. cuts: True if it cuts all calls that are under
        way, which then get no answer. Errors: OSError.
        """
        cut = tuple(sorted(self._under_way)) if cuts else ()
        if self._journal is not None:
            issued = self._answers if self._replay.is_over else self._replay.given
            record = Commanded(self._episode, self._try, self._attempt, index, command, key, issued, under_way, cut)
            self._journal.append(record)  # at once, so that it stands among the answers where it came; see `sync`
        self._were_cut.update(cut)

    def record_trying(self, step: int) -> None:
        """Records that a step of a session (its setup, or a command) begins, unless a worker is known to have survived
        it. Errors: OSError.
        """
        self._record_step(step, survived=False)

    def record_survived(self, step: int) -> None:
        """Records that a step of a session (its setup, or a command) was carried out, so that it kills no worker.
        Errors: OSError.
        """
        self._record_step(step, survived=True)
        self._history.survived.add(step)

    def _record_step(self, step: int, survived: bool) -> None:
        if self._journal is not None and step not in self._history.survived:
            self._journal.append(Tried(self._episode, self._try, self._attempt, step, survived))

    async def sync(self) -> None:
        """Waits until all records of the journal are on the disk, if the run's `durability` is `disk`. Errors:
        OSError.
        """
        if self._journal is not None:
            await self._journal.sync()

    async def reach(self, command: Commanded) -> None:
        """Waits, in a replay, until as many answers were given as when a command came, and the calls that it cut are
        made again. Later answers are held back.

        Errors: Diverged if that does not happen.
        """
        try:
            await self._replay.reach(command.issued, lambda: self._under_way.issuperset(command.cut))
        except Diverged as error:
            self._note_divergence(error)
            raise

    async def catch_up(self, is_over: Callable[[], bool]) -> None:
        """Lets the replay give all remaining recorded answers, after the last recorded command. Waits until they are
        given, or `is_over` returns True, and the episode rests.

        Errors: Diverged if neither happens.
        """
        self._replay.release()
        try:
            await self._replay.wait_until(lambda: self._replay.is_over or is_over(), "commands", self._replay.total)
        except Diverged as error:
            self._note_divergence(error)
            raise

    def has_survived(self, step: int) -> bool:
        """Says whether a step of a session (its setup, or a command) is recorded as carried out."""
        return step in self._history.survived

    def end(self) -> None:
        """Checks, when the episode is over, that it asked for all recorded answers; if not, `diverged` says so."""
        missing = self._replay.total - self._replay.given
        if missing:
            self.diverged = self.diverged or f"it ended without asking for the last {missing} recorded answers"

    def _note_divergence(self, error: Diverged) -> None:
        """Keeps the first divergence, since the environment may handle the exception."""
        self.diverged = self.diverged or str(error)

    def _append(self, made: MadeCall, answer: msgspec.Raw, timing: Timing) -> None:
        if made.name in self._were_cut:
            raise asyncio.CancelledError  # its task was cancelled, and ignored that
        seq = self._answers
        self._answers += 1
        if self._journal is None:
            return
        self._journal.append(
            Called(
                self._episode,
                self._try,
                self._attempt,
                seq,
                made.issued,
                made.thread,
                made.number,
                made.request,
                timing.active_s,
                timing.started_at,
                timing.duration_s,
                answer,
            )
        )
