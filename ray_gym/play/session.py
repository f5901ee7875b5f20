"""Drives an episode from outside by commands, instead of by its environment's `run`.

Each command is written to the journal before it is carried out. After a worker's death, the session is made again by
carrying out its commands after `setup`: each begins when as many answers have come as the first time, and its model
calls are answered from the journal. A caller names each command by a key, so a command that is given again, because its
answer was lost, is not carried out again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from ray_gym.config.sections import MOST_WAITING
from ray_gym.episode.awaiting import require_awaited
from ray_gym.episode.episode import Episode
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.episode.stage import Stage
from ray_gym.errors import EpisodeFailure, Failure, FailureKind
from ray_gym.events import Event
from ray_gym.journal.call_log import CallLog
from ray_gym.journal.records import SETUP
from ray_gym.journal.replay import Diverged
from ray_gym.logs import speak_of
from ray_gym.models.base import Completion
from ray_gym.play.capture import Capture
from ray_gym.play.commands import AgentAnswer, Ask, Close, Command, End, apply, check, decoder, encode, must_not_meet
from ray_gym.play.deliveries import Deliveries
from ray_gym.play.entrance import Entrance, TooManyWaiting
from ray_gym.play.play import Played, blame_environment, fail_episode, fail_if_broken, new_episode, score, set_up
from ray_gym.play.ties import Ties
from ray_gym.stop import Closed, EpisodeOver, Stop, StopReason

MOST_UNDER_WAY = 256
"""Most commands of a session that may be under way at once, with those whose callers have left."""
CUT_S = 5.0
"""Seconds that a cancelled command may take to stop. After that, nobody waits for code that can't be cancelled."""

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Done:
    """Holds the result of a command."""

    events: tuple[Event, ...]
    """Events that were recorded while the command was carried out."""
    stop: Stop | None
    """End of the episode; None if it goes on."""
    told: AgentAnswer | None = None
    """Answer to an `Ask`; None for other commands."""
    refused: Failure | None = None
    """Failure for which the model could not be asked; then the conversation is unchanged."""

    @property
    def completion(self) -> Completion | None:
        """Returns the completion of an `Ask`; None if there is none."""
        return self.told.completion if self.told is not None else None


class LetGo(Exception):
    """Says that this worker has closed the session, which another one resumes."""


class KeyReused(Exception):
    """Says that a command came with a key that belongs to another command."""


class CommandSession:
    """Carries out the commands of one episode, and keeps their results."""

    def __init__(
        self,
        spec: EpisodeSpec,
        stage: Stage,
        log: CallLog,
        most_waiting: int = MOST_WAITING,
        played: Played | None = None,
    ) -> None:
        """Makes the session of a specification. `played` is given for an episode that has failed before it could be
        opened.

        Errors: EpisodeFailure (data) if the task is not one of the environment's.
        """
        self._log = log
        self._tasks: dict[str, asyncio.Task[Done]] = {}
        """Tasks of all commands that were begun, by their keys, in their order."""
        self._given: dict[str, Command] = {}
        self._under_way: dict[int, tuple[Command, asyncio.Task[Done]]] = {}
        self._entrance = Entrance(most_waiting)
        self._closing: asyncio.Task[Done] | None = None
        self._closed: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        """Done as soon as `_closing` has been begun."""
        self._policys_fault: Failure | None = None
        self.captures: dict[str, Capture] = {}
        """Threads that calls of agents have used, by participant."""
        self.deliveries = Deliveries()
        self.ties = Ties()
        """Ties of the calls that agents make by MCP."""
        self.size = 0
        """Size of the commands that were given to this worker, and of the events that they led to: bytes and
        characters."""
        self.episode: Episode = played.episode if played is not None else new_episode(spec, stage, log)
        self.ended = asyncio.Event()
        """Set once there is a result."""
        self._is_let_go = False
        self._touched = time.monotonic()
        self.played = played
        """Result of the episode; None until it was scored, closed, or has failed."""

    @property
    def idle_s(self) -> float:
        """Returns the seconds since the last command ended or `touch` was called; 0 while a command is under way."""
        return 0.0 if self._under_way else time.monotonic() - self._touched

    def touch(self) -> None:
        """Begins `idle_s` anew, since the session's caller has given a sign of life."""
        self._touched = time.monotonic()

    def digest_of(self, key: str) -> bytes | None:
        """Returns the digest of the agent's call with this key; None if there is none."""
        known = self._given.get(key)
        return known.digest if isinstance(known, Ask) else None

    def given_by(self, key: str) -> Command | None:
        """Returns the command with this key; None if there is none."""
        return self._given.get(key)

    @property
    def given(self) -> int:
        """Returns how many commands the session was given."""
        return len(self._tasks)

    async def open(self) -> None:
        """Sets the session up, and carries out its recorded commands again. Raises nothing but CancelledError."""
        self._log.begin()
        self._log.record_trying(SETUP)
        await self._guard(set_up(self.episode))
        self._log.record_survived(SETUP)
        if self._log.commands:
            await self._guard(self._fold())
            if self.played is not None:
                await self._give_up(self._under_way)
        self.episode.clock.set_resting(not self._under_way)

    async def close(self) -> None:
        """Cancels the commands that are under way. They are in the journal, and are carried out again when the session
        is resumed.
        """
        self._is_let_go = True
        await self._give_up(self._under_way)

    async def perform(self, key: str, given: Command | Callable[[], Ask]) -> Done:
        """Carries out a command, or returns the earlier result for its key. It is carried out even if the caller
        doesn't wait for it.

        An `Ask` may be made by a function, which is called when its turn has come. Exclusive commands wait until
        nothing else is under way, and others wait for them (`must_not_meet`). `Close` waits for nothing: it cuts
        commands that wait and that are under way.

        Errors: TooManyWaiting; LetGo; KeyReused; Closed; EpisodeOver if the episode has ended before; ValueError for a
        participant or thread that isn't there; OSError if it can't be recorded; exceptions of `given`.
        """
        if isinstance(given, Close):
            return await self._result(await self._close(key, given))
        with self._entrance.take_place():
            async with self._entrance.take_turn():
                task, is_new = await self._enter(key, given)
            if not is_new:
                return await self._result(task)
        return await self._result(task)

    async def _enter(self, key: str, given: Command | Callable[[], Ask]) -> tuple[asyncio.Task[Done], bool]:
        """Returns the task that carries out the command, and True if it was begun now, False if its key was known.

        Errors: TooManyWaiting; KeyReused; LetGo or Closed if it was waiting when the session was given up or closed;
        EpisodeOver if the episode has ended before; ValueError for a participant or thread that isn't there; exceptions
        of `given`.
        """
        if (task := self._tasks.get(key)) is not None:
            self._require_same(key, given)
            return task, False
        await self._wait_until_free(None if callable(given) else given)
        command = given() if callable(given) else given
        if self.played is not None or (self.episode.stopped and not isinstance(command, End)):
            raise EpisodeOver(self.episode.stop)
        check(command, self.episode)
        if len(self._under_way) >= MOST_UNDER_WAY and not isinstance(command, End):
            raise TooManyWaiting(f"{MOST_UNDER_WAY} commands are under way in this session, as many as may be")
        return self._accept(key, command), True

    async def _close(self, key: str, command: Close) -> asyncio.Task[Done]:
        """Returns the task that closes the session. The first `Close` begins it. Errors: EpisodeOver if the session has
        ended otherwise.
        """
        await self._rest()
        if self._closing is None and self.played is not None:
            raise EpisodeOver(self.episode.stop)
        return self._closing or self._accept(key, command)

    def _accept(self, key: str, command: Command) -> asyncio.Task[Done]:
        """Records a command, begins it, and returns its task."""
        cuts, encoded = isinstance(command, End | Close), encode(command)
        self.size += len(encoded)
        self._log.command(self.given, msgspec.Raw(encoded), key, tuple(self._under_way), cuts)
        return self._begin(key, command)

    async def _result(self, task: asyncio.Task[Done]) -> Done:
        """Returns the result of a command. If the command is cut, its caller waits only until the cut is recorded.

        Errors: Closed or EpisodeOver if it was cut; LetGo if this worker gave the session up; OSError if it can't be
        recorded; exceptions of the command.
        """
        others = [self._closed] if task is not self._closing else []
        await asyncio.wait([task, *others], return_when=asyncio.FIRST_COMPLETED)
        await self._log.sync()  # before anybody is told of it
        if task.done() and not task.cancelled():
            return task.result()
        if self._is_let_go:
            raise LetGo
        raise Closed if self._closed.done() else EpisodeOver(self.episode.stop)

    @property
    def asked_threads(self) -> set[str]:
        """Returns the names of the threads with an agent's call that was begun and not answered."""
        asks = (command for command, _ in self._under_way.values() if isinstance(command, Ask))
        return {ask.thread for ask in asks if ask.thread is not None}

    def _require_same(self, key: str, given: Command | Callable[[], Ask]) -> None:
        """Checks that a key does not belong to another command. Errors: KeyReused.

        The key of an `Ask` was made of its words by the caller, so that an `Ask` is not compared again.
        """
        known = self._given[key]
        if isinstance(known, Ask) if not callable(given) else not isinstance(known, Ask):
            raise KeyReused(key)
        if not callable(given) and given != known:
            raise KeyReused(key)

    async def settle(self) -> None:
        """Waits until no command is under way."""
        while self._under_way:
            await asyncio.wait([task for _, task in self._under_way.values()])

    async def _wait_until_free(self, command: Command | None) -> None:
        """Waits until no command is under way that this command (None: an `Ask`) has to wait for. Errors: Closed if the
        session is closed; LetGo if this worker has given it up.
        """
        while not self._closed.done():
            tasks = [task for other, task in self._under_way.values() if must_not_meet(command, other)]
            if not tasks:
                break
            await asyncio.wait([*tasks, self._closed], return_when=asyncio.FIRST_COMPLETED)
        if isinstance(command, End):
            await self._rest()
        if self._is_let_go:
            raise LetGo
        if self._closed.done():
            raise Closed

    async def _rest(self) -> None:
        """Waits until the commands under way have come as far as they can without another answer. A replay cuts them at
        the same place.
        """
        given = -1
        while self._under_way and given != self.given:
            given = self.given
            await self._log.rest()

    def _begin(self, key: str, command: Command) -> asyncio.Task[Done]:
        number = len(self._tasks)
        cut = [task for _, task in self._under_way.values()] if isinstance(command, End | Close) else []
        for task in cut:
            task.cancel()  # at once, so that no event of it follows the record
        if isinstance(command, Ask):
            self.deliveries.note_begun(command.digest, key)
        if _runs_code(command):
            self._log.record_trying(number)
        task = asyncio.create_task(self._carry_out(number, command, cut))
        self._tasks[key], self._under_way[number] = task, (command, task)
        self._given[key] = command
        if isinstance(command, Close):
            self._closing = task
            self._closed.set_result(None)
        return task

    async def _fold(self) -> None:
        """Carries out the recorded commands again.

        Each begins when as many answers have come, and the same commands are done, as the first time. It returns once
        the session is as far as its callers know: all recorded answers were given, and all commands that were carried
        out are so again.
        """
        for recorded in self._log.commands:
            await self._log.reach(recorded)
            while tasks := [task for i, (_, task) in self._under_way.items() if i not in recorded.under_way]:
                await asyncio.wait(tasks)
            if self.played is not None:
                break
            self._begin(recorded.key, decoder.decode(recorded.command))
        await self._log.catch_up(lambda: self.played is not None)
        while tasks := [task for i, (_, task) in self._under_way.items() if self._log.has_survived(i)]:
            await asyncio.wait(tasks)

    async def _give_up(self, commands: Mapping[int, tuple[Command, asyncio.Task[Done]]]) -> None:
        tasks = [task for _, task in commands.values()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _carry_out(self, number: int, command: Command, cut: Sequence[asyncio.Task[Done]]) -> Done:
        episode, before = self.episode, len(self.episode.events)
        speak_of(episode=episode.spec.episode_id, attempt=episode.spec.attempt)
        episode.clock.set_resting(False)
        try:
            if cut:
                await asyncio.wait(cut, timeout=CUT_S)
            answer = await self._guard(self._score() if isinstance(command, End) else self._in_time(command))
            if _runs_code(command):
                self._log.record_survived(number)
            self.size += sum(len(event.content) for event in episode.events[before:])
            told = answer if isinstance(answer, AgentAnswer) else None
            refused = answer if isinstance(answer, Failure) else None
            return Done(tuple(episode.events[before:]), episode.stop, told, refused)
        finally:
            del self._under_way[number]
            self.touch()
            episode.clock.set_resting(not self._under_way)

    async def _guard(self, step: Awaitable[Result]) -> Result | None:
        """Awaits a step of the session, and returns its result.

        If the step fails by an EpisodeFailure, or the replay has diverged, the session ends with that failure, and the
        result is None.
        """
        episode, result = self.episode, None
        try:
            result = await step
        except EpisodeFailure as error:
            self._end(fail_episode(episode, error.failure))
        except Diverged:
            pass  # the log remembers it
        if episode.calls.broken or episode.calls.log.diverged:
            self._end(fail_if_broken(self.played or fail_episode(episode, Failure(FailureKind.INFRA, "session", ""))))
        return result

    async def _in_time(self, command: Command) -> AgentAnswer | Failure | None:
        """Carries out a command, and returns the same as `apply`; None if the episode was over or ended meanwhile.

        The episode ends at its deadline, and by the policy's own fault; it can still be scored. A `Close` ends the
        session as cancelled. Errors: EpisodeFailure for any other fault.
        """
        episode = self.episode
        try:
            async with episode.clock.limit(episode.limits.episode_deadline_s) as deadline:
                with blame_environment(episode.environment, "command"):
                    answer = await apply(command, episode, self.captures)
                    require_awaited(episode)
            if isinstance(command, Close):
                self._end(Played(episode, "cancelled", None, None, active_s=episode.elapsed_s()))
            return answer
        except EpisodeOver:
            require_awaited(episode)
        except TimeoutError:
            if not deadline.expired():
                raise
            episode.end(StopReason.DEADLINE, f"{episode.limits.episode_deadline_s:g} s")
        except EpisodeFailure as error:
            if error.failure.kind != FailureKind.POLICY:
                raise
            self._policys_fault = error.failure
            episode.end(StopReason.POLICY_FAILED, error.failure.message)
        return None

    async def _score(self) -> None:
        episode = self.episode
        ended_before = episode.stop
        episode.end(StopReason.COMPLETED)
        try:
            deserved = await score(episode)
        except asyncio.CancelledError:
            episode.stop = ended_before  # it was closed instead
            raise
        self._log.end()
        self._end(Played(episode, "completed", deserved, self._policys_fault, active_s=episode.elapsed_s()))

    def _end(self, played: Played) -> None:
        if (
            self._closing is None or asyncio.current_task() is self._closing
        ):  # a cut command that still runs must not end it
            self.played = played
            self.ended.set()


def _runs_code(command: Command) -> bool:
    """Says whether a command runs the environment's code, which may kill a worker. An `Ask` only waits for a model."""
    return not isinstance(command, Ask)
