"""Plays one participant of one episode by a program, whose model calls are steps of the participant.

A program makes its calls at a door of its worker, and the door hands them to the seat. What the program says in the end
is what the others hear. After a worker's death the program is started anew, and its calls are answered from the journal
as long as they are the same as the first time; calls that differ are a replay that diverged, and the episode gets a new
try.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field

from ray_gym.agents.raised_at import last_line, raised_at
from ray_gym.agents.refusals import Refusals
from ray_gym.agents.running import Launcher, Left
from ray_gym.agents.seat_tools import SeatTools
from ray_gym.agents.turn_calls import TurnCalls
from ray_gym.episode.blame import fault_of, is_policy
from ray_gym.episode.episode import Episode
from ray_gym.episode.limits import STEPS_USED_UP
from ray_gym.episode.participant import Participant
from ray_gym.episode.turn import Turn
from ray_gym.errors import EpisodeFailure, Failure, FailureKind
from ray_gym.messages import Message
from ray_gym.models.thoughts import with_thoughts_apart
from ray_gym.openai_api.formats import refusal_by_model
from ray_gym.openai_api.refused import Refused
from ray_gym.play.agent_call import AgentCall, TurnIsOver, UnknownAnswer, command_of
from ray_gym.play.capture import Capture, canonical_text
from ray_gym.play.commands import AgentAnswer, Ask, apply, is_said
from ray_gym.printable import beginning, ending
from ray_gym.stop import EpisodeOver

LONGEST_ERROR = 2_000
"""Most characters of a program's standard error that are recorded: the last ones."""


@dataclass(slots=True)
class Seat:
    """Holds a participant that a program plays, for the time of an episode."""

    episode: Episode
    participant: Participant
    launcher: Launcher
    """Starts the program, and ends it with all that it has started."""
    refused: Refusals
    """Calls from the program's sandbox that were refused since they were last recorded."""
    calls: TurnCalls = field(default_factory=TurnCalls)
    """Calls of the program in its turn."""
    tools: SeatTools = field(init=False)
    """Tools of the participant, for the program's MCP client."""
    captures: dict[str, Capture] = field(default_factory=dict)
    """Conversations of the program."""
    asked_threads: set[str] = field(default_factory=set)
    """Names of threads that wait for an answer. It is empty, as an episode takes a call's thread at once."""
    _heard: int = 0
    """Number of the messages of the participant's own thread that the program was told."""
    _turns: int = 0
    _is_full: bool = False
    """True if the steps of the turn are used up."""
    _broken: BaseException | None = None
    """Error of a call, which ends the turn."""
    _asked: dict[bytes, asyncio.Task[AgentAnswer | None]] = field(default_factory=dict)
    """Last calls of the turn in the same words, by their digest: one that its client repeats is not made again."""
    _is_answered: bool = False
    """True once the model has answered a call of the program."""
    _last_words: str = ""
    """Words of the last answer to a call of the turn."""
    _ending: asyncio.Event = field(default_factory=asyncio.Event)
    """Set if the program has to be ended."""

    def __post_init__(self) -> None:
        self.tools = SeatTools(self)

    async def take_turn(self, turn: Turn) -> None:
        """Has the program take a turn, and records what it says as the participant's words.

        Errors: EpisodeFailure if the program fails, or one of its calls does; exceptions of the calls.
        """
        self._is_full, self._broken, self._last_words = False, None, ""
        self._ending.clear()
        self._asked.clear()
        async with self.calls.open():
            left = await self._run()
        self._turns += 1
        if self._broken is not None:
            raise self._broken
        if self.episode.stopped:
            return
        if self.calls.cut:
            self.episode.note(
                f"{self.launcher.name}: calls that nobody waited for when its turn ended: {self.calls.cut}"
            )
        if left.why_ended is not None and not self._is_full:
            raise self._fault(left)
        if self._is_full:  # what it printed may be its client's error, as further calls were refused
            ended = "" if left.why_ended is None else f", and {left.why_ended}"
            self.episode.note(f"{self.launcher.name}: {STEPS_USED_UP}{ended}")
        self._say(turn, self.launcher.program.answer(left.output) if left.why_ended is None else self._last_words)
        self._heard = len(self.episode.threads[self.participant.name].messages)

    async def _run(self) -> Left:
        """Runs the program to its end, and records what it left beside its answer. If this call is cancelled, as at the
        episode's deadline, the program is ended, and what it left is recorded too.

        Errors: EpisodeFailure if the sandbox is gone.
        """
        running = asyncio.create_task(self.launcher.run(self._words(), self._turns, self._ending))
        try:
            left = await asyncio.shield(running)
        except asyncio.CancelledError:
            self.end()
            with contextlib.suppress(EpisodeFailure):
                self._record(await running)
            raise
        self._record(left)
        return left

    async def ask(self, call: AgentCall) -> AgentAnswer | None:
        """Makes a model call of the program, as a step of the turn. None means that the episode is over.

        Errors: Refused (400) for a call that can't be made: it is not its turn, the turn's steps are used up, the model
        can't be asked this, or it continues an unknown answer.
        """
        earlier = self._asked.get(call.digest) if call.is_again else None
        task = self._asked[call.digest] = earlier or self.calls.begin(self._ask(call))
        return await self.calls.answer_of(task)

    async def _ask(self, call: AgentCall) -> AgentAnswer | None:
        try:
            answer = await apply(self._command_of(call), self.episode, self.captures)
        except EpisodeOver:
            answer = None
        except Refused:
            raise
        except Exception as error:
            raise self.fail(error) from None
        if isinstance(answer, Failure):
            raise refusal_by_model(answer.where, answer.message, call.format_field)
        if answer is None or self.episode.stopped:
            self.end()
        if answer is not None:
            self._is_answered = True
            self._last_words = answer.completion.message.content
        return answer

    def _command_of(self, call: AgentCall) -> Ask:
        """Returns the command that carries out a call. Errors: Refused (400) for what is wrong with the call itself."""
        try:
            return command_of(call, self.participant.name, self)
        except TurnIsOver as error:
            self._is_full = True
            raise Refused(400, "turn_is_over", f"{error}: end your turn") from None
        except UnknownAnswer:
            raise Refused(400, "previous_response_not_found", "there is no answer of that name") from None
        except ValueError as error:
            raise Refused(400, "invalid_request", f"input: {error}", "input") from None

    def end(self) -> None:
        """Ends the program, as the episode is over."""
        self._ending.set()

    def fail(self, error: BaseException) -> Refused:
        """Ends the program and its turn by an error of one of its calls, and returns the call's refusal."""
        self._broken = error
        self.end()
        return Refused(503, "episode_has_failed", "the episode can't go on")

    def _words(self) -> str:
        """Returns what the participant has heard since its last turn: on its first one with its system prompt. If it has
        spoken itself, as a task's row may have it, each message has its role before it.
        """
        messages = self.episode.threads[self.participant.name].messages
        new = [one for one in messages[self._heard :] if one.content.strip() or one.tool_calls]
        is_heard = all(one.role in ("system", "user") for one in new)
        return "\n\n".join(one.content if is_heard or one.role == "system" else _told(one) for one in new)

    def _say(self, turn: Turn, text: str) -> None:
        """Records what the program says as the participant's words, unless its last call in the participant's own thread
        has just said the same.
        """
        said, name = with_thoughts_apart(Message("assistant", text)), self.participant.name
        is_there = name in self.captures and self.captures[name].has_main_thread
        if not is_there or not is_said(self.episode, name, said):
            self.episode.speak(name, said)
        turn.replace_words(said.content)

    def _record(self, left: Left) -> None:
        """Records the calls that were refused, and what a program left beside its answer."""
        if (told := self.refused.take()) is not None:
            self.episode.note(f"{self.launcher.name}: calls that were refused: {told}")
        if left.dropped:
            self.episode.note(
                f"{self.launcher.name}: of what it printed, {left.dropped:,} bytes in the middle are left out"
            )
        if canonical_text(left.errors):
            self.episode.note(f"{self.launcher.name} on standard error: {ending(left.errors, LONGEST_ERROR)}")

    def _fault(self, left: Left) -> EpisodeFailure:
        """Returns the failure of a program that did not end well: it is the policy's own, or the simulator's. An exit code
        before the model's first answer was neither's doing, nor is code that returns what it never may.
        """
        said, place = last_line(left.errors), raised_at(left.errors) if left.is_by_itself else ""
        message = f"{left.why_ended}: {beginning(said, 200)}" if said else str(left.why_ended)
        message += f", in {place}" if place else ""
        where = f"agent {self.launcher.name}"
        if left.is_wrong_code or (left.is_by_itself and not self._is_answered):
            return EpisodeFailure(FailureKind.ENVIRONMENT, where, message)
        if is_policy(self.participant):
            return EpisodeFailure(FailureKind.POLICY, where, message)
        return fault_of(self.participant, f"{where}: {message}", judges=False)


def _told(message: Message) -> str:
    """Returns a message as a program is told of it that was not there when it was said."""
    calls = [f"{call.name}({call.arguments})" for call in message.tool_calls]
    return "\n".join(text for text in (f"[{message.role}]", message.content, *calls) if text)
