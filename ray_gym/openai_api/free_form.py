"""Reads free-form (`custom`) tools of OpenAI's APIs as functions of one text, and writes the calls of these functions as
the agent knows the tools.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ray_gym.messages import ToolCall, utf8
from ray_gym.openai_api.media import without_media
from ray_gym.openai_api.message_fields import without_name

Json = dict[str, Any]
INPUT = "input"
"""Name of the one argument of a free-form tool."""
CUSTOM = "custom"
"""Type of free-form tools, and the field that describes one in chat completions."""


def spelled_out(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns what describes a free-form tool: chat completions have it under `custom`, the Responses API has not."""
    inner = given.get(CUSTOM)
    return inner if isinstance(inner, Mapping) else given


def as_function(tool: Mapping[str, Any]) -> Json:
    """Returns a free-form tool as a function of one text. Its grammar is told in words: nothing holds the model to it."""
    told = spelled_out(tool)
    described, form = str(told.get("description") or ""), told.get("format")
    if isinstance(form, Mapping) and form.get("type") == "grammar":
        inner = form.get("grammar")
        rules = inner if isinstance(inner, Mapping) else form
        grammar = f"The {INPUT} follows this {rules.get('syntax')} grammar:\n{rules.get('definition')}"
        described = f"{described}\n\n{grammar}".strip()
    text = {"type": "object", "properties": {INPUT: {"type": "string"}}, "required": [INPUT]}
    return {"type": "function", "name": told.get("name"), "description": described, "parameters": text}


def arguments_of(text: Any) -> str:
    """Returns the arguments of the function for a free-form tool's text."""
    return json.dumps({INPUT: text}, ensure_ascii=False)


def text_of(arguments: str) -> str:
    """Returns the text that a model gave a free-form tool: all of its arguments if they do not have the form asked for,
    be it that there is another field beside the text. So the agent has all that the model wrote, and its call is
    recognised when it comes back (`capture.canonical_arguments`). UTF-8 can encode it.
    """
    try:
        read = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
    is_as_asked = isinstance(read, dict) and read.keys() == {INPUT} and isinstance(read[INPUT], str)
    return utf8(read[INPUT]) if is_as_asked else arguments


def chat_call(call: ToolCall) -> Json:
    """Returns a call of a free-form tool in the form of chat completions."""
    return {"id": call.id, "type": CUSTOM, CUSTOM: {"name": call.name, INPUT: text_of(call.arguments)}}


def plain_messages(messages: list[Any], left_out: list[str]) -> list[Any]:
    """Returns chat messages in which all calls are of functions, and all results of tools are texts. Adds what is left out
    to `left_out`.
    """
    return [_plain_message(without_name(one, "messages", left_out), left_out) for one in messages]


def _plain_message(message: Any, left_out: list[str]) -> Any:
    if isinstance(message, Mapping) and message.get("role") in ("tool", "function"):
        return {**message, "content": without_media(message.get("content"), "messages.content", left_out)}
    calls = message.get("tool_calls") if isinstance(message, Mapping) else None
    if not isinstance(calls, list):
        return message
    return {**message, "tool_calls": [_plain_call(call) for call in calls]}


def _plain_call(call: Any) -> Any:
    told = call.get(CUSTOM) if isinstance(call, Mapping) and call.get("type") == CUSTOM else None
    if not isinstance(told, Mapping) or INPUT not in told:
        return call
    kept = {name: value for name, value in call.items() if name != CUSTOM}
    inner = {name: value for name, value in told.items() if name != INPUT}
    return {**kept, "type": "function", "function": {**inner, "arguments": arguments_of(told[INPUT])}}
