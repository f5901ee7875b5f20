"""Reads the message of an endpoint's answer, with its calls, which servers spell in many ways."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from ray_gym.engines.extra_body import spelled
from ray_gym.engines.spelled import elements, members, spelling, text_or_json, value_of
from ray_gym.engines.tool_names import own_name
from ray_gym.messages import Message, ToolCall
from ray_gym.models.base import CompletionRequest
from ray_gym.openai_api.parts import ANSWER_FIELDS, REASONING_BESIDE, read_answer
from ray_gym.seeds import stable_id

CALLED = frozenset({"tool_calls", "function_call", "tool_use", "tool_call", "function_calls"})
"""Ends of an answer that say that there is a call in it (without one, the server has lost it), and fields of a message
that hold calls.
"""
UNREAD_CALL = frozenset(
    {"malformed_function_call", "malformed_tool_call", "unexpected_tool_call"}  # Gemini
    | {"malformed_tool_use", "malformed_model_output"}  # Bedrock
)
"""Ends of an answer with a call that the endpoint can't read, and leaves out."""
_OTHER_ARGUMENTS = ("arguments", "parameters", "params", "args", "kwargs", "input")
"""Names under which some servers give a call's arguments, of which only `arguments` of its function is read."""


def read_message(given: Mapping[str, Any], request: CompletionRequest) -> Message:
    """Returns the message of an answer. `given`: its fields, each as the JSON text that came (`msgspec.Raw`), or decoded.
    Errors: ValueError for content that is no text, or bytes that are no UTF-8.
    """
    content, called = _calls_apart(given.get("content"))
    calls = elements(given.get("tool_calls")) or _calls_elsewhere(given) or called
    fields = {name: value_of(given[name]) for name in given.keys() & ANSWER_FIELDS}
    if not any(map(fields.get, REASONING_BESIDE)):
        fields["reasoning_content"] = _copied_reasoning(given)
    reasoning, words = read_answer({**fields, "content": content})
    made = tuple(_tool_call(call, index, request) for index, call in enumerate(calls))
    return Message("assistant", words, reasoning or None, _with_own_ids(made, request))


def _copied_reasoning(given: Mapping[str, Any]) -> str | None:
    """Returns the reasoning that LiteLLM has among the fields that only some providers know; None if there is none."""
    fields = members(given.get("provider_specific_fields"))
    found = (value_of(fields[name]) for name in REASONING_BESIDE if name in fields)
    return next((text for text in found if text and isinstance(text, str)), None)


def _calls_apart(content: Any) -> tuple[Any, list[Any]]:
    """Returns the decoded content of an answer without the parts that are calls (Anthropic's `tool_use`), and these parts.
    Errors: ValueError for bytes that are no UTF-8.
    """
    decoded = value_of(content)
    if not isinstance(decoded, list):
        return decoded, []
    is_call = [isinstance(part, dict) and spelled(part.get("type")) in CALLED for part in decoded]
    parts = elements(content) if any(is_call) else []
    kept = [part for part, apart in zip(decoded, is_call, strict=True) if not apart]
    return kept, [part for part, apart in zip(parts, is_call, strict=False) if apart]


def _calls_elsewhere(given: Mapping[str, Any]) -> list[Any]:
    """Returns the calls of a message that has no `tool_calls`: those of the first other field that holds any, which is
    `function_call` in the API's earlier form. Beside `tool_calls`, such fields say the same again.
    """
    fields = (elements(value) for name, value in given.items() if spelled(name) in CALLED)
    return next(filter(None, fields), [])


def _with_own_ids(calls: tuple[ToolCall, ...], request: CompletionRequest) -> tuple[ToolCall, ...]:
    """Returns the calls of a message, each with an id of its own: one that an earlier call has is made anew."""
    seen: set[str] = set()
    own = []
    for index, call in enumerate(calls):
        own.append(replace(call, id=_make_id(request, index)) if call.id in seen else call)
        seen.add(own[-1].id)
    return tuple(own)


def _make_id(request: CompletionRequest, index: int) -> str:
    """Returns an id for a call of the answer to a request. `index`: number of the call, from 0."""
    return f"call_{stable_id(request.seed, index)[:24]}"


def unread_call(text: str, request: CompletionRequest) -> ToolCall:
    """Returns the call of a message whose call the endpoint could not read, and gives as a text."""
    return ToolCall(_make_id(request, 0), "", text)


def with_unread_call(message: Message, request: CompletionRequest) -> Message:
    """Returns an answer with a call that can't be read, unless it has one, or the request allows none."""
    if message.tool_calls or not request.tools or request.tool_choice == "none":
        return message
    return replace(message, tool_calls=(unread_call("", request),))


def _tool_call(call: Any, index: int, request: CompletionRequest) -> ToolCall:
    """Returns a call of an answer, which may have name and arguments itself, or in its `function`; one of type `tool_use`
    has them as `input`, and one of type `custom` in its `custom`. One that can't be read, or has its arguments elsewhere,
    has no name, and its whole JSON as its arguments: it is answered with an error, and the calls beside it are carried
    out. An id that is neither a text nor a whole number is made anew.
    """
    fields = members(call)
    function = members(fields.get("function", fields.get("custom", call)))
    given = value_of(fields.get("id"))
    id = str(given) if given and type(given) in (str, int) else _make_id(request, index)
    name, arguments = value_of(function.get("name")), function.get("arguments")
    if "function" not in fields and spelled(value_of(fields.get("type"))) in ("tool_use", "custom"):
        arguments = function.get("input", arguments)
    if not isinstance(name, str) or (not value_of(arguments) and _has_arguments(fields, function)):
        return ToolCall(id, "", spelling(call))
    return ToolCall(id, own_name(name, request), text_or_json(arguments))


def _has_arguments(*given: Mapping[str, Any]) -> bool:
    """Returns True if a call or its function has arguments under any name."""
    return any(value_of(fields.get(name)) for fields in given for name in _OTHER_ARGUMENTS)
