"""Converts the events of an episode to items of OpenAI's Responses API, which `conversation` can read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ray_gym.events import Event
from ray_gym.messages import Message, ToolCall

Item = dict[str, Any]

_SAID = ("message", "tool_result", "relay")
"""Kinds of events that come after a conversation's opening."""


def response_items(events: Iterable[Event], thread: str = "policy") -> list[Item]:
    """Returns the items of a thread that follow its opening, in order: reasoning, messages, calls and their results,
    users' messages.
    """
    return [item for event in events if event.thread == thread and event.kind in _SAID for item in items_of(event)]


def why_incomplete(events: Iterable[Event], thread: str = "policy") -> str | None:
    """Returns the reason for which the last message of a thread was cut, as `cut_reason`; None also if there is none."""
    said = [event for event in events if event.thread == thread and event.kind == "message"]
    return cut_reason(said[-1].finish_reason) if said else None


def cut_reason(finish_reason: str | None) -> str | None:
    """Returns the Responses API's name for what cut an answer: a filter, or a limit of tokens, which may be that of the
    context. None if it was not cut.
    """
    if finish_reason in (None, "stop"):
        return None
    return "content_filter" if finish_reason == "content_filter" else "max_output_tokens"


def event_of(row: Mapping[str, Any]) -> Event:
    """Converts an entry of `events` in a record's row, as `ray_gym.load(run).episodes` gives them, to an `Event`."""
    fields = dict(row)
    fields["content"] = "".join(part["text"] for part in row["content"] or ())
    fields["tool_calls"] = tuple(ToolCall(**call) for call in row["tool_calls"] or ())
    return Event(**fields)


def items_of(event: Event) -> list[Item]:
    """Returns the items of one event that has a role."""
    if event.role == "tool":
        return [{"type": "function_call_output", "call_id": event.tool_call_id, "output": event.content}]
    if event.role != "assistant":
        return [{"type": "message", "role": event.role, "content": event.content}]
    said = Message("assistant", event.content, event.reasoning, event.tool_calls)
    return answer_items(said, str(event.seq), cut=cut_reason(event.finish_reason) is not None)


def answer_items(message: Message, name: str, cut: bool) -> list[Item]:
    """Returns the items of one answer of the model: its reasoning, if any; its text, unless that is empty and there are
    calls; and its calls. `name` is part of the items' ids, and has to differ between answers. `cut`: True if the answer
    ended at a limit of tokens, or by a filter.
    """
    items: list[Item] = []
    if message.reasoning:
        summary = [{"type": "summary_text", "text": message.reasoning}]
        items.append({"type": "reasoning", "id": f"rs_{name}", "summary": summary})
    if message.content or not message.tool_calls:
        items.append(_message(message.content, name, cut))
    return items + [_call(f"fc_{name}_{number}", call) for number, call in enumerate(message.tool_calls)]


def _message(text: str, name: str, cut: bool) -> Item:
    return {
        "type": "message",
        "id": f"msg_{name}",
        "role": "assistant",
        "status": "incomplete" if cut else "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    }


def _call(id: str, call: ToolCall) -> Item:
    return {
        "type": "function_call",
        "id": id,
        "call_id": call.id,
        "name": call.name,
        "arguments": call.arguments,
        "status": "completed",
    }
