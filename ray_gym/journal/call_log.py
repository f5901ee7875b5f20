"""One try's calls in one attempt: answered from what was recorded as long as there is something, recorded from then on."""

from __future__ import annotations

import time
from dataclasses import dataclass

import msgspec

from ray_gym.journal.history import History
from ray_gym.journal.journal import Journal
from ray_gym.journal.records import Called, Commanded, Intended
from ray_gym.journal.replay import Diverged, Replay


@dataclass(frozen=True, slots=True)
class Timing:
    """When a call was made, how long it took (seconds), and how long the episode had been played when it was answered."""

    started_at: float
    duration_s: float
    active_s: float


class CallLog:
    def __init__(
        self,
        episode: str = "",
        try_: int = 0,
        attempt: int = 0,
        journal: Journal | None = None,
        history: History | None = None,
        patience_s: float = 60,
    ) -> None:
        """Without a journal nothing is recorded, and nothing is lost but the chance to go on."""
        self._episode, self._try, self._attempt = episode, try_, attempt
        self._journal = journal
        self._history = history or History(try_)
        self.started_at = self._history.started_at or time.time()
        self._replay = Replay(self._history.calls, patience_s)
        self._answers = self._replay.total
        self.diverged: str | None = None
        self.key = f"{episode}/{try_}"
        """Names this try of the episode, the same in every attempt."""

    @property
    def replayed(self) -> int:
        """How many calls were answered from the journal."""
        return self._replay.given

    @property
    def given(self) -> int:
        """How many answers the episode has had: what the next call is made after."""
        replay = self._replay
        return replay.given if replay.given < replay.total else self._answers

    @property
    def commands(self) -> list[Commanded]:
        return self._history.commands

    async def recall(self, thread: str, number: int, request: bytes) -> Called | None:
        """The recorded answer; None if the call is to be made. Errors: Diverged."""
        try:
            return await self._replay.answer(thread, number, request)
        except Diverged as error:
            self.diverged = self.diverged or str(error)
            raise

    async def record(
        self, thread: str, number: int, request: bytes, issued: int, answer: msgspec.Raw, timing: Timing
    ) -> None:
        """Write an answer down before anybody acts on it. Errors: Diverged; OSError."""
        try:
            await self._replay.caught_up(f"call {number} of thread {thread}")
        except Diverged as error:
            self.diverged = self.diverged or str(error)
            raise
        seq = self._answers
        self._answers += 1
        if self._journal is not None:
            self._journal.append(
                Called(
                    self._episode,
                    self._try,
                    self._attempt,
                    seq,
                    issued,
                    thread,
                    number,
                    request,
                    timing.active_s,
                    timing.started_at,
                    timing.duration_s,
                    answer,
                )
            )

    def was_intended(self, thread: str, number: int) -> bool:
        """Whether an effect was about to be made, and nobody knows whether it was."""
        return (thread, number) in self._history.intended

    async def intend(self, thread: str, number: int) -> None:
        """Write down that an effect outside the session comes next; it is on the disk when this returns, if the run wants that."""
        if self._journal is not None:
            self._journal.append(Intended(self._episode, self._try, self._attempt, thread, number))
            await self._journal.sync()

    def command(self, index: int, command: msgspec.Raw) -> None:
        """Write down a command from outside, before it is carried out."""
        if self._journal is not None:
            self._journal.append(Commanded(self._episode, self._try, self._attempt, index, command))
