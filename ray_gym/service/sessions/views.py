"""Makes the answers to the callers of a session. They show a participant only the messages and tools that it sees."""

from __future__ import annotations

import json
from typing import Any

from ray_gym.events import Event
from ray_gym.messages import Message, encodable, utf8
from ray_gym.play.play import Played
from ray_gym.play.session import CommandSession, Done
from ray_gym.record.rows import facts_of
from ray_gym.service.api import (
    MessageAnswer,
    RewardPart,
    ScoreInfo,
    SeenMessage,
    SessionInfo,
    StopInfo,
    ToolCallAnswer,
    ToolCallPart,
    View,
)
from ray_gym.stop import Stop

DRIVEN = "policy"
"""Name of the participant whose view callers get.

The service simulates the others, and callers don't see their views.
"""


def info(session_id: str, environment: str, session: CommandSession) -> SessionInfo:
    """Describes the state of a session that a worker has. `environment`: name of its offer."""
    episode = session.episode
    return SessionInfo(
        id=session_id,
        environment=environment,
        task_id=episode.spec.task_id,
        participants={DRIVEN: _view(session)} if DRIVEN in episode.threads else {},
        stop=stop_info(episode.stop),
        score=_score(session.played) if session.played is not None else None,
    )


def info_of_row(session_id: str, environment: str, row: dict[str, Any]) -> SessionInfo:
    """Describes a session whose episode is committed, from the episode's row. The policy's view has no tools."""
    return SessionInfo(
        id=session_id,
        environment=environment,
        task_id=row["task_id"],
        participants={DRIVEN: View(messages=_seen_messages(row["events"]), tools=[])},
        stop=StopInfo(reason=row["stop_reason"] or "", text=row["stop_text"] or ""),
        score=_score_of(row),
    )


def stop_info(stop: Stop | None) -> StopInfo | None:
    """Describes why an episode is over. None means that it is not over."""
    return StopInfo(reason=stop.reason.value, text=utf8(stop.text)) if stop is not None else None


def format_stop(stop: Stop | StopInfo | None) -> str:
    """Formats the reason of a stop in parentheses, for the end of a message; an empty string for None."""
    return f" ({stop.reason}{': ' if stop.text else ''}{stop.text[:200]})" if stop else ""


def tool_answer(done: Done, call_id: str, session: CommandSession) -> ToolCallAnswer:
    """Makes the answer to the tool call with this id. Others may have ended while it was carried out.

    If the tool's failure, or a limit, has ended the episode, the content is empty and the error says why.
    """
    result = next((event for event in reversed(done.events) if _answers(event, call_id)), None)
    if result is None:
        why = utf8(done.stop.text) if done.stop else ""
        return ToolCallAnswer(content="", error=f"the episode is over: {why}", stop=stop_info(done.stop))
    error = None if result.error is None else utf8(result.error)
    return ToolCallAnswer(content=utf8(result.content), error=error, stop=stop_info(session.episode.stop))


def _answers(event: Event, call_id: str) -> bool:
    """Says whether an event is the result of the tool call with this id."""
    if event.kind == "tool_call":
        return event.tool_calls[0].id == call_id
    return event.kind == "tool_result" and event.tool_call_id == call_id


def message_answer(done: Done, participant: str, session: CommandSession) -> MessageAnswer:
    """Makes the answer to a message, with the messages that the participant hears in reply."""
    heard = [_to_seen(Message("user", event.content)) for event in done.events if _is_heard(event, participant)]
    return MessageAnswer(messages=heard, stop=stop_info(session.episode.stop))


def arguments_text(arguments: dict[str, Any] | str) -> str:
    """Returns the arguments of a tool call as text: an object as JSON, and a text as it is."""
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def _is_heard(event: Event, participant: str) -> bool:
    """Says whether an event is another participant's message that this participant heard.

    The environment may have reworded the message.
    """
    if event.kind == "relay":
        return event.thread == participant and event.role == "user"
    return event.kind == "message" and event.participant != participant and participant in event.visible_to


def _seen_messages(events: list[dict[str, Any]]) -> list[SeenMessage]:
    """Returns the messages that the policy has seen, from the events of a row."""
    seen = []
    for event in events:
        text = "".join(part["text"] for part in event["content"])
        if event["thread"] == DRIVEN and event["role"]:
            calls = [ToolCallPart(**call) for call in event["tool_calls"]]
            message = Message(event["role"], text, event["reasoning"], (), event["tool_call_id"])
            seen.append(_to_seen(message).model_copy(update={"tool_calls": calls}))
        elif event["kind"] == "message" and DRIVEN in event["visible_to"]:
            seen.append(_to_seen(Message("user", text)))
    return seen


def _view(session: CommandSession) -> View:
    """Returns the policy's messages and tools. A session that has ended has no tools."""
    episode = session.episode
    tools = (
        () if session.played is not None or episode.state is None else episode.tools_of(episode.participants[DRIVEN])[1]
    )
    messages = [_to_seen(message) for message in episode.threads[DRIVEN].messages]
    return View(messages=messages, tools=[tool.as_openai() for tool in tools])


def _to_seen(message: Message) -> SeenMessage:
    """Returns a message for callers, with text that UTF-8 can encode."""
    message = message.encodable()
    calls = [ToolCallPart(id=call.id, name=call.name, arguments=call.arguments) for call in message.tool_calls]
    return SeenMessage(
        role=message.role,
        content=message.content,
        reasoning=message.reasoning,
        tool_calls=calls,
        tool_call_id=message.tool_call_id,
    )


def _score(played: Played) -> ScoreInfo:
    return _score_of(encodable(facts_of(played, "", "")))


def _score_of(row: dict[str, Any]) -> ScoreInfo:
    return ScoreInfo(
        status=row["status"],
        reward=row["reward"],
        rewards=[RewardPart(**reward) for reward in row["rewards"]],
        failure=row["failure"],
    )
