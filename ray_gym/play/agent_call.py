"""Turns a model call of a black-box agent into a command of its session."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Protocol

import msgspec

from ray_gym.episode.episode import Episode
from ray_gym.messages import Message, ToolChoice, ToolSchema
from ray_gym.models.model import Sampling
from ray_gym.openai_api.conversation import require_answers
from ray_gym.openai_api.request import ApiRequest
from ray_gym.openai_api.response_ids import ResponseId
from ray_gym.play.capture import Canonical, Capture, canonical_form
from ray_gym.play.commands import Ask, StoredMessage

SAMPLING = tuple(field.name for field in fields(Sampling))


class TurnIsOver(Exception):
    """Says that a participant has used up the steps of its turn.

    It has to say something, so that the others can speak.
    """


class UnknownAnswer(Exception):
    """Says that a call continues an answer which was not given in this session."""


class AskedSession(Protocol):
    """Describes what drives an episode by the calls of agents."""

    @property
    def episode(self) -> Episode: ...

    @property
    def captures(self) -> Mapping[str, Capture]: ...

    @property
    def asked_threads(self) -> Collection[str]:
        """Returns the names of the threads with a call that was begun and not answered."""
        ...


@dataclass(frozen=True, slots=True)
class AgentCall:
    """Holds a model call as the agent made it."""

    messages: tuple[Message, ...]
    """The whole conversation as the agent has it, or the messages after one of its answers (`after`)."""
    digest: bytes
    """SHA-256 of everything that is asked: equal for calls that ask the same."""
    tools: tuple[ToolSchema, ...] = ()
    allowed: tuple[ToolSchema, ...] = ()
    """Tools that may be called now; `tools` are those that the prompt shows."""
    tool_choice: ToolChoice = "auto"
    parallel_tool_calls: bool = True
    sampling: Mapping[str, Any] = field(default_factory=dict)
    """Fields of `Sampling` in which the call differs from the participant's own."""
    response_format: str | None = None
    """Required form of the answer, as JSON text; None for any form."""
    format_field: str = "response_format"
    """Name of the call's field that has the form."""
    after: str | None = None
    """Id of the answer that the messages continue; None if they are the whole conversation."""
    instructed: bool = False
    """True if the first message holds the instructions of this call."""
    left_out: tuple[str, ...] = ()
    """Fields and tools of the call that ask for what isn't here."""
    is_again: bool = False
    """True if the agent says that it has sent this call before."""
    is_named: bool = False
    """True if the agent gave the call a key, by which it is recognised instead of by its contents."""
    forms: tuple[Canonical, ...] | None = None
    """Canonical forms of the messages, if they are known."""

    @staticmethod
    def of(asked: ApiRequest, *, is_again: bool, is_named: bool) -> AgentCall:
        """Makes an agent's call from a request, whichever API it came by.

        `is_again`: True if the agent says that it has sent this call before. `is_named`: True if it gave a key.
        """
        forms = tuple(map(canonical_form, asked.messages))
        return AgentCall(
            messages=asked.messages,
            digest=_digest(asked, forms),
            tools=asked.tools,
            allowed=asked.allowed_tools,
            tool_choice=asked.tool_choice,
            parallel_tool_calls=asked.parallel_tool_calls,
            sampling={name: value for name, value in asked.sampling.items() if value is not None},
            response_format=asked.response_format,
            format_field=asked.format_field,
            after=asked.after,
            instructed=asked.instructed,
            left_out=asked.left_out,
            is_again=is_again,
            is_named=is_named,
            forms=forms,
        )


def command_of(call: AgentCall, participant: str, session: AskedSession) -> Ask:
    """Makes the command that carries out an agent's call. Errors: TurnIsOver; UnknownAnswer; ValueError if a tool call
    has no result, or a result no tool call.
    """
    episode = session.episode
    if episode.steps_left(participant) < 1:
        raise TurnIsOver(f"{participant} has had its {episode.turns[-1].steps} steps")
    capture = session.captures.get(participant) or Capture(participant)
    messages = _whole(call, participant, session)
    forms = call.forms if messages is call.messages else None
    match = capture.match(
        messages, forms or [*map(canonical_form, messages)], call.tools, episode.threads, session.asked_threads
    )
    usual = episode.participants[participant].sampling
    tools = tuple(tool.as_openai() for tool in call.tools)
    return Ask(
        participant,
        match.thread,
        match.forked_for,
        tuple(StoredMessage.of(message.encodable()) for message in match.new),
        tools,
        tools if call.allowed == call.tools else tuple(tool.as_openai() for tool in call.allowed),
        call.tool_choice if call.tools else "none",
        call.parallel_tool_calls,
        {name: getattr(usual, name) for name in SAMPLING} | dict(call.sampling),
        call.digest,
        call.response_format,
        call.left_out,
    )


def _whole(call: AgentCall, participant: str, session: AskedSession) -> tuple[Message, ...]:
    """Returns the whole conversation of a call, with the messages before it.

    As in OpenAI's API, instructions hold for one call only. Errors: UnknownAnswer; ValueError if a tool call has no
    result, or a result no tool call.
    """
    if call.after is None:
        return call.messages
    try:
        place = ResponseId.read(call.after)
    except ValueError:
        raise UnknownAnswer(call.after) from None
    thread = session.episode.threads.get(place.thread)
    if thread is None or thread.participant.name != participant or not 0 < place.length <= len(thread.messages):
        raise UnknownAnswer(call.after)
    split = 1 if call.instructed else 0
    earlier = thread.messages[1 if place.instructed else 0 : place.length]
    messages = (*call.messages[:split], *earlier, *call.messages[split:])
    require_answers(messages)
    return messages


def _digest(asked: ApiRequest, said: Sequence[Canonical]) -> bytes:
    """Returns a SHA-256 digest that is equal for calls that ask the same, however their JSON is written. `said`: canonical
    forms of the messages.
    """
    tools = [asked.tools, [tool.name for tool in asked.allowed_tools]]
    how = [asked.tool_choice, asked.parallel_tool_calls, asked.sampling, asked.response_format, asked.after]
    return hashlib.sha256(msgspec.json.encode([said, tools, how], order="sorted")).digest()
