"""Turns a model call of a black-box agent, as it came, into a command."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ray_gym.messages import Message, ToolChoice, ToolSchema
from ray_gym.openai_api.conversation import require_answers
from ray_gym.openai_api.request import ApiRequest
from ray_gym.openai_api.response_ids import ResponseId
from ray_gym.play.capture import Capture, canonical, canonical_tools
from ray_gym.play.commands import Ask, StoredMessage, in_openai_form
from ray_gym.play.session import CommandSession


class TurnIsOver(Exception):
    """The participant has had all its steps of this turn: it has to say something, and let the others speak."""


class UnknownAnswer(Exception):
    """A call goes on after an answer that was not given in this session."""


@dataclass(frozen=True, slots=True)
class AgentCall:
    """Holds a call as the agent made it. `messages` is the whole conversation as the agent has it, or what comes
    `after` one of its answers (with new instructions in front, if it is `instructed`). `digest` stands for all that is
    asked.

    `sampling` has the values that differ from the participant's own. `is_again` means that the agent says it asked this
    before; `is_named`, that it has given the call a key, so that it is known by that, and not by its words.
    """

    messages: tuple[Message, ...]
    digest: bytes
    tools: tuple[ToolSchema, ...] = ()
    allowed: tuple[ToolSchema, ...] = ()
    tool_choice: ToolChoice = "auto"
    parallel_tool_calls: bool = True
    sampling: Mapping[str, Any] = field(default_factory=dict)
    response_format: str | None = None
    after: str | None = None
    instructed: bool = False
    is_again: bool = False
    is_named: bool = False

    @staticmethod
    def of(asked: ApiRequest, *, is_again: bool, is_named: bool) -> AgentCall:
        return AgentCall(
            messages=asked.messages,
            digest=_digest(asked),
            tools=asked.tools,
            allowed=asked.allowed_tools,
            tool_choice=asked.tool_choice,
            parallel_tool_calls=asked.parallel_tool_calls,
            sampling={name: value for name, value in asked.sampling.items() if value is not None},
            response_format=asked.response_format,
            after=asked.after,
            instructed=asked.instructed,
            is_again=is_again,
            is_named=is_named,
        )


def command_of(call: AgentCall, participant: str, session: CommandSession) -> Ask:
    """Makes the command of a call. Errors: TurnIsOver; UnknownAnswer; ValueError if a call of a tool has no result, or
    the reverse.
    """
    episode = session.episode
    if episode.steps_left(participant) < 1:
        raise TurnIsOver(f"{participant} has had its {episode.participants[participant].max_steps_per_turn} steps")
    capture = session.captures.get(participant) or Capture(participant)
    messages = _whole(call, participant, session)
    match = capture.match(messages, call.tools, episode.threads.values(), session.asked_threads)
    sampling = asdict(episode.participants[participant].sampling) | dict(call.sampling)
    return Ask(
        participant,
        match.thread,
        match.forked_for,
        tuple(StoredMessage.of(message.encodable()) for message in match.new),
        in_openai_form(call.tools),
        in_openai_form(call.allowed),
        call.tool_choice if call.tools else "none",
        call.parallel_tool_calls,
        sampling,
        call.digest,
        call.response_format,
    )


def _whole(call: AgentCall, participant: str, session: CommandSession) -> tuple[Message, ...]:
    """Returns the conversation that a call continues. As in OpenAI's API, instructions are those of one call. Errors:
    as `command_of`.
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


def _digest(asked: ApiRequest) -> bytes:
    """Hashes a call: the same for calls that ask the same, however they are written. Not cheap for a long conversation."""
    said = [canonical(message) for message in asked.messages]
    tools = [canonical_tools(asked.tools), [tool.name for tool in asked.allowed_tools]]
    how = [asked.tool_choice, asked.parallel_tool_calls, dict(asked.sampling), asked.response_format, asked.after]
    return hashlib.sha256(json.dumps([said, tools, how], sort_keys=True).encode()).digest()
