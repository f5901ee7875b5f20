"""Describes a request to a model in OpenAI's formats, either for a chat completion or of the Responses API.

`chat` and `responses` read the bodies and write the answers, without I/O. Any mistake in a body is a `Refused` with
status 400 that names the field.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from ray_gym.messages import Message, ToolChoice, ToolSchema
from ray_gym.models.base import Completion, CompletionRequest, Sampling
from ray_gym.openai_api.conversation import EarlierMessage, read_request_messages
from ray_gym.openai_api.offered_tools import AgentTool
from ray_gym.openai_api.refused import bad_request
from ray_gym.openai_api.sampling import SamplingChange

Json = dict[str, Any]
Seed = Annotated[int, Field(ge=-(2**63), lt=2**63)]
MOST_TOOLS = 1_000
"""Largest number of tools of a body."""
MOST_MESSAGES = 10_000
"""Largest number of messages of a conversation, and also of its tool calls. More would hold up the server's event loop.
"""


class CacheOptions(BaseModel):
    """Describes the field `prompt_cache_options` of a body. Its other fields would change no answer, and have no effect."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    prewarm: Literal[False] | None = None
    """Must be false: an answer that nobody wants would be a step."""


class Body(BaseModel):
    """Describes the fields that the bodies of both APIs have. Of other fields, `refuse_unread` refuses those that ask
    for something.
    """

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)

    model: Annotated[str, Field(min_length=1, max_length=256)]
    tools: Annotated[list[Any], Field(max_length=MOST_TOOLS)] | None = None
    tool_choice: str | Json | None = None
    parallel_tool_calls: bool | None = None
    stream: bool | None = None
    seed: Seed | None = None
    top_logprobs: Annotated[int, Field(ge=0, le=0)] | None = None
    """Must be 0: only the logprobs of the tokens that were drawn are known."""
    logit_bias: Annotated[Json, Field(max_length=0)] | None = None
    prompt_cache_options: CacheOptions | None = None


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """Holds a request to a model, in one form for both of OpenAI's APIs."""

    model: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSchema, ...] = ()
    allowed_tools: tuple[ToolSchema, ...] = ()
    """Tools that may be called; if `tool_choice` is required, one of them must be."""
    tool_choice: ToolChoice = "auto"
    parallel_tool_calls: bool = True
    sampling: Mapping[str, Any] = field(default_factory=dict)
    """Fields of `Sampling` that the body sets; the server sets the others."""
    stream: bool = False
    include_usage: bool = False
    logprobs: bool = False
    token_ids: bool = False
    response_format: str | None = None
    """Format of the answer, as JSON text in the form of chat completions; None for any text."""
    format_field: str = "response_format"
    """Name of the body's field that has the format."""
    left_out: tuple[str, ...] = ()
    """Fields and tools of the body that ask for what isn't here, and that the caller can do without."""
    known_as: Mapping[str, AgentTool] = field(default_factory=dict)
    """Tools that the agent knows in another way than as a function of this name."""
    after: str | None = None
    """Id of the answer that the messages continue; None if they are the whole conversation."""
    instructed: bool = False
    """True if the first message holds the instructions of this call."""
    echo: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the body that the answer repeats."""

    def request(self, usual: Sampling, session_id: str, seed: int) -> CompletionRequest:
        """Returns the request to a model, as one outside of any episode. `usual`: sampling parameters that hold where
        the body sets none. `session_id`: the same for all calls of a conversation.
        """
        return CompletionRequest(
            messages=list(self.messages),
            sampling=replace(usual, **self.sampling),
            session_id=session_id,
            seed=seed,
            tools=self.tools,
            allowed_tools=self.allowed_tools,
            tool_choice=self.tool_choice,
            parallel_tool_calls=self.parallel_tool_calls,
            response_format=self.response_format,
        )


ReadBody = TypeVar("ReadBody", bound=BaseModel)


def read_body(
    kind: type[ReadBody], body: Any, param: str | None = None, names: Mapping[str, str] | None = None
) -> ReadBody:
    """Returns a body as a pydantic model of the class `kind`. `param`: field that holds it; None if it is the whole
    request, or fields of that. `names`: the caller's own names of fields that have others here. Errors: Refused (400)
    that names the first field that is wrong.
    """
    try:
        return kind.model_validate(body)
    except ValidationError as error:
        problem = error.errors(include_input=False, include_url=False)[0]
        place = [*map(str, problem["loc"][:3])]
        place[:1] = [(names or {}).get(one, one) for one in place[:1]]
        where = ".".join(filter(None, (param, *place)))[:200]
        raise bad_request(f"{where}: {problem['msg']}" if where else problem["msg"], param or where or None) from None


NEUTRAL: Mapping[str, Any] = {
    "add_generation_prompt": True,
    "best_of": 1,
    "include_reasoning": True,
    "length_penalty": 1,
    "min_tokens": 0,
    "modalities": ["text"],
    "priority": 0,
    "skip_special_tokens": True,
    "spaces_between_special_tokens": True,
    "truncation": "disabled",
    "verbosity": "medium",
}
"""Fields of OpenAI's and vLLM's requests that are not followed here, with the value that asks for nothing. Of any
field, null, an empty text and an empty list ask for nothing.
"""
_IDLE: Mapping[str, Collection[str]] = {"function_call": ("auto", "none")}
"""Such fields of which several values ask for nothing: without `functions`, there is none to call."""
OFF = frozenset(
    {"add_special_tokens", "background", "continue_final_message", "echo", "enable_response_messages", "ignore_eos"}
    | {"include_stop_str_in_output", "logprobs", "return_hidden_states", "return_prompt_text", "return_token_ids"}
    | {"return_token_offsets", "use_beam_search", "watermarking"}
)
"""Fields whose default is false, so that false asks for nothing. Of any other field it does: `enable_thinking: false`."""
EMPTY = frozenset(
    {"chat_template_kwargs", "ec_transfer_params", "extra_body", "functions", "kv_transfer_params", "media_io_kwargs"}
    | {"mm_processor_kwargs", "modalities", "truncation", "verbosity", "vllm_xargs"}
)
"""Fields of which an empty object asks for nothing. Of any other field it does: `web_search_options: {}`."""
HARMLESS = frozenset(
    {"user", "metadata", "client_metadata", "store", "service_tier", "safety_identifier", "prediction"}
    | {"cache_salt", "prompt_cache_key", "prompt_cache_retention", "stream_interval", "truncation_side"}
    | {"return_tokens_as_token_ids", "mm_payload", "routed_experts_prompt_start", "cache_control", "usage"}
)
"""Fields that change neither the prompt nor the answer, whatever their values."""


WITHOUT = frozenset(
    {"access_programs", "background", "background_options", "context_management", "image", "max_tool_calls"}
    | {"moderation", "multi_agent", "reasoning_effort", "truncation", "verbosity", "web_search_options"}
    | {"plugins", "provider", "reasoning", "thinking", "transforms"}  # those of routers between agents and models
)
"""Fields that ask for a service or a manner which isn't here, and that a caller can do without."""
_PARTS_WITHOUT = (
    ("reasoning", "effort", None),
    ("reasoning", "context", "auto"),
    ("reasoning", "mode", "standard"),
    ("text", "verbosity", "medium"),
)
"""Such fields within other fields, with the value beside null that asks for nothing."""


def asked_in_vain(body: Body) -> list[str]:
    """Returns the names of the fields in `WITHOUT` by which a body asks for something, and of such parts of `reasoning` and
    `text`.
    """
    asked = body.model_extra or {}
    found = [name for name in WITHOUT & asked.keys() if not asks_for_nothing(name, asked[name])]
    parts = [(of, name, neutral) for of, name, neutral in _PARTS_WITHOUT if of in type(body).model_fields]
    held = [(f"{of}.{name}", getattr(getattr(body, of), name, None), neutral) for of, name, neutral in parts]
    return sorted([*found, *(name for name, value, neutral in held if value not in (None, neutral))])


def refuse_unread(body: Body) -> None:
    """Checks that a body asks for nothing that is not read here: that its fields are those of the body's class and of
    `SamplingChange`, or are in `HARMLESS`, or have values that ask for nothing. Errors: Refused (400) that
    names the field.
    """
    require_followed(body.model_extra or {}, (SamplingChange.model_fields.keys() | WITHOUT) - {"max_tokens"})


def require_followed(asked: Mapping[str, Any], known: Collection[str]) -> None:
    """Checks that each field is `known`, in `HARMLESS`, or has a value that asks for nothing. Errors: Refused (400) that
    names the first that is not.
    """
    for name, value in sorted(asked.items()):
        if name not in known and name not in HARMLESS and not asks_for_nothing(name, value):
            raise bad_request(f"{name} is not followed here; leave it out", name)


def asks_for_nothing(name: str, value: Any) -> bool:
    """Returns True if a value of a field that is not followed asks for nothing."""
    if isinstance(value, bool):
        return value is NEUTRAL.get(name) or (not value and name in OFF)
    if value == {} and isinstance(value, dict):
        return name in EMPTY
    neutral = NEUTRAL.get(name)
    if isinstance(value, str) and value in _IDLE.get(name, ()):
        return True
    return value is None or value in ("", []) or (not isinstance(neutral, bool) and value == neutral)


_OF_A_CHOICE = frozenset({"type", "name", "function", "allowed_tools", "mode", "tools"})
"""Fields of a choice of tools."""


class Nested(BaseModel):
    """This is the base class of objects in a body. As in the body itself, a field that is not read is refused by name,
    unless it asks for nothing.
    """

    model_config = ConfigDict(extra="allow", frozen=True, strict=True, protected_namespaces=())

    @model_validator(mode="after")
    def _require_read(self) -> Self:
        for name, value in sorted((self.model_extra or {}).items()):
            if name not in HARMLESS and not asks_for_nothing(name, value):
                raise PydanticCustomError("not_followed", "{name} is not followed here; leave it out", {"name": name})
        return self


def read_messages(
    items: Any, param: str, is_whole: bool = True, names: Sequence[str] | None = None
) -> tuple[Message, ...]:
    """Returns the messages of a body. `param`: field that errors name. `is_whole`: False if the messages continue
    earlier ones. `names`: the caller's names of the items; None if the field has these items and no others. Errors:
    those of `make_messages`; Refused (400) if they can't be read; for whole conversations also if a call has no result,
    or a result no call.
    """
    return make_messages(lambda: read_request_messages(items, is_whole, param, names), param)


def make_messages(read: Callable[[], Any], param: str) -> tuple[Message, ...]:
    """Returns the messages that `read` gives, dicts with the fields of `EarlierMessage`. `param`: field that errors
    name. Errors: Refused (400) for a ValueError of `read`, and if there are none, or they have more than
    `MOST_MESSAGES` tool calls.
    """
    try:
        plain = read()
        messages = tuple(EarlierMessage.model_validate(item).as_message().encodable() for item in plain)
    except ValidationError as error:
        problem = error.errors(include_input=False, include_url=False)[0]
        raise bad_request(f"{param}: {problem['loc'][0]}: {problem['msg']}", param) from None
    except (ValueError, AttributeError) as error:
        raise bad_request(f"{param}: {error}", param) from None
    if not messages:
        raise bad_request(f"{param}: there are no messages in it", param)
    if sum(len(message.tool_calls) for message in messages) > MOST_MESSAGES:
        raise bad_request(f"{param}: more than {MOST_MESSAGES} tool calls", param)
    return messages


def read_tools(given: Sequence[Any]) -> tuple[ToolSchema, ...]:
    """Returns the tools of a body.

    Errors: Refused (400) if one is no function with a name, its parameters are no object, two have the same name, or
    there are more than `MOST_TOOLS`.
    """
    if len(given) > MOST_TOOLS:
        raise bad_request(f"tools: more than {MOST_TOOLS}", "tools")
    try:
        tools = tuple(map(ToolSchema.from_openai, given))
    except (ValueError, TypeError) as error:
        raise bad_request(f"tools: {error}", "tools") from None
    names = [tool.name for tool in tools]
    if len(set(names)) < len(names):
        raise bad_request("tools: two of them have the same name", "tools")
    return tools


def read_choice(given: str | Json | None, tools: tuple[ToolSchema, ...]) -> tuple[ToolChoice, tuple[ToolSchema, ...]]:
    """Returns the tool choice (`auto`, `none` or `required`), and the tools that may be called under it. None as
    `given` means `auto`; a choice of one function becomes `required` with this tool alone.

    Errors: Refused (400) for an unknown choice, for `required` without tools, and if `tools` has none of those named.
    """
    if given is None:
        return "auto", tools
    if given in ("auto", "none"):
        return ("auto" if given == "auto" else "none"), tools
    if given == "required":
        return "required", _require_tools(tools)
    if isinstance(given, dict):
        require_choice_read(given)
    if isinstance(given, dict) and given.get("type") == "function":
        return "required", _select_tools(tools, [given])
    if isinstance(given, dict) and given.get("type") == "allowed_tools":
        inner = given.get("allowed_tools", given)
        mode, listed = (inner.get("mode"), inner.get("tools")) if isinstance(inner, dict) else (None, None)
        if mode in ("auto", "required") and isinstance(listed, list):
            return ("auto" if mode == "auto" else "required"), _select_tools(tools, listed)
    raise bad_request("tool_choice: expected auto, none, required, or one of the tools", "tool_choice")


def require_choice_read(given: Json) -> None:
    """Checks that all fields of a choice of tools are read. Errors: Refused (400) that names the first that is not."""
    for held in (given, given.get("function"), given.get("allowed_tools")):
        for name, value in sorted(held.items()) if isinstance(held, dict) else ():
            if name not in _OF_A_CHOICE and not asks_for_nothing(name, value):
                raise bad_request(f"tool_choice: {name} is not followed here; leave it out", "tool_choice")


def read_sampling(body: Body, limit_names: Sequence[str]) -> Mapping[str, Any]:
    """Returns the fields of `Sampling` that a body sets. `limit_names`: names of the body's fields for the largest number
    of generated tokens, of which the first that is set counts. Errors: Refused (400) for a value out of its range.
    """
    given = body.model_extra or {}
    said: Json = {name: given[name] for name in SamplingChange.model_fields if given.get(name) is not None}
    limited_by = next((name for name in limit_names if getattr(body, name) is not None), "max_tokens")
    if limited_by in limit_names:
        said["max_tokens"] = getattr(body, limited_by, None)
    if isinstance(said.get("stop"), str):
        said["stop"] = [said["stop"]]
    names = {"max_tokens": limited_by}
    sampling = read_body(SamplingChange, said, names=names).model_dump(exclude_none=True) if said else {}
    if "stop" in sampling:
        sampling["stop"] = tuple(sampling["stop"])
    return sampling if body.seed is None else {**sampling, "seed": body.seed}


def is_cut(completion: Completion) -> bool:
    """Returns True if an answer was cut: at its limit of tokens, at that of the model's context, or by a filter."""
    return completion.finish_reason != "stop"


def _require_tools(tools: tuple[ToolSchema, ...]) -> tuple[ToolSchema, ...]:
    if not tools:
        raise bad_request("tool_choice: there are no tools to call", "tool_choice")
    return tools


def _select_tools(tools: tuple[ToolSchema, ...], choices: Sequence[Any]) -> tuple[ToolSchema, ...]:
    """Returns the tools that `choices` name; names of no tool are ignored. Chat completions have the name under
    `function`, the Responses API has not. Errors: Refused (400) if no tool is left.
    """
    objects = [choice.get("function", choice) for choice in choices if isinstance(choice, dict)]
    names = {name for given in objects if isinstance(given, dict) and isinstance(name := given.get("name"), str)}
    found = tuple(tool for tool in tools if tool.name in names)
    if not found:
        raise bad_request("tool_choice: there is no tool of that name", "tool_choice")
    return found
