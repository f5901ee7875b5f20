"""Defines what participants say and see: messages, tool calls, and the schemas of tools."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from ray_gym.half_pairs import without_halves

Role = Literal["system", "user", "assistant", "tool"]
ToolChoice = Literal["auto", "required", "none"]

_BLANK = re.compile(
    "[\\s\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]*+"
)
"""Whitespace, control characters, and characters without a shape (Unicode's Default_Ignorable_Code_Point, the marks of
annotations, and Braille's empty cell).
"""


class ToolCall(msgspec.Struct, frozen=True, gc=False):
    """A tool call is kept as the model wrote it: `arguments` is its JSON text, perhaps malformed."""

    id: str
    name: str
    arguments: str

    def as_openai(self) -> dict[str, Any]:
        """Returns the call in the form of OpenAI's chat completions."""
        return {"id": self.id, "type": "function", "function": {"name": self.name, "arguments": self.arguments}}


class Message(msgspec.Struct, frozen=True, gc=False):
    """A message of a conversation is immutable: `msgspec.structs.replace` makes a changed copy.

    (Making a dataclass takes thirty times as long, and episodes are made of messages.)
    """

    role: Role
    content: str = ""
    reasoning: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None

    def encodable(self) -> Message:
        """Returns the message with "?" in the place of lone surrogates, which JSON can spell and UTF-8 can't. Errors:
        TypeError for a text that is none.
        """
        call_id = None if self.tool_call_id is None else utf8(self.tool_call_id)
        is_plain = self.reasoning is None and call_id == self.tool_call_id
        if not self.tool_calls and is_plain and self.content.isascii():
            return self
        calls = tuple(ToolCall(utf8(call.id), utf8(call.name), utf8(call.arguments)) for call in self.tool_calls)
        reasoning = None if self.reasoning is None else utf8(self.reasoning)
        return replace(self, content=utf8(self.content), reasoning=reasoning, tool_calls=calls, tool_call_id=call_id)


def tool_call_message(name: str, arguments: Mapping[str, Any] | str, call_id: str = "call") -> Message:
    """Returns an assistant message that calls one tool.

    Arguments that are a text stay as they are, perhaps malformed.
    """
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return Message("assistant", tool_calls=(ToolCall(call_id, name, text),))


def is_no_arguments(text: str) -> bool:
    """Says whether a call's arguments are one of the ways in which models write that there are none: no text, or null."""
    return text.strip() in ("", "null")


def arguments_object(text: str) -> dict[str, Any]:
    """Returns the arguments of a call as an object, which is what chat templates show: those that are no object are the
    value of `arguments` in one, and no arguments are an object of nothing. UTF-8 can encode it.
    """
    try:
        parsed = {} if is_no_arguments(text) else encodable(parse_json(text))
    except (ValueError, RecursionError):
        parsed = None
    return parsed if isinstance(parsed, dict) else {"arguments": utf8(text)}


def arguments_text(text: str) -> str:
    """Returns the arguments of a call as the JSON text of an object, which is what endpoints take: those that are one as
    they are spelled, but for halves of surrogate pairs, and others as `arguments_object` has them.
    """
    spelled = utf8(without_halves(text))
    try:
        is_object = isinstance(parse_json(spelled), dict)
    except ValueError:
        is_object = False
    return spelled if is_object else json.dumps(arguments_object(text), ensure_ascii=False)


def parse_json(text: str, read_whole: Callable[[str], float] = int) -> Any:
    """Returns the value of a JSON text. `read_whole`: makes a whole number of its text. Errors: ValueError for other
    text: also for one that is nested too deeply, and for numbers that only Python reads or writes (NaN, Infinity, 1e999).
    """
    try:
        return json.loads(text, parse_constant=_read_finite, parse_float=_read_finite, parse_int=read_whole)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _read_finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is not a number of JSON")
    return number


def is_blank(text: str) -> bool:
    """Says whether a text shows nothing: it is empty, or has only whitespace and characters that nobody sees, such as
    zero-width spaces. A blank text is silence.
    """
    return _BLANK.fullmatch(text) is not None


def plain_text(text: str) -> str:
    """Returns a text as a `str` and no subclass of it. Of a member of an enumeration that is its value, where `str` gives
    its name. What is no text is returned as it is, for those who check it.
    """
    return str.__str__(text) if isinstance(text, str) else text


def utf8(text: str) -> str:
    """Returns a text with "?" in the place of lone surrogates, which JSON can spell and UTF-8 can't. Errors: TypeError for
    what is no text.
    """
    if not isinstance(text, str):
        raise TypeError(f"expected text, got {type(text).__name__}")
    return text.encode("utf-8", "replace").decode()


def encodable(node: Any) -> Any:
    """Returns a copy of nested mappings, lists and tuples in which lone surrogates in texts, also in keys, are replaced by
    question marks. Tuples become lists; other values stay as they are.
    """
    if isinstance(node, str):
        return utf8(node)
    if isinstance(node, Mapping):
        return {encodable(key): encodable(value) for key, value in node.items()}
    if isinstance(node, list | tuple):
        return [encodable(item) for item in node]
    return node


SCHEMA_FIELDS = ("parameters", "input_schema", "inputSchema")
"""Fields of tools that hold the schema of the arguments: those of OpenAI's, of Anthropic's and of MCP's."""
TOOL_FIELDS = frozenset(
    {"type", "function", "name", "description", *SCHEMA_FIELDS}
    | {"strict", "cache_control"}
    | {"allowed_callers", "async", "defer_loading", "output_schema"}
)
"""Fields of tools in OpenAI's formats that are read, and those that change no prompt: whether arguments are held to the
schema is said by the door, nothing is cached for a caller, and each tool is shown to the model, which calls it itself.
"""


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """A tool schema describes a tool to a model; `parameters` is a JSON schema of type object."""

    name: str
    description: str
    parameters: dict[str, Any]

    def as_openai(self) -> dict[str, Any]:
        """Returns the schema as chat completions spell it, with name and parameters under `function`."""
        function = {"name": self.name, "description": self.description, "parameters": self.parameters}
        return {"type": "function", "function": function}

    @classmethod
    def from_openai(cls, given: Any) -> ToolSchema:
        """Reads a schema as chat completions spell it (name and parameters under `function`), or as the Responses API
        does; the parameters may be in any of `SCHEMA_FIELDS`.

        Errors: ValueError if it is no tool of type function, or has no name, no object as its parameters, two that
        differ, or a field that is neither read nor known to be without effect.
        """
        if not isinstance(given, Mapping):
            raise ValueError(f"expected a tool of type function, got {type(given).__name__}")
        if (kind := given.get("type", "function")) != "function":
            raise ValueError(f"expected a tool of type function, got one of type {str(kind)[:40]!r}")
        function = given.get("function", given)
        name = function.get("name") if isinstance(function, Mapping) else None
        if not isinstance(name, str) or not name:
            raise ValueError("a tool needs a name")
        for held in (given, function):
            for field, value in held.items():
                if field not in TOOL_FIELDS and not (value is None or value is False or value in ("", [], {})):
                    raise ValueError(f"tool {name}: {str(field)[:40]} is not followed here; leave it out")
        parameters = _parameters(name, (function, given))
        description = function.get("description") or ""
        if not isinstance(description, str):
            raise ValueError(f"tool {name}: description: expected text")
        return cls(name, description, {"type": "object", "properties": {}, **parameters})


def _parameters(name: str, held: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Returns the JSON schema of a tool's arguments. Errors: ValueError if it is no object, or if there are two."""
    found = [(field, tool[field]) for tool in held for field in SCHEMA_FIELDS if tool.get(field)]
    for field, schema in found:
        if not isinstance(schema, Mapping):
            raise ValueError(f"tool {name}: {field}: expected a JSON schema")
        if schema != found[0][1]:
            raise ValueError(f"tool {name}: {found[0][0]} and {field} differ; leave one of them out")
    return found[0][1] if found else {}
