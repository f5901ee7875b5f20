"""An episode that is driven from outside, command by command, instead of by its environment's `run`.

The commands are those that `run` gives. Each is written to the journal before it is carried out, so that a session whose worker died
is made again by folding its commands over `setup`; the calls in them are answered as they were. Commands are numbered by whoever gives
them: one that is given again, because its answer was lost, is not carried out again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any

import msgspec

from ray_gym.episode import Episode
from ray_gym.errors import EpisodeFailure, Failure, FailureKind
from ray_gym.events import Event
from ray_gym.journal.call_log import CallLog
from ray_gym.messages import ToolCall
from ray_gym.play import Played, Stage, as_it_was, blaming, failed, new_episode, score, set_up
from ray_gym.spec import EpisodeSpec
from ray_gym.stop import EpisodeOver, Stop, StopReason


class Turn(msgspec.Struct, array_like=True, tag="turn", frozen=True):
    """Let a participant speak until it yields the floor."""

    participant: str


class Tell(msgspec.Struct, array_like=True, tag="tell", frozen=True):
    """Put a message into a participant's view, or a thread's."""

    thread: str
    text: str


class CallTool(msgspec.Struct, array_like=True, tag="call", frozen=True):
    """Call a tool in a participant's name. `arguments` is JSON text."""

    participant: str
    id: str
    name: str
    arguments: str


class OpenThread(msgspec.Struct, array_like=True, tag="open_thread", frozen=True):
    participant: str


class Reply(msgspec.Struct, array_like=True, tag="reply", frozen=True):
    """One model call on a thread."""

    thread: str


class End(msgspec.Struct, array_like=True, tag="end", frozen=True):
    """End the episode and score it."""


Command = Turn | Tell | CallTool | OpenThread | Reply | End

_decoder: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(Command)
_encode = msgspec.msgpack.Encoder().encode


@dataclass(frozen=True, slots=True)
class Done:
    """What a command led to: the events that it added, and whether the episode is over."""

    events: tuple[Event, ...]
    stop: Stop | None


class Session:
    """A command at a time. `played` is set once the episode is over and scored, or has failed."""

    def __init__(self, spec: EpisodeSpec, stage: Stage, log: CallLog) -> None:
        """Errors: EpisodeFailure (data) if the task is not one of the environment's."""
        self._log = log
        self._done: list[Done] = []
        self._under_way: asyncio.Task[Done] | None = None
        self._policys_fault: Failure | None = None
        self.episode: Episode = new_episode(spec, stage, log)
        self.played: Played | None = None

    async def open(self) -> None:
        """Set the session up, and carry out again what was recorded of it. Never raises, cancellation apart."""
        self._log.begin()
        await self._guarded(set_up(self.episode))
        for recorded in self._log.commands:
            if self.played is not None:
                break
            await self._carry_out(_decoder.decode(recorded.command))

    async def close(self) -> None:
        """Give up what is being carried out."""
        if self._under_way is not None:
            self._under_way.cancel()
            await asyncio.wait([self._under_way])

    @property
    def next_index(self) -> int:
        return len(self._done)

    async def perform(self, index: int, command: Command) -> Done:
        """Carry out command number `index`, or give again what it led to. It is carried out also if who gave it doesn't wait for it.

        Errors: EpisodeOver if the episode has ended before; IndexError for a number that is not next; ValueError for a participant or
        thread that isn't there; OSError if it can't be recorded.
        """
        if index < len(self._done):
            return self._done[index]
        if index > len(self._done):
            raise IndexError(f"command {index}: the next one is {len(self._done)}")
        if self._under_way is None:
            if self.played is not None or (self.episode.stop is not None and not isinstance(command, End)):
                raise EpisodeOver(self.episode.stop)
            self._check(command)
            await self._log.command(index, msgspec.Raw(_encode(command)))
            self._under_way = asyncio.create_task(self._carry_out(command))
        return await asyncio.shield(self._under_way)

    def _check(self, command: Command) -> None:
        """What names nobody is the mistake of who gave it, and does the session no harm."""
        match command:
            case Turn(name) | CallTool(name):
                known, what = list(self.episode.environment.participants), "participant"
            case OpenThread(name):
                known, what = list(self.episode.participants), "participant"
            case Tell(name) | Reply(name):
                known, what = list(self.episode.threads), "thread"
            case End():
                return
        if name not in known:
            raise ValueError(f"there is no {what} {name!r}; there are: {', '.join(known)}")

    async def _carry_out(self, command: Command) -> Done:
        before = len(self.episode.events)
        try:
            await self._guarded(self._score() if isinstance(command, End) else self._in_time(command))
            done = Done(tuple(self.episode.events[before:]), self.episode.stop)
            self._done.append(done)
            return done
        finally:
            self._under_way = None

    async def _guarded(self, step: Awaitable[None]) -> None:
        """Whatever is raised ends the session with the failure that it is."""
        episode = self.episode
        try:
            await step
        except EpisodeFailure as error:
            self.played = failed(episode, error.failure)
        if episode.calls.broken or episode.calls.log.diverged:
            self.played = as_it_was(self.played or failed(episode, Failure(FailureKind.INFRA, "session", "")))

    async def _in_time(self, command: Command) -> None:
        """Within the episode's deadline. The policy's own fault ends an episode that is scored all the same."""
        episode = self.episode
        try:
            async with episode.clock.limit(episode.limits.episode_deadline_s) as deadline:
                with blaming(episode.environment, "command"):
                    await self._apply(command)
        except EpisodeOver:
            pass
        except TimeoutError:
            if not deadline.expired():
                raise
            episode.end(StopReason.DEADLINE, f"{episode.limits.episode_deadline_s:g} s")
        except EpisodeFailure as error:
            if error.failure.kind != FailureKind.POLICY:
                raise
            self._policys_fault = error.failure
            episode.end(StopReason.POLICY_FAILED, error.failure.message)

    async def _apply(self, command: Command) -> None:
        episode = self.episode
        match command:
            case Turn(participant):
                await episode.turn(participant)
            case Tell(thread, text):
                episode.tell(thread, text)
            case CallTool(participant, call_id, name, arguments):
                await episode.call(participant, ToolCall(call_id, name, arguments))
            case OpenThread(participant):
                episode.open_thread(participant)
            case Reply(thread):
                await episode.reply(thread)

    async def _score(self) -> None:
        episode = self.episode
        episode.end(StopReason.COMPLETED)
        deserved = await score(episode)
        self._log.end()
        self.played = Played(episode, "completed", deserved, self._policys_fault, active_s=episode.elapsed_s())
