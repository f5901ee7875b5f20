"""Holds the sessions of one worker and carries out their callers' commands.

A session is closed when it has got no command for `service.idle_s` seconds.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable
from contextlib import suppress
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from ray_gym.mcp.offering import unknown_tool
from ray_gym.messages import ToolSchema
from ray_gym.models.base import Completion
from ray_gym.openai_api.formats import refusal_by_model
from ray_gym.openai_api.refused import Refused, not_found, service_unavailable, too_many_requests, unprocessable_content
from ray_gym.openai_api.response_ids import ResponseId
from ray_gym.play.agent_call import AgentCall, TurnIsOver, UnknownAnswer, command_of
from ray_gym.play.commands import CallTool, Close, Command, End, Say, TakeTurn
from ray_gym.play.counting import count_call
from ray_gym.play.entrance import TooManyWaiting
from ray_gym.play.play import Played
from ray_gym.play.session import CommandSession, Done, KeyReused, LetGo
from ray_gym.seeds import stable_id
from ray_gym.service.api import (
    LONGEST_TEXT,
    MessageAnswer,
    MessageRequest,
    SessionInfo,
    ToolCallAnswer,
    ToolCallRequest,
)
from ray_gym.service.sessions import views
from ray_gym.stop import Closed, EpisodeOver

OPENING_S = 60.0
"""Seconds for which a call waits for its session, which is about to be leased or is replayed from its journal."""
COMMANDS = 10_000
"""Most commands that one session takes, since each is kept until the session's end."""
LARGEST = 64 * 2**20
"""Most characters of all commands and answers of one session."""
KEPT = 200
"""Number of ended sessions that callers can still ask about."""
REMEMBERED = 100_000
"""Number of further ended sessions whose ids are kept."""
GONE = "session_has_ended"
"""Error code for a session of which only the id is kept."""
CLOSED = "session_closed"
"""Error code for a command that was cut since its session was closed."""
BUSY_S = 1.0
"""Seconds after which a caller is told to try again if too many commands of a session wait."""
FIRST = "first-turn"
"""Key of the command by which other participants speak before the policy's first turn."""

Result = TypeVar("Result")


class SessionTable:
    """A session table holds the sessions of one worker by their ids, and carries out their callers' commands.

    The worker calls `host` and `show`. The other methods are for callers. Except for `settle`, they raise Refused, and
    wait up to OPENING_S seconds for a session that this worker does not have yet.
    """

    def __init__(self, environment: str, idle_s: float) -> None:
        """Takes the name of the offer, and the seconds without a command after which a session is closed."""
        self._environment = environment
        self._idle_s = idle_s
        self._open: dict[str, CommandSession] = {}
        self._ended: OrderedDict[str, CommandSession] = OrderedDict()
        self._gone: OrderedDict[str, None] = OrderedDict()
        self._arrivals: WeakValueDictionary[str, asyncio.Event] = WeakValueDictionary()
        """Events that wake the calls which wait for a session, by the session's id."""
        self.suspects: set[str] = set()
        """Ids of sessions that may have killed a worker.

        They are resumed one at a time, and their callers wait until all commands are replayed.
        """
        self._one_suspect = asyncio.Lock()

    async def host(self, session_id: str, session: CommandSession) -> Played:
        """Opens a session, waits until it has ended, and returns its result. Callers reach the session meanwhile.

        If this call is cancelled, the session can be resumed by another worker.
        """
        try:
            await self._open_session(session_id, session)
            self._open[session_id] = session
            self._wake_waiting(session_id)
            return await self._wait_until_ended(session)
        except asyncio.CancelledError:
            await session.close()
            raise
        finally:
            if self._open.pop(session_id, None) is not None and session.played is not None:
                self._keep(session_id, session)
            await session.episode.leave()

    def show(self, session_id: str, session: CommandSession) -> None:
        """Adds a session that failed before it was open, so that its caller reads the reason."""
        self._keep(session_id, session)
        self._wake_waiting(session_id)

    async def _open_session(self, session_id: str, session: CommandSession) -> None:
        """Opens a session. One of `suspects` waits until no other suspect is being opened."""
        if session_id not in self.suspects:
            await session.open()
            return
        session.episode.clock.set_resting(True)
        async with self._one_suspect:
            session.episode.clock.set_resting(False)
            await session.open()
            await session.settle()
        self.suspects.discard(session_id)

    def _wake_waiting(self, session_id: str) -> None:
        """Wakes the calls that wait for this session."""
        if (arrival := self._arrivals.pop(session_id, None)) is not None:
            arrival.set()

    async def _wait_until_ended(self, session: CommandSession) -> Played:
        """Waits until a session has ended, and returns its result. Closes it if it gets no command for too long."""
        while session.played is None:
            left_s = self._idle_s - session.idle_s
            try:
                async with asyncio.timeout(max(left_s, 0)):
                    await session.ended.wait()
            except TimeoutError:
                if session.idle_s >= self._idle_s:
                    await session.perform("idle", Close(f"nothing was said for {self._idle_s:g} s"))
        return session.played

    def _keep(self, session_id: str, session: CommandSession) -> None:
        """Keeps an ended session. Of older ones only the ids are kept."""
        self._ended[session_id] = session
        if len(self._ended) > KEPT:
            self._gone[self._ended.popitem(last=False)[0]] = None
        if len(self._gone) > REMEMBERED:
            self._gone.popitem(last=False)

    async def find(self, session_id: str) -> CommandSession:
        """Waits until a session is open or has ended, and returns it.

        Errors: Refused (410) for a session of which only the id is kept; Refused (503) after OPENING_S seconds.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(OPENING_S):
                while True:
                    if session_id in self._gone:
                        raise Refused(410, GONE, "the session has ended")
                    if (found := self._open.get(session_id) or self._ended.get(session_id)) is not None:
                        return found
                    await self._arrivals.setdefault(session_id, asyncio.Event()).wait()
        raise service_unavailable("the session is not here (any more); ask again")

    # ---- commands of callers ----

    async def info(self, session_id: str) -> SessionInfo:
        """Returns the state of a session. Errors: Refused if this worker does not have it."""
        return views.info(session_id, self._environment, await self.find(session_id))

    async def begin(self, session_id: str) -> SessionInfo:
        """Waits until a session is open and it is the policy's turn, and returns the session's state.

        Participants that speak before the policy do so now. Errors: Refused.
        """
        session = await self.find(session_id)
        first = session.episode.first
        if first != "policy" and session.played is None and not session.episode.stopped:
            await self._perform(session, FIRST, TakeTurn(first))
        return views.info(session_id, self._environment, session)

    async def call_tool(self, session_id: str, key: str, request: ToolCallRequest) -> ToolCallAnswer:
        """Calls a tool for a participant and returns its answer.

        `key` is the idempotency key: the same call with the same key gets the same answer again. Errors: Refused.
        """
        session = await self.find(session_id)
        call_id = request.id or f"call_{stable_id(session_id, key)[:24]}"
        arguments = views.arguments_text(request.arguments)
        if len(arguments) > LONGEST_TEXT:
            raise unprocessable_content(f"longer than {LONGEST_TEXT:,} characters", "arguments")
        command = CallTool(request.participant, call_id, request.name, arguments)
        done = await self._perform(session, key, command)
        return views.tool_answer(done, call_id, session)

    async def mcp_tools(self, session_id: str, participant: str) -> tuple[ToolSchema, ...]:
        """Returns the tools that a participant's agent may call by MCP; none if the session has ended. Errors: Refused."""
        session = await self.find(session_id)
        session.touch()
        episode = session.episode
        if session.played is not None or episode.state is None or participant not in episode.participants:
            return ()
        return episode.tools_of(episode.participants[participant])[0]

    async def mcp_call(
        self, session_id: str, participant: str, key: str, name: str, arguments: dict[str, Any]
    ) -> ToolCallAnswer:
        """Calls a tool for a participant's agent, and returns its answer. It is tied to the call of the agent's model
        that asks for it, if there is one. Errors: Refused (`UNKNOWN_TOOL` if the participant has no such tool).
        """
        tools, session = await self.mcp_tools(session_id, participant), await self.find(session_id)
        if session.played is None and name not in {tool.name for tool in tools}:
            raise unknown_tool(name)
        text = views.arguments_text(arguments)
        if len(text) > LONGEST_TEXT:
            raise unprocessable_content(f"longer than {LONGEST_TEXT:,} characters", "arguments")
        known = session.given_by(key)  # the gateway repeats a call whose worker has died
        tied = known if isinstance(known, CallTool) else None
        command = tied or session.ties.command_of(session.episode, participant, name, text, key)
        done = await self._perform(session, key, command)
        return views.tool_answer(done, command.id, session)

    async def say(self, session_id: str, key: str, request: MessageRequest) -> MessageAnswer:
        """Says a message for a participant, and returns the messages that the participant hears in reply.

        `key`: idempotency key. Errors: Refused.
        """
        session = await self.find(session_id)
        done = await self._perform(session, key, Say(request.participant, request.content))
        return views.message_answer(done, request.participant, session)

    async def score(self, session_id: str, key: str) -> SessionInfo:
        """Ends and scores a session, and returns its state. A session that has ended already keeps its score.

        `key`: idempotency key. Errors: Refused, also if the session is closed meanwhile.
        """
        session = await self.find(session_id)
        if session.played is None:
            try:
                await self._perform(session, key, End())
            except Refused as refused:
                if session.played is None or refused.code == CLOSED:  # else another call has scored it first
                    raise
        return views.info(session_id, self._environment, session)

    async def close(self, session_id: str) -> None:
        """Closes a session for its caller. A session that was scored, has failed or is closed stays as it is.

        Errors: Refused.
        """
        session = await self.find(session_id)
        if session.played is None:
            try:
                await self._perform(session, "close", Close("by its caller"))
            except Refused:
                if session.played is None:  # else it was scored meanwhile
                    raise

    async def ask(
        self, session_id: str, participant: str, key: str, call: AgentCall
    ) -> tuple[Completion | None, str | None]:
        """Makes a black-box agent's model call, and returns the completion and a name for it.

        Both are None if the episode is over: no model is called after its end. `key` names the call. The gateway calls
        `settle` afterwards, to say whether the answer has reached the agent. Errors: Refused for an unknown participant
        (404), a key of another call or a full session (409), a turn that is over, an unknown earlier answer, wrong
        input, or a call that the model refuses (400), and as `_await_step`.
        """
        session = await self.find(session_id)
        if participant not in session.episode.environment.participants:
            raise not_found("participant", participant)
        session.touch()
        _require_room(session)
        if call.is_named and session.digest_of(key) not in (None, call.digest):
            raise Refused(409, "key_reused", "this idempotency key was used with another call already")
        try:
            deliveries = session.deliveries
            own = key if call.is_named else await deliveries.key_for(call.digest, key, call.is_again)
            done = await _await_step(session.perform(own, lambda: command_of(call, participant, session)))
            deliveries.note_answered(key)
        except EpisodeOver:
            return None, None
        except TurnIsOver as error:
            raise Refused(400, "turn_is_over", f"{error}; it has to say something (POST messages) before") from None
        except UnknownAnswer:
            problem = "there is no answer of that name in this session"
            raise Refused(400, "previous_response_not_found", problem, "previous_response_id") from None
        except ValueError as error:
            raise Refused(400, "invalid_request", f"input: {error}", "input") from None
        if done.refused is not None:
            raise refusal_by_model(done.refused.where, done.refused.message, call.format_field)
        if done.told is None:
            return None, None
        return done.told.completion, str(ResponseId(done.told.thread, done.told.length, call.instructed))

    async def count_tokens(self, session_id: str, participant: str, call: AgentCall) -> int:
        """Returns the number of tokens of the prompt that a call of a black-box agent would have if it opened a thread.
        Nothing is recorded.

        Errors: Refused for an unknown participant, a model that counts no tokens (404), a prompt that the model's
        template refuses (400), and if the model can't be reached (503).
        """
        session = await self.find(session_id)
        thread = session.episode.threads.get(participant)
        if thread is None:
            raise not_found("participant", participant)
        session.touch()
        return await count_call(call, thread)

    async def settle(self, session_id: str, key: str, delivered: bool) -> None:
        """Notes whether an agent has received the whole answer to its call `key` (`delivered`).

        If it has not, the same request again gets the same answer. Nothing happens for a session that is not open here.
        """
        if (session := self._open.get(session_id)) is not None:
            session.deliveries.settle(key, delivered)

    async def _perform(self, session: CommandSession, key: str, command: Command) -> Done:
        """Carries out a command and returns its result.

        Errors: Refused if the session is full or over, if the command is not valid, and as `_await_step`.
        """
        session.touch()
        if not isinstance(command, End | Close):
            _require_room(session)
        try:
            return await _await_step(session.perform(key, command))
        except EpisodeOver as over:
            reason = views.format_stop(session.episode.stop)
            if isinstance(over, Closed):
                raise Refused(409, CLOSED, f"the session was closed before this command was done{reason}") from None
            raise Refused(409, "episode_is_over", f"the episode is over{reason}: it can only be scored") from None
        except ValueError as error:
            raise unprocessable_content(str(error), "participant") from None


def _require_room(session: CommandSession) -> None:
    """Checks that a session is not too large for another command. Errors: Refused (409) if it is."""
    if session.given >= COMMANDS:
        raise Refused(409, "too_many_commands", f"a session takes {COMMANDS} commands: score it, or close it")
    if session.size >= LARGEST:
        raise Refused(409, "session_too_large", f"a session holds {LARGEST:,} characters: score it, or close it")


async def _await_step(step: Awaitable[Result]) -> Result:
    """Awaits a step of a session, and returns its result.

    Errors: Refused if the step raises KeyReused (409), TooManyWaiting (429), LetGo or OSError (503). Other exceptions
    of the step are raised as they are.
    """
    try:
        return await step
    except KeyReused:
        raise Refused(409, "key_reused", "this idempotency key was used with another command already") from None
    except TooManyWaiting as error:
        raise too_many_requests(str(error), BUSY_S) from None
    except LetGo:
        raise service_unavailable("the session goes on elsewhere; ask again") from None
    except OSError as error:
        raise service_unavailable(f"the session can't be recorded now: {error.strerror or error}") from None
