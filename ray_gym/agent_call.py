"""A model call of a black-box agent, as it came, and the command that it becomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ray_gym.capture import Capture
from ray_gym.commands import Ask, StoredMessage, in_openai_form
from ray_gym.messages import Message, ToolChoice, ToolSchema
from ray_gym.session import Session


class TurnIsOver(Exception):
    """The participant has had all its steps of this turn: it has to say something, and let the others speak."""


@dataclass(frozen=True, slots=True)
class AgentCall:
    """`messages` is the whole conversation as the agent has it. `digest` stands for the call in the very words in which it came.

    `sampling`: what differs from the participant's own. `is_again`: the agent says that it asked this before, and got no answer.
    """

    messages: tuple[Message, ...]
    digest: bytes
    tools: tuple[ToolSchema, ...] = ()
    allowed: tuple[ToolSchema, ...] = ()
    tool_choice: ToolChoice = "auto"
    parallel_tool_calls: bool = True
    sampling: Mapping[str, Any] = field(default_factory=dict)
    is_again: bool = False


def command_of(call: AgentCall, participant: str, session: Session) -> Ask:
    """Errors: TurnIsOver."""
    episode = session.episode
    if episode.steps_left(participant) < 1:
        raise TurnIsOver(f"{participant} has had its {episode.participants[participant].max_steps_per_turn} steps")
    capture = session.captures.get(participant) or Capture(participant)
    match = capture.match(call.messages, call.tools, episode.threads.values(), session.asked_threads)
    sampling = asdict(episode.participants[participant].sampling) | dict(call.sampling)
    return Ask(
        participant,
        match.thread,
        match.forked_for,
        tuple(StoredMessage.of(message.encodable()) for message in call.messages[match.known :]),
        in_openai_form(call.tools),
        in_openai_form(call.allowed),
        call.tool_choice if call.tools else "none",
        call.parallel_tool_calls,
        sampling,
        call.digest,
    )


def key_of(call: AgentCall, session: Session, fresh: str) -> str:
    """The command's: that of the call which this one repeats, or a fresh one.

    Agents' clients say when they try again. Without that, the same words are another question (a sample more), unless the answer of the
    first did not arrive (`Session.undelivered`).
    """
    earlier = session.keys_of_asks.get(call.digest)
    if earlier is not None and (call.is_again or call.digest in session.undelivered):
        session.undelivered.discard(call.digest)
        return earlier
    return fresh
