"""Logs the calls of one try in one attempt: they are answered from the record as long as it lasts, and recorded from
then on.
"""

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
    """A call that was just made is known by its thread and its number there.

    `issued` is how many answers there were then, `recorded` what the journal has of it.
    """

    thread: str
    number: int
    request: bytes
    issued: int
    recorded: Called | None

    @property
    def name(self) -> tuple[str, int]:
        """Returns the thread and the number."""
        return self.thread, self.number


class Timing(msgspec.Struct, frozen=True, gc=False):
    """A timing says when a call was made (Unix time), how long it took, and how long the episode had been played when
    it was answered, all in seconds.
    """

    started_at: float
    duration_s: float
    active_s: float


class CallLog:
    """A call log is where an episode asks for answers from its journal, and records new ones."""

    def __init__(
        self,
        episode: str = "",
        try_: int = 0,
        attempt: int = 0,
        journal: Journal | None = None,
        history: History | None = None,
        patience_s: float = 60,
    ) -> None:
        """Makes the log. Without a journal nothing is recorded, and nothing is lost but the chance to go on.

        `patience_s`: seconds that a replay waits while nothing moves.
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
        self.diverged: str | None = None
        self.key = f"{episode}/{try_}"
        """Names this try of the episode, the same in every attempt."""

    @property
    def replayed(self) -> int:
        """Returns how many calls were answered from the journal."""
        return self._replay.given

    @property
    def is_live(self) -> bool:
        """Returns True if all recorded answers were given."""
        return self._replay.is_over

    def take_queued_s(self) -> float | None:
        """Returns the seconds that an episode waited until now to be begun.

        It returns None when called again, or for an episode that is resumed.
        """
        queued_at, self._history.queued_at = self._history.queued_at, None
        return None if queued_at is None else time.time() - queued_at

    @property
    def commands(self) -> list[Commanded]:
        """Returns the recorded commands, in their order."""
        return self._history.commands

    def make(self, thread: str, number: int, request: bytes) -> MadeCall:
        """Notes that a call is made; `end_call` follows, however it ends. Errors: Diverged."""
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
        """Notes that a call that was made is over."""
        self._under_way.discard(made.name)
        if not self._replay.is_over:
            self._replay.look_again()
        if isinstance(error, Diverged):
            self._note_divergence(error)

    async def hold_if_cut(self, made: MadeCall) -> None:
        """Waits for ever, in a replay, for a call that a command has cut: that command comes next, and cancels it."""
        if made.name in self._to_cut:
            await asyncio.get_running_loop().create_future()

    async def rest(self) -> None:
        """Waits until the code that got an answer has come as far as it can without another one."""
        self._stillness.stir()
        await self._stillness.wait()

    async def recall(self, recorded: Called) -> None:
        """Waits for a recorded answer's turn. Errors: Diverged."""
        await self._replay.give(recorded)

    async def record(self, made: MadeCall, answer: msgspec.Raw, timing: Timing) -> None:
        """Writes an answer down before anybody acts on it.

        Errors: Diverged; OSError; CancelledError if the call was cut.
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
        """Returns a wait for work that is done again in a replay, and whose order is not recorded; None outside of a
        replay.

        It had not come when the record ended, unless nothing else could have come first. Errors (when awaited):
        Diverged.
        """
        if self._replay.is_over:
            return None
        return lambda: self._replay.wait_until(lambda: self._is_free(made), made.thread, made.number)

    def _is_free(self, made: MadeCall) -> bool:
        """Says whether nothing else can come before this call."""
        return self._replay.is_over or (made.issued == self._replay.given and len(self._under_way) == 1)

    async def record_order(self, made: MadeCall, timing: Timing) -> None:
        """Records when work came that is done again in a replay, and only if something else could have come first."""
        answered_meanwhile = made.issued != (self._answers if self._replay.is_over else self._replay.given)
        if not answered_meanwhile and len(self._under_way) == 1:
            return
        if not self._replay.is_over:
            await self._replay.wait_until_over(made.thread, made.number)
        self._append(made, msgspec.Raw(b"\xc0"), timing)  # at once: what it changed is changed already
        self._stillness.stir()

    def was_intended(self, made: MadeCall) -> bool:
        """Says whether an effect was about to be made, and nobody knows whether it was."""
        return (made.thread, made.number) in self._history.intended

    async def intend(self, made: MadeCall) -> None:
        """Writes down that an effect outside the session comes next; it is on the disk when this returns, if the run
        wants that.

        Errors: EpisodeFailure if the journal was fenced.
        """
        if self._journal is not None:
            self._journal.append(Intended(self._episode, self._try, self._attempt, made.thread, made.number))
            await self._journal.sync()
            if self._journal.is_fenced():
                lost = "this worker counts as lost; another resumes the episode"
                raise EpisodeFailure(FailureKind.INFRA, made.thread, lost, retry=False)

    def begin(self) -> None:
        """Writes down that an episode was begun, unless it was before."""
        if self._journal is not None and self._history.started_at is None:
            self._journal.append(Begun(self._episode, self._try, self._attempt, self.started_at))

    def command(self, index: int, command: msgspec.Raw, key: str, under_way: tuple[int, ...], cuts: bool) -> None:
        """Writes down a command from outside, before it is carried out.

        `cuts`: no call that is under way is answered any more.
        """
        cut = tuple(sorted(self._under_way)) if cuts else ()
        if self._journal is not None:
            issued = self._answers if self._replay.is_over else self._replay.given
            record = Commanded(self._episode, self._try, self._attempt, index, command, key, issued, under_way, cut)
            self._journal.append(record)  # at once, so that it stands among the answers where it came; see `sync`
        self._were_cut.update(cut)

    def record_trying(self, step: int) -> None:
        """Writes down that a step of a session is carried out now, unless a worker has survived it before."""
        self._record_step(step, survived=False)

    def record_survived(self, step: int) -> None:
        """Writes down that a step of a session was carried out."""
        self._record_step(step, survived=True)
        self._history.survived.add(step)

    def _record_step(self, step: int, survived: bool) -> None:
        if self._journal is not None and step not in self._history.survived:
            self._journal.append(Tried(self._episode, self._try, self._attempt, step, survived))

    async def sync(self) -> None:
        """Waits until everything that was written down is on the disk, if the run wants that."""
        if self._journal is not None:
            await self._journal.sync()

    async def reach(self, command: Commanded) -> None:
        """Lets answers through, in a replay, until there are as many as when this command came, and the calls that it
        cut are made again.

        Errors: Diverged.
        """
        try:
            await self._replay.reach(command.issued, lambda: self._under_way.issuperset(command.cut))
        except Diverged as error:
            self._note_divergence(error)
            raise

    async def catch_up(self, is_over: Callable[[], bool]) -> None:
        """Lets all answers through, when all recorded commands were given again, until what they led to has come to
        rest, or the episode is over.

        Errors: Diverged.
        """
        self._replay.release()
        try:
            await self._replay.wait_until(lambda: self._replay.is_over or is_over(), "commands", self._replay.total)
        except Diverged as error:
            self._note_divergence(error)
            raise

    def has_survived(self, step: int) -> bool:
        """Says whether a step of a session is known to have been carried out."""
        return step in self._history.survived

    def end(self) -> None:
        """Notes that the episode is over. If it did not ask for all its recorded answers, it went another way."""
        missing = self._replay.total - self._replay.given
        if missing:
            self.diverged = self.diverged or f"it ended without asking for the last {missing} recorded answers"

    def _note_divergence(self, error: Diverged) -> None:
        """Remembers the divergence, even if the environment swallows the exception."""
        self.diverged = self.diverged or str(error)

    def _append(self, made: MadeCall, answer: msgspec.Raw, timing: Timing) -> None:
        if made.name in self._were_cut:
            raise asyncio.CancelledError  # it was, and took no notice
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
