"""Defines the commands that drive a session from outside, as the journal keeps them, and carries them out on the
episode.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from ray_gym.episode.episode import Episode
from ray_gym.episode.thread import Asked
from ray_gym.episode.turn import Turn
from ray_gym.errors import EpisodeFailure, Failure, FailureKind
from ray_gym.messages import Message, ToolCall, ToolSchema
from ray_gym.models.base import Completion, Sampling
from ray_gym.play.capture import Capture, without_thought
from ray_gym.stop import StopReason


class TakeTurn(msgspec.Struct, array_like=True, tag="turn", frozen=True):
    """Lets a participant speak until it yields the floor."""

    participant: str


class Say(msgspec.Struct, array_like=True, tag="say", frozen=True):
    """Speaks for a participant; the others hear it, and answer as the environment has them."""

    participant: str
    text: str


class Tell(msgspec.Struct, array_like=True, tag="tell", frozen=True):
    """Puts a message into a participant's view, or a thread's."""

    thread: str
    text: str


class CallTool(msgspec.Struct, array_like=True, tag="call", frozen=True):
    """Calls a tool in a participant's name. `arguments` is JSON text."""

    participant: str
    id: str
    name: str
    arguments: str


class OpenThread(msgspec.Struct, array_like=True, tag="open_thread", frozen=True):
    participant: str


class Reply(msgspec.Struct, array_like=True, tag="reply", frozen=True):
    """Makes one model call on a thread."""

    thread: str


class StoredMessage(msgspec.Struct, array_like=True, frozen=True):
    role: str
    content: str
    reasoning: str | None
    tool_calls: tuple[tuple[str, str, str], ...]
    tool_call_id: str | None

    @staticmethod
    def of(message: Message) -> StoredMessage:
        calls = tuple((call.id, call.name, call.arguments) for call in message.tool_calls)
        return StoredMessage(message.role, message.content, message.reasoning, calls, message.tool_call_id)

    def as_message(self) -> Message:
        calls = tuple(ToolCall(*call) for call in self.tool_calls)
        return Message(self.role, self.content, self.reasoning, calls, self.tool_call_id)  # type: ignore[arg-type]


class Ask(msgspec.Struct, array_like=True, tag="ask", frozen=True):
    """Makes a model call of a black-box agent that plays a participant: it brings new messages on a thread, and the
    options of the call.

    Without a `thread` it opens one (`forked_for`: see `capture`). `tools` and `allowed` are in OpenAI's form; `digest`
    stands for the call as it came, so that a call that is sent again can be recognised.
    """

    participant: str
    thread: str | None
    forked_for: str | None
    messages: tuple[StoredMessage, ...]
    tools: tuple[dict[str, Any], ...]
    allowed: tuple[dict[str, Any], ...]
    tool_choice: str
    parallel_tool_calls: bool
    sampling: dict[str, Any]
    digest: bytes
    response_format: str | None = None

    def to_asked(self) -> Asked:
        sampling = Sampling(**{**self.sampling, "stop": tuple(self.sampling.get("stop", ()))})
        tools, allowed = map(_schemas, (self.tools, self.allowed))
        choice: Any = self.tool_choice
        return Asked(sampling, tools, allowed, choice, self.parallel_tool_calls, self.response_format)


@dataclass(frozen=True, slots=True)
class AgentAnswer:
    """Holds the answer to an `Ask`, and where it is."""

    completion: Completion
    thread: str
    length: int
    """Number of messages in the thread, of which the answer is the last."""


class Close(msgspec.Struct, array_like=True, tag="close", frozen=True):
    """Gives the session up, without a score."""

    why: str


class End(msgspec.Struct, array_like=True, tag="end", frozen=True):
    """Ends the episode and scores it."""


Command = TakeTurn | Say | Tell | CallTool | OpenThread | Reply | Ask | Close | End

decoder: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(Command)
encode = msgspec.msgpack.Encoder().encode


def must_not_meet(command: Command | None, other: Command) -> bool:
    """Says whether a command (None: an `Ask`) has to wait for another one that is under way.

    Only an agent's own calls, of models and tools, go on side by side. The end waits for no answers that nobody will
    use.
    """
    if isinstance(command, End):
        return not isinstance(other, Ask)
    return not (isinstance(other, Ask | CallTool) and isinstance(command, Ask | CallTool | None))


def check(command: Command, episode: Episode) -> None:
    """Checks that a command names a participant or thread that is there. If not, the caller is told, and the session
    takes no harm. Errors: ValueError.
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
    """Carries a command out; returns the answer of an `Ask`, or why the model could not take it.

    Errors: EpisodeOver, EpisodeFailure, and what an author's code raises.
    """
    match command:
        case TakeTurn(participant):
            await episode.turn(participant)
        case Say(participant, text):
            await _say(episode, participant, text, _is_there(captures, participant))
        case Tell(thread, text):
            episode.tell(thread, text)
        case CallTool(participant, call_id, name, arguments):
            await _call_tool(episode, participant, ToolCall(call_id, name, arguments), _is_there(captures, participant))
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
    """Carries an `Ask` out. If the model can't be asked this, it is the agent's mistake: the agent is told, and the
    conversation is as it was before.
    """
    name = ask.participant
    thread = ask.thread or episode.transcript.open_empty_thread(name, ask.forked_for)
    asked = ask.to_asked()
    capture = captures.setdefault(name, Capture(name))
    capture.uses(thread, asked.tools)
    turn = episode.open_turn(name)
    if turn is None:
        return None
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
    turn.text = completion.message.content
    return AgentAnswer(completion, thread, len(episode.threads[thread].messages))


def _kind_of(message: Message, is_first: bool) -> Any:
    if message.role == "system":
        return "system"
    if message.role == "tool":
        return "tool_result"
    return "opening" if is_first else "relay"


def _is_there(captures: dict[str, Capture], participant: str) -> bool:
    """Says whether the participant's words, and its tools' answers, get into its own thread by the calls of an agent."""
    return participant in captures and captures[participant].has_main_thread


async def _call_tool(episode: Episode, participant: str, call: ToolCall, captured: bool) -> None:
    turn = episode.open_turn(participant)
    if turn is None:
        return
    if not captured:
        episode.speak(participant, Message("assistant", tool_calls=(call,)))
    answer = await episode.call(participant, call, tells=not captured)
    turn.tool_results.append(answer.content)
    turn.tool_errors += answer.error is not None
    episode.end_if_finished()


async def _say(episode: Episode, participant: str, text: str, captured: bool) -> None:
    turn = episode.open_turn(participant)
    if turn is None:
        return
    said = Message("assistant", text)
    if not captured or without_thought(turn.text) != without_thought(text):
        episode.speak(participant, said)
    turn.text = text
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


def in_openai_form(tools: Sequence[ToolSchema]) -> tuple[dict[str, Any], ...]:
    """Returns the tools in OpenAI's form, with nothing but JSON data in it."""
    return tuple(json.loads(json.dumps(tool.as_openai())) for tool in tools)
