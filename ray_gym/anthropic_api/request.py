"""Reads bodies of requests of the Messages API, as a server does.

What becomes of each field is one of three. It is honoured; it has no effect, which `left_out` of the request says where
it might matter to the caller; or it is refused, if the answer would be to another question. An agent that asks for a
service which isn't here goes on without it: docs/messages.md has a table of all fields.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ray_gym.anthropic_api.blocks import left_out_of
from ray_gym.anthropic_api.conversation import BILLING, is_for_accounts, read_conversation
from ray_gym.messages import SCHEMA_FIELDS, ToolChoice, ToolSchema
from ray_gym.openai_api.formats import Format, read_format
from ray_gym.openai_api.left_out import left_out_names
from ray_gym.openai_api.parts import asks_something
from ray_gym.openai_api.refused import bad_request
from ray_gym.openai_api.request import (
    MOST_MESSAGES,
    MOST_TOOLS,
    ApiRequest,
    Json,
    make_messages,
    read_body,
    read_choice,
    read_tools,
)
from ray_gym.openai_api.sampling import SamplingChange

QUIET = frozenset(
    {"betas", "billing_policy", "cache_control", "diagnostics", "fallback_credit_token", "fallbacks", "inference_geo"}
    | {"metadata", "service_tier", "speed", "user_profile_id", "workspace_id"}
)
"""Fields without an effect that nobody has to be told of: they change neither the prompt nor the answer."""

_TOOL_FIELDS = frozenset({"name", "description", "function", *SCHEMA_FIELDS})
"""Fields of a tool that are read."""
_DESCRIBED = (None, "custom", "function")
"""Types of tools that an agent describes itself. The last is OpenAI's."""
_QUIET_OF_TOOLS = frozenset(
    {"type", "strict", "defer_loading", "eager_input_streaming", "allowed_callers", "cache_control"}
)


class Choice(BaseModel):
    """Describes the field `tool_choice` of a body. Other fields have no effect."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)

    type: Literal["auto", "any", "tool", "none"]
    name: str | None = None
    disable_parallel_tool_use: bool | None = None


class OutputConfig(BaseModel):
    """Describes the field `output_config` of a body. Of its fields, only the format is followed."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)

    format: Json | None = None


class MessagesBody(BaseModel):
    """Describes the body of a request of the Messages API. Other fields have no effect."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)

    model: Annotated[str, Field(min_length=1, max_length=256)]
    messages: Annotated[list[Any], Field(min_length=1, max_length=MOST_MESSAGES)]
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    system: str | list[Any] | None = None
    tools: Annotated[list[Any], Field(max_length=MOST_TOOLS)] | None = None
    tool_choice: Choice | None = None
    stop_sequences: list[str] | None = None
    stream: bool | None = None
    temperature: Any = None
    top_p: Any = None
    top_k: Any = None
    output_config: OutputConfig | None = None
    output_format: Json | None = None
    """Earlier name of `output_config.format`."""
    thread: Any = None


def read_message_request(body: Any) -> ApiRequest:
    """Reads the body of a request for a message, decoded from JSON. Errors: Refused (400) for a field that is wrong or
    not supported.
    """
    given = read_body(MessagesBody, body)
    if given.max_tokens is None:
        raise bad_request("max_tokens: Field required", "max_tokens")
    return _read(given, is_asked=True)


def read_count_request(body: Any) -> ApiRequest:
    """Reads the body of a request for the number of a prompt's tokens, which has no `max_tokens`. Errors: as
    `read_message_request`.
    """
    return _read(read_body(MessagesBody, body), is_asked=False)


def _read(given: MessagesBody, is_asked: bool) -> ApiRequest:
    if asks_something(given.thread):
        raise bad_request("thread: conversations are not kept here; send all messages", "thread")
    custom, hosted = _tell_tools_apart(given.tools or ())
    tools = read_tools(custom)
    choice, allowed = _read_choice(given.tool_choice, tools, hosted)
    form, format_field = _read_format(given)
    return ApiRequest(
        model=given.model,
        messages=make_messages(lambda: read_conversation(given.system, given.messages, is_asked), "messages"),
        tools=tools,
        allowed_tools=allowed,
        tool_choice=choice,
        parallel_tool_calls=not (given.tool_choice and given.tool_choice.disable_parallel_tool_use),
        sampling=_read_sampling(given),
        stream=bool(given.stream),
        response_format=form,
        format_field=format_field,
        left_out=left_out_names([*hosted.values(), *_unfollowed(given), *_unfollowed_of_tools(given, custom, hosted)]),
    )


def _tell_tools_apart(given: Sequence[Any]) -> tuple[list[Json], dict[str, str]]:
    """Returns the tools that the agent describes itself, in the form that `read_tools` takes, and the types of those
    that Anthropic describes or hosts, by their names. Errors: Refused (400) for a tool that is no object.
    """
    custom, hosted = [], {}
    for number, tool in enumerate(given):
        if not isinstance(tool, Mapping):
            raise bad_request(f"tools[{number}]: expected a tool, got {type(tool).__name__}", "tools")
        if tool.get("type") in _DESCRIBED:
            for field in SCHEMA_FIELDS:
                if not isinstance(tool.get(field), Mapping | None):
                    raise bad_request(f"tools[{number}].{field}: expected a JSON schema, an object", "tools")
            custom.append({field: tool[field] for field in _TOOL_FIELDS & tool.keys()})
        else:
            hosted[str(tool.get("name") or tool["type"])] = str(tool["type"])
    return custom, hosted


def _read_choice(
    given: Choice | None, tools: tuple[ToolSchema, ...], hosted: Mapping[str, str]
) -> tuple[ToolChoice, tuple[ToolSchema, ...]]:
    """Returns the tool choice, and the tools that may be called under it. A choice that only a tool of `hosted` could
    meet leaves it to the model. Errors: Refused (400) if no tool at all could meet it.
    """
    if given is None or given.type == "auto":
        return "auto", tools
    if given.type == "none":
        return "none", tools
    if _is_in_vain(given, tools, hosted):
        return "auto", tools
    return read_choice("required" if given.type == "any" else {"type": "function", "name": given.name}, tools)


def _is_in_vain(given: Choice, tools: Sequence[Any], hosted: Mapping[str, str]) -> bool:
    """Returns True if only a tool of `hosted` could meet a choice."""
    is_of_one = given.type == "tool"
    return given.type in ("tool", "any") and bool(hosted) and (given.name in hosted if is_of_one else not tools)


def _read_sampling(given: MessagesBody) -> Mapping[str, Any]:
    """Returns the fields of `Sampling` that a body sets. Errors: Refused (400) for a value out of its range."""
    said = {name: getattr(given, name) for name in ("temperature", "max_tokens", "top_p", "top_k")}
    said["stop"] = given.stop_sequences
    sampling = read_body(SamplingChange, said, names={"stop": "stop_sequences"}).model_dump(exclude_none=True)
    if "stop" in sampling:
        sampling["stop"] = tuple(sampling["stop"])
    return sampling


def _read_format(given: MessagesBody) -> tuple[str | None, str]:
    """Returns the format that the answer's text has to have, as JSON text in the form of chat completions (None for any
    text), and the field that has it. Errors: Refused (400) for another format than a JSON schema.
    """
    asked, where = (given.output_config.format if given.output_config else None), "output_config.format"
    if not asked:
        asked, where = given.output_format, "output_format"
    return read_format(read_body(Format, asked, where), where) if asked else None, where


def _unfollowed(given: MessagesBody) -> Iterable[str]:
    """Yields the names of the fields that ask for something, and have no effect."""
    late = [
        item.get("content") for item in given.messages if isinstance(item, Mapping) and item.get("role") == "system"
    ]
    if any(map(is_for_accounts, [given.system, *late])):
        yield BILLING.rstrip(":")
    for name, value in (given.model_extra or {}).items():
        if name not in QUIET and asks_something(value):
            yield name
    for name, value in ((given.output_config and given.output_config.model_extra) or {}).items():
        if asks_something(value):
            yield f"output_config.{name}"
    yield from left_out_of(given.messages)


def _unfollowed_of_tools(given: MessagesBody, custom: Sequence[Any], hosted: Mapping[str, str]) -> Iterable[str]:
    """Yields such names of fields of tools that the agent describes itself, and of the choice of tools."""
    for tool in given.tools or ():
        if tool.get("type") in _DESCRIBED:
            unread = tool.keys() - _TOOL_FIELDS - _QUIET_OF_TOOLS
            yield from (f"tools.{name}" for name in unread if asks_something(tool[name]))
    if given.tool_choice:
        for name, value in (given.tool_choice.model_extra or {}).items():
            if asks_something(value):
                yield f"tool_choice.{name}"
        if _is_in_vain(given.tool_choice, custom, hosted):
            yield f"tool_choice.{given.tool_choice.type}"
