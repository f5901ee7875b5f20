"""A session drives an episode from outside, command by command, instead of by its environment's `run`.

Each command is written to the journal before it is carried out, so that a session whose worker died is made again by
folding its commands over `setup`: each is given again when as many answers had come as then, and the calls in it are
answered as they were. A caller names each command by a key: a command that is given again, because its answer was lost,
is not carried out again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from ray_gym.config.sections import MOST_WAITING
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
from ray_gym.play.play import Played, blaming, fail_episode, fail_if_broken, new_episode, score, set_up
from ray_gym.stop import Closed, EpisodeOver, Stop, StopReason

MOST_UNDER_WAY = 256
"""Number of commands side by side, those of callers that have left included."""
CUT_S = 5.0
"""Seconds that commands that are cut may take to notice it; nobody waits longer for code that doesn't let itself be
cancelled."""

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Done:
    """Holds the result of a command: the events that came meanwhile, how the episode ended if it is over, and the
    answer to an `Ask`.

    `refused` says why the model could not take what was asked; nothing of it is left in the conversation.
    """

    events: tuple[Event, ...]
    stop: Stop | None
    told: AgentAnswer | None = None
    refused: Failure | None = None

    @property
    def completion(self) -> Completion | None:
        return self.told.completion if self.told is not None else None


class LetGo(Exception):
    """The holder of the session has closed it; it goes on elsewhere."""


class KeyReused(Exception):
    """A command was given under the key of another one."""


class CommandSession:
    """Carries out the commands of one episode. `played` is set once the episode is over and scored, was given up, or
    has failed.
    """

    def __init__(
        self,
        spec: EpisodeSpec,
        stage: Stage,
        log: CallLog,
        most_waiting: int = MOST_WAITING,
        played: Played | None = None,
    ) -> None:
        """Makes the session of a spec. `played` is given for an episode that has failed before it could be opened.

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
        self.deliveries = Deliveries()
        self.size = 0
        """Size of the commands given since the session is here, and of what they led to: bytes and characters."""
        self.episode: Episode = played.episode if played is not None else new_episode(spec, stage, log)
        self.ended = asyncio.Event()
        self._is_let_go = False
        self._touched = time.monotonic()
        self.played = played

    @property
    def idle_s(self) -> float:
        """Returns the seconds for which nobody has said anything to it."""
        return 0.0 if self._under_way else time.monotonic() - self._touched

    def touch(self) -> None:
        self._touched = time.monotonic()

    def digest_of(self, key: str) -> bytes | None:
        """Returns the digest of the agent's call that has this key; None if there is none."""
        known = self._given.get(key)
        return known.digest if isinstance(known, Ask) else None

    @property
    def given(self) -> int:
        """Returns how many commands it was given."""
        return len(self._tasks)

    async def open(self) -> None:
        """Sets the session up, and carries out again what was recorded of it. Never raises, cancellation apart."""
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
        """Lets go of the commands that are being carried out: they are recorded, and are carried out when the session
        is resumed.
        """
        self._is_let_go = True
        await self._give_up(self._under_way)

    async def perform(self, key: str, given: Command | Callable[[], Ask]) -> Done:
        """Carries out a command, or returns again the result of the one with this key. It is carried out even if the
        caller doesn't wait for it.

        An `Ask` may be made only when its turn has come, by a function. Exclusive commands wait until nothing else is
        under way, and others for them. `Close` waits for nobody: it cuts commands that wait and that are under way.

        Errors: TooManyWaiting; LetGo; KeyReused; Closed; EpisodeOver if the episode has ended before; ValueError for a
        participant or thread that isn't there; OSError if it can't be recorded; what `given` raises.
        """
        if isinstance(given, Close):
            return await self._result(await self._close(key, given))
        with self._entrance.place():
            async with self._entrance.turn():
                task, is_new = await self._enter(key, given)
            if not is_new:
                return await self._result(task)
        return await self._result(task)

    async def _enter(self, key: str, given: Command | Callable[[], Ask]) -> tuple[asyncio.Task[Done], bool]:
        """Returns the task that carries the command out, and whether it was begun now."""
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
        """Closes the session by the first such command; later ones get the result of that."""
        await self._rest()
        if self._closing is None and self.played is not None:
            raise EpisodeOver(self.episode.stop)
        return self._closing or self._accept(key, command)

    def _accept(self, key: str, command: Command) -> asyncio.Task[Done]:
        """Records a command, and begins it."""
        cuts, encoded = isinstance(command, End | Close), encode(command)
        self.size += len(encoded)
        self._log.command(self.given, msgspec.Raw(encoded), key, tuple(self._under_way), cuts)
        return self._begin(key, command)

    async def _result(self, task: asyncio.Task[Done]) -> Done:
        """Returns the result of a command; a caller whose command is cut waits no longer than until that is recorded."""
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
        """Returns the threads on which a call of an agent was begun, and not answered."""
        asks = (command for command, _ in self._under_way.values() if isinstance(command, Ask))
        return {ask.thread for ask in asks if ask.thread is not None}

    def _require_same(self, key: str, given: Command | Callable[[], Ask]) -> None:
        """Checks that a key was not given to another command before. Errors: KeyReused. An `Ask` is known by its words,
        of which the caller has made the key.
        """
        known = self._given[key]
        if isinstance(known, Ask) if not callable(given) else not isinstance(known, Ask):
            raise KeyReused(key)
        if not callable(given) and given != known:
            raise KeyReused(key)

    async def settle(self) -> None:
        """Waits until nothing is under way."""
        while self._under_way:
            await asyncio.wait([task for _, task in self._under_way.values()])

    async def _wait_until_free(self, command: Command | None) -> None:
        """Waits until nothing is under way that this command (None: an `Ask`) must not meet. Errors: Closed; LetGo."""
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
        """Waits until the commands under way have come as far as they can without an answer: a command that is cut
        there is cut there in a replay, too.
        """
        given = -1
        while self._under_way and given != self.given:
            given = self.given
            await self._log.rest()

    def _begin(self, key: str, command: Command) -> asyncio.Task[Done]:
        number = len(self._tasks)
        cut = [task for _, task in self._under_way.values()] if isinstance(command, End | Close) else []
        for task in cut:
            task.cancel()  # now: nothing else of it comes after what is recorded
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
        """Gives the recorded commands again, each when as many answers had come, and as many of the others were done,
        as then.

        Returns once all is there again that anybody was told: the recorded answers have been given, and the commands
        carried out then are so again.
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
        """Awaits a step, and ends the session with the failure of whatever it raises."""
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
        """Carries a command out within the episode's deadline. The policy's own fault ends an episode that is scored
        all the same.
        """
        episode = self.episode
        try:
            async with episode.clock.limit(episode.limits.episode_deadline_s) as deadline:
                with blaming(episode.environment, "command"):
                    answer = await apply(command, episode, self.captures)
            if isinstance(command, Close):
                self._end(Played(episode, "cancelled", None, None, active_s=episode.elapsed_s()))
            return answer
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
        if self._closing is None or asyncio.current_task() is self._closing:  # what was cut, and goes on, ends nothing
            self.played = played
            self.ended.set()


def _runs_code(command: Command) -> bool:
    """Says whether a command runs an author's code, of which a worker may die: an `Ask` only waits for a model."""
    return not isinstance(command, Ask)
