"""Conversations that were begun elsewhere: what a task's row says was said already, as messages.

Rows may spell them as chat messages (`{"role", "content", "tool_calls", ...}`) or as items of OpenAI's Responses API (`message`,
`function_call`, `function_call_output`, `reasoning`); what is kept is one plain form.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict

from ray_gym.messages import Message, Role, ToolCall

_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant", "tool": "tool"}
_TEXT_PARTS = ("text", "input_text", "output_text", "reasoning_text", "summary_text", "refusal")


class EarlierCall(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    name: str
    arguments: str


class EarlierMessage(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    role: Role
    content: str = ""
    reasoning: str | None = None
    tool_calls: tuple[EarlierCall, ...] = ()
    tool_call_id: str | None = None

    def as_message(self) -> Message:
        calls = tuple(ToolCall(call.id, call.name, call.arguments) for call in self.tool_calls)
        return Message(self.role, self.content, self.reasoning, calls, self.tool_call_id)


def plain(items: Any) -> Any:
    """Chat messages and Responses items in the one form that is kept. Errors: ValueError that names the item."""
    if isinstance(items, str):
        return [{"role": "user", "content": items}]
    if not isinstance(items, Sequence):
        raise ValueError("expected a list of messages")
    found: list[dict[str, Any]] = []
    for number, item in enumerate(items):
        try:
            _add(found, item)
        except (ValueError, KeyError, TypeError) as error:
            what = f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)
            raise ValueError(f"messages[{number}]: {what}") from None
    return [message for message in found if not _is_empty(message)]


def checked(messages: tuple[EarlierMessage, ...]) -> tuple[EarlierMessage, ...]:
    """Errors: ValueError for what no model could be shown: a system message in the middle, calls without results and the reverse."""
    open_calls: set[str] = set()
    for number, message in enumerate(messages):
        if message.role == "system" and any(earlier.role != "system" for earlier in messages[:number]):
            raise ValueError(f"messages[{number}]: system messages come before all others")
        if message.role == "tool":
            if message.tool_call_id not in open_calls:
                raise ValueError(f"messages[{number}]: it answers call {message.tool_call_id!r}, which nobody made")
            open_calls.remove(message.tool_call_id)
        elif open_calls:
            raise ValueError(f"messages[{number}]: call {min(open_calls)!r} before it has no result")
        if message.tool_calls and message.role != "assistant":
            raise ValueError(f"messages[{number}]: a {message.role} message calls no tools")
        open_calls |= {call.id for call in message.tool_calls}
    if open_calls:
        raise ValueError(f"messages: the last call, {min(open_calls)!r}, has no result")
    return messages


Conversation = Annotated[tuple[EarlierMessage, ...], BeforeValidator(plain), AfterValidator(checked)]
"""A field of a pydantic model that takes either spelling."""


def system_prompt(messages: Sequence[EarlierMessage]) -> str | None:
    prompts = [message.content for message in messages if message.role == "system"]
    return "\n\n".join(prompts) or None


def spoken(messages: Sequence[EarlierMessage]) -> list[Message]:
    """As the policy saw it, without the system prompt."""
    return [message.as_message() for message in messages if message.role != "system"]


def mirrored(messages: Sequence[EarlierMessage]) -> list[Message]:
    """As the other side saw it: what it said itself is assistant's, what the policy said is user's, and tools were not seen."""
    other: dict[Role, Role] = {"user": "assistant", "assistant": "user"}
    return [Message(other[one.role], one.content) for one in messages if one.role in other and one.content]


def _add(found: list[dict[str, Any]], item: Any) -> None:
    """Append an item; calls and reasoning join the assistant's message that they belong to."""
    if not isinstance(item, Mapping):
        raise ValueError(f"expected a message, got {type(item).__name__}")
    kind = item.get("type") or "message"
    if kind == "function_call":
        call = {"id": item["call_id"], "name": item["name"], "arguments": _arguments(item["arguments"])}
        _assistant(found)["tool_calls"].append(call)
    elif kind == "function_call_output":
        found.append({"role": "tool", "content": _text(item["output"]), "tool_call_id": item["call_id"]})
    elif kind == "reasoning":
        found.append(_fresh() | {"reasoning": _text([*(item.get("summary") or []), *(item.get("content") or [])])})
    elif kind == "message":
        _add_message(found, item)
    else:
        raise ValueError(f"items of type {kind!r} are not understood")


def _add_message(found: list[dict[str, Any]], item: Mapping[str, Any]) -> None:
    role = _ROLES.get(item["role"])
    if role is None:
        raise ValueError(f"role {item['role']!r} is none of {', '.join(_ROLES)}")
    text = _text(item.get("content"))
    if role == "assistant":
        message = _assistant(found) if _is_only_reasoning(found) else _new(found)
        message["content"] = text
        reasoning = item.get("reasoning_content") or item.get("reasoning")
        if reasoning is not None:
            message["reasoning"] = reasoning
        message["tool_calls"] += [_call(call) for call in item.get("tool_calls") or ()]
    else:
        message = {"role": role, "content": text}
        if role == "tool":
            message["tool_call_id"] = item["tool_call_id"]
        elif item.get("tool_calls"):
            raise ValueError(f"a {role} message calls no tools")
        found.append(message)


def _fresh() -> dict[str, Any]:
    return {"role": "assistant", "content": "", "tool_calls": []}


def _new(found: list[dict[str, Any]]) -> dict[str, Any]:
    found.append(_fresh())
    return found[-1]


def _assistant(found: list[dict[str, Any]]) -> dict[str, Any]:
    """The assistant's message at the end, or a new one."""
    return found[-1] if found and found[-1]["role"] == "assistant" else _new(found)


def _is_only_reasoning(found: list[dict[str, Any]]) -> bool:
    last = found[-1] if found else {}
    return last.get("role") == "assistant" and not last["content"] and not last["tool_calls"]


def _is_empty(message: Mapping[str, Any]) -> bool:
    return message["role"] == "assistant" and not message["content"] and not message["tool_calls"]


def _call(call: Mapping[str, Any]) -> dict[str, str]:
    function = call.get("function") or call
    return {"id": call["id"], "name": function["name"], "arguments": _arguments(function["arguments"])}


def _arguments(given: Any) -> str:
    return given if isinstance(given, str) else json.dumps(given)


def _text(content: Any) -> str:
    """Errors: ValueError for content that is no text."""
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, Sequence):
        raise ValueError(f"content: expected text, got {type(content).__name__}")
    texts = []
    for part in content:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, Mapping) and part.get("type", "text") in _TEXT_PARTS:
            texts.append(str(part.get("text", part.get("refusal", ""))))
        else:
            what = part.get("type") if isinstance(part, Mapping) else type(part).__name__
            raise ValueError(f"content of type {what!r}: only text is understood")
    return "".join(texts)
