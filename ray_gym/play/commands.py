"""Defines the commands that drive a session from outside, in the form that the journal keeps, and carries them out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from ray_gym.episode.episode import Episode
from ray_gym.episode.thread import Asked
from ray_gym.episode.turn import Turn
from ray_gym.errors import EpisodeFailure, Failure, FailureKind
from ray_gym.messages import Message, ToolCall, ToolSchema
from ray_gym.models.base import Completion, Sampling
from ray_gym.models.thoughts import with_thoughts_apart
from ray_gym.play.capture import Capture, canonical_text
from ray_gym.stop import StopReason
from ray_gym.tools.answer import ToolAnswer


class TakeTurn(msgspec.Struct, array_like=True, tag="turn", frozen=True):
    """Lets a participant's model speak until it yields the floor."""

    participant: str


class Say(msgspec.Struct, array_like=True, tag="say", frozen=True):
    """Speaks for a participant. The others hear it and take their turns, until it is the participant's turn again."""

    participant: str
    text: str


class Tell(msgspec.Struct, array_like=True, tag="tell", frozen=True):
    """Puts a user message into a thread."""

    thread: str
    """Name of the thread; a participant's own thread has the participant's name."""
    text: str


MadeBy = Literal["caller", "model", "agent"]
"""Says who makes a tool call: the session's caller, who carries out what its model asks for; an agent, because a recorded
answer of its model asks for it by a call of the same id (`model`); or an agent that no such answer asks (`agent`).
"""


class CallTool(msgspec.Struct, array_like=True, tag="call", frozen=True):
    """Calls a tool on behalf of a participant."""

    participant: str
    id: str
    """Id of the call, which its result names."""
    name: str
    """Name of the tool."""
    arguments: str
    """Arguments as JSON text."""
    made_by: MadeBy = "caller"


class OpenThread(msgspec.Struct, array_like=True, tag="open_thread", frozen=True):
    """Opens another thread of a participant."""

    participant: str


class Reply(msgspec.Struct, array_like=True, tag="reply", frozen=True):
    """Has a thread's model answer, by one call."""

    thread: str


class StoredMessage(msgspec.Struct, array_like=True, frozen=True):
    """Holds a message in the form that the journal keeps."""

    role: str
    content: str
    reasoning: str | None
    tool_calls: tuple[tuple[str, str, str], ...]
    """Tool calls as (id, name, arguments)."""
    tool_call_id: str | None

    @staticmethod
    def of(message: Message) -> StoredMessage:
        """Makes the stored form of a message."""
        calls = tuple((call.id, call.name, call.arguments) for call in message.tool_calls)
        return StoredMessage(message.role, message.content, message.reasoning, calls, message.tool_call_id)

    def as_message(self) -> Message:
        """Returns the message in the form in which an episode holds it."""
        calls = tuple(ToolCall(*call) for call in self.tool_calls)
        return Message(self.role, self.content, self.reasoning, calls, self.tool_call_id)  # type: ignore[arg-type]


class Ask(msgspec.Struct, array_like=True, tag="ask", frozen=True):
    """Makes a model call of a black-box agent that plays a participant: puts new messages into a thread, and has the
    model answer.
    """

    participant: str
    thread: str | None
    """Name of the thread that the call continues; None if it opens a thread."""
    forked_for: str | None
    """Reason why the call opens a thread although a similar one is there (see `capture`); None otherwise."""
    messages: tuple[StoredMessage, ...]
    """Messages that are new in the thread."""
    tools: tuple[dict[str, Any], ...]
    """Tools that the prompt shows, in OpenAI's form."""
    allowed: tuple[dict[str, Any], ...]
    """Tools that may be called, in OpenAI's form."""
    tool_choice: str
    parallel_tool_calls: bool
    sampling: dict[str, Any]
    """All fields of `Sampling`."""
    digest: bytes
    """SHA-256 of the call as it came, by which a repeated call is recognised."""
    response_format: str | None = None
    """Required form of the answer, as JSON text; None for any form."""
    left_out: tuple[str, ...] = ()
    """Fields and tools of the call that ask for what isn't here."""

    def to_asked(self) -> Asked:
        """Returns the tools, the sampling and the other options of the call, as an episode takes them."""
        sampling = Sampling(**{**self.sampling, "stop": tuple(self.sampling.get("stop", ()))})
        tools = _schemas(self.tools)
        allowed = tools if self.allowed == self.tools else _schemas(self.allowed)
        choice: Any = self.tool_choice
        return Asked(sampling, tools, allowed, choice, self.parallel_tool_calls, self.response_format)


@dataclass(frozen=True, slots=True)
class AgentAnswer:
    """Holds the answer to an `Ask`, and its place."""

    completion: Completion
    thread: str
    """Name of the thread that the answer is in."""
    length: int
    """Number of messages in the thread up to the answer, which is the last of them."""


class Close(msgspec.Struct, array_like=True, tag="close", frozen=True):
    """Closes the session without a score."""

    why: str
    """Reason, for the record."""


class End(msgspec.Struct, array_like=True, tag="end", frozen=True):
    """Ends the episode and scores it."""


Command = TakeTurn | Say | Tell | CallTool | OpenThread | Reply | Ask | Close | End

decoder: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(Command)
encode = msgspec.msgpack.Encoder().encode


def must_not_meet(command: Command | None, other: Command) -> bool:
    """Says whether a command (None: an `Ask`) has to wait until another command has ended.

    Only `Ask` and `CallTool` run side by side. An `End` does not wait for an `Ask`, since nobody will use the answer.
    """
    if isinstance(command, End):
        return not isinstance(other, Ask)
    return not (isinstance(other, Ask | CallTool) and isinstance(command, Ask | CallTool | None))


def check(command: Command, episode: Episode) -> None:
    """Checks that a command names a participant or thread that exists. Errors: ValueError if it does not; the session
    goes on then.
    """
    match command:
        case TakeTurn(name) | Say(name) | CallTool(name) | Ask(name):
            known, what = list(episode.environment.participants), "participant"
        case OpenThread(name):
            known, what = list(episode.participants), "participant"
        case Tell(name) | Reply(name):
            known, what = list(episode.threads), "thread"
        case _:
            return
    if name not in known:
        raise ValueError(f"there is no {what} {name!r}; there are: {', '.join(known)}")


async def apply(command: Command, episode: Episode, captures: dict[str, Capture]) -> AgentAnswer | Failure | None:
    """Carries out a command on the episode. Returns the answer of an `Ask`, or the failure if the model can't be asked
    this; None for other commands, and if a limit ended the episode instead. An `End` does nothing here.
    Errors: EpisodeOver; EpisodeFailure; exceptions of the environment's code.
    """
    match command:
        case TakeTurn(participant):
            await episode.turn(participant)
        case Say(participant, text):
            await _say(episode, participant, text, _is_there(captures, participant))
        case Tell(thread, text):
            episode.tell(thread, text)
        case CallTool():
            await call_tool(episode, command, captures)
        case OpenThread(participant):
            episode.open_thread(participant)
        case Reply(thread):
            await episode.reply(thread)
        case Ask():
            return await _ask(episode, command, captures)
        case Close(why):
            episode.end(StopReason.CLOSED, why)
    return None


async def _ask(episode: Episode, ask: Ask, captures: dict[str, Capture]) -> AgentAnswer | Failure | None:
    """Carries out an `Ask`, and returns its answer. Returns a failure if the model can't be asked this: then the
    conversation is as it was before. None means that a limit ended the episode instead. Errors: EpisodeOver;
    EpisodeFailure.
    """
    name = ask.participant
    thread = ask.thread or episode.transcript.open_empty_thread(name, ask.forked_for)
    asked = ask.to_asked()
    capture = captures.setdefault(name, Capture(name))
    capture.uses(thread, asked.tools)
    turn = episode.open_turn(name)
    if turn is None:
        return None
    if capture.is_news(ask.left_out):
        episode.note(f"calls of {name} are answered without {', '.join(ask.left_out)}")
    before = len(episode.threads[thread].messages)
    for stored in ask.messages:
        message = stored.as_message()
        episode.transcript.put(thread, _kind_of(message, is_first=ask.thread is None), message)
    turn.steps += 1
    try:
        completion = await episode.complete_thread(thread, asked)
    except EpisodeFailure as error:
        if error.failure.kind != FailureKind.DATA:
            raise
        turn.steps -= 1
        episode.threads[thread].forget(before)
        capture.forget(thread, before)
        return error.failure
    if completion is None:
        return None
    turn.replace_words(completion.message.content)
    return AgentAnswer(completion, thread, len(episode.threads[thread].messages))


def _kind_of(message: Message, is_first: bool) -> Any:
    if message.role == "system":
        return "system"
    if message.role == "tool":
        return "tool_result"
    return "opening" if is_first else "relay"


def _is_there(captures: dict[str, Capture], participant: str) -> bool:
    """Says whether an agent's own calls put the participant's words and tool results into its thread."""
    return participant in captures and captures[participant].has_main_thread


async def call_tool(episode: Episode, command: CallTool, captures: dict[str, Capture]) -> ToolAnswer | None:
    """Carries out a `CallTool`, and returns the tool's answer; None if a limit ended the episode instead. An agent puts
    the answer into its own conversation. Errors: EpisodeOver; EpisodeFailure.
    """
    name, call = command.participant, ToolCall(command.id, command.name, command.arguments)
    turn = episode.open_turn(name)
    if turn is None:
        return None
    tells = command.made_by == "caller" and not _is_there(captures, name)
    if tells:
        episode.speak(name, Message("assistant", tool_calls=(call,)))
    if command.made_by == "agent":
        episode.note(f"{name} calls {call.name} ({call.id}), and no answer of its model asks for that")
    answer = await episode.call(name, call, tells=tells)
    turn.add_answer(call.name, answer)
    episode.end_if_finished()
    return answer


def is_said(episode: Episode, participant: str, said: Message) -> bool:
    """Says whether the last message of a participant's own thread is that it says this."""
    messages = episode.threads[participant].messages
    if not messages or messages[-1].role != "assistant" or messages[-1].tool_calls:
        return False
    return canonical_text(messages[-1].content) == canonical_text(said.content)


async def _say(episode: Episode, participant: str, text: str, captured: bool) -> None:
    turn = episode.open_turn(participant)
    if turn is None:
        return
    said = with_thoughts_apart(Message("assistant", text))
    if not captured or not is_said(episode, participant, said):
        episode.speak(participant, said)
    turn.replace_words(said.content)
    episode.yield_floor(turn, said)
    speaker: Turn = turn
    while not episode.stopped:
        following = episode.environment.next_speaker(episode.state, episode, speaker)
        if following is None:
            episode.end(StopReason.COMPLETED)
        if following is None or following == participant:
            return
        speaker = await episode.turn(following)


def _schemas(given: Sequence[dict[str, Any]]) -> tuple[ToolSchema, ...]:
    return tuple(ToolSchema.from_openai(tool) for tool in given)
