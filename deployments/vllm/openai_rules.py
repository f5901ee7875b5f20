"""Limits requests to vLLM's OpenAI server, which itself accepts fields that reach other parts of a deployment, numbers
that kill its engine, and requests that fill the memory.

Of grammars (json_schema, regex, ...) only the length is limited here; see `grammar_gate`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from functools import cache
from typing import Annotated, Any

from msgspec.structs import replace
from pydantic import Field, ValidationError

from ray_gym.deployments.chat.options import OWN_TEMPLATE_KWARGS
from ray_gym.messages import Message, arguments_object
from ray_gym.models.door import PATHS
from ray_gym.openai_api.chat import ChatStreamOptions
from ray_gym.openai_api.formats import Format, read_format
from ray_gym.openai_api.items import answer_items
from ray_gym.openai_api.json_numbers import refuse_constant
from ray_gym.openai_api.refused import bad_request
from ray_gym.openai_api.request import (
    MOST_MESSAGES,
    Body,
    Nested,
    read_body,
    read_choice,
    read_messages,
    read_sampling,
    read_tools,
    require_followed,
)
from ray_gym.openai_api.responses import TextOptions
from ray_gym.openai_api.rules import require_offered
from ray_gym.openai_api.sampling import MOST_TOKENS

MOST_ANSWERS = 16
"""Largest number of answers to one request (`n`), and of prompts in one call."""
LONGEST_GRAMMAR = 50_000
"""Largest length of a grammar, in characters of JSON."""

_OF_NO_USE = frozenset({"user", "service_tier", "safety_identifier", "prompt_cache_key", "prompt_cache_retention"})
"""Fields without a meaning here, which sessions accept whatever they hold; vLLM refuses values of other types."""

_Size = Annotated[int, Field(ge=0, lt=2**31)]
_Shown = Annotated[int, Field(ge=0, le=20)]
_Word = Annotated[str, Field(max_length=1000)]


class _Limits(Body):
    """Describes the limits of a request's fields, beside those that the bodies of sessions have (`Body`, and the
    sampling parameters of `SamplingChange`). vLLM checks all other fields.
    """

    n: Annotated[int, Field(ge=1, le=MOST_ANSWERS)] | None = None
    best_of: Annotated[int, Field(ge=1, le=1)] | None = None
    max_tokens: _Size | None = None
    min_tokens: _Size | None = None
    thinking_token_budget: _Size | None = None
    routed_experts_prompt_start: _Size | None = None
    stream_interval: _Size | None = None
    truncate_prompt_tokens: Annotated[int, Field(ge=-1, lt=2**31)] | None = None
    logprobs: bool | _Shown | None = None
    top_logprobs: _Shown | None = None
    prompt_logprobs: _Shown | None = None
    bad_words: Annotated[list[_Word], Field(max_length=100)] | None = None
    stop_token_ids: Annotated[list[_Size], Field(max_length=100)] | None = None
    logprob_token_ids: Annotated[list[_Size], Field(max_length=100)] | None = None
    allowed_token_ids: Annotated[list[_Size], Field(max_length=500_000)] | None = None
    logit_bias: Annotated[dict[str, Annotated[float, Field(ge=-100, le=100)]], Field(max_length=1000)] | None = None


class _ChatLimits(_Limits):
    """Describes the limits of a request for a chat completion."""

    messages: Annotated[list[Any], Field(max_length=MOST_MESSAGES)]
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    logprobs: bool | None = None
    return_token_ids: bool | None = None
    stream_options: ChatStreamOptions | None = None


class _ResponsesLimits(_Limits):
    """Describes the limits of a request of the Responses API."""

    input: str | Annotated[list[Any], Field(max_length=MOST_MESSAGES)]
    max_output_tokens: int | None = None


def check_body(body: bytes, model: str, takes_seeds: bool, known: Collection[str] | None = None) -> bytes:
    """Returns the body of a request as vLLM gets it, with `model` as the model's name. `takes_seeds`: True if the model
    takes seeds of requests. `known`: names of the fields that vLLM reads, which drops others without a word; None: all.
    Errors: Refused (400) if it is no JSON object, or if a field is over its limit, is not offered or not known.
    """
    try:
        asked = json.loads(body, parse_constant=refuse_constant)
        if not isinstance(asked, dict):
            raise bad_request("expected an object")
        _check(asked, takes_seeds)
        require_followed(asked, asked if known is None else known)
        _read_objects(asked)
        _read_messages(asked)
        _read_tools(asked)
        _drop_empty_tools(asked)
        for name in _OF_NO_USE & asked.keys():
            del asked[name]
        if not asked.get("stream"):
            asked.pop("stream_options", None)  # of no use, too, and refused
        return _json({**asked, "model": model}).encode()
    except UnicodeError:
        raise bad_request("the body has text that is not UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise bad_request(f"the body is not JSON: {error}") from None


class _Reasoning(Nested):
    """Describes the field `reasoning` of a request, of which vLLM follows the effort."""

    effort: Any = None
    summary: Any = None
    generate_summary: Any = None


def _read_objects(asked: dict[str, Any]) -> None:
    """Reads the objects in a request as sessions do: vLLM drops fields in them that it does not know. Errors: Refused
    (400) that names the field.
    """
    form = asked.get("response_format")
    if isinstance(form, dict) and form.get("type") != "structural_tag":
        read_format(read_body(Format, form, "response_format"), "response_format")
    if asked.get("text") is not None:
        text = read_body(TextOptions, asked["text"], "text")
        if text.verbosity not in (None, "medium"):
            raise bad_request("text.verbosity is not followed here; leave it out", "text")
        read_format(text.format, "text")
    if asked.get("reasoning") is not None:
        read_body(_Reasoning, asked["reasoning"], "reasoning")


def _read_messages(asked: dict[str, Any]) -> None:
    """Reads the messages as sessions do, and writes them in the form that vLLM takes. Otherwise the two doors would
    refuse other messages, and it would depend on the chat template how parts are joined. Errors: Refused (400).
    """
    if isinstance(asked.get("input"), list):
        read = map(_with_objects, read_messages(asked["input"], "input"))
        asked["input"] = [item for number, message in enumerate(read) for item in _as_items(message, number)]
    elif "input" in asked:
        read_messages(asked["input"], "input")
    if "messages" in asked:
        read = map(_with_objects, read_messages(asked["messages"], "messages"))
        asked["messages"] = [_as_chat(message) for message in read]


def _with_objects(message: Message) -> Message:
    """Returns a message with the arguments of its calls as the objects that a session's prompt shows: vLLM leaves out
    arguments that are none.
    """
    calls = (replace(call, arguments=_json(arguments_object(call.arguments))) for call in message.tool_calls)
    return replace(message, tool_calls=tuple(calls))


def _as_chat(message: Message) -> dict[str, Any]:
    """Returns a message in the form of chat completions."""
    body: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.reasoning is not None:
        body["reasoning"] = message.reasoning
    if message.tool_calls:
        body["tool_calls"] = [call.as_openai() for call in message.tool_calls]
    if message.tool_call_id is not None:
        body["tool_call_id"] = message.tool_call_id
    return body


def _as_items(message: Message, number: int) -> list[dict[str, Any]]:
    """Returns a message in the form of the Responses API: several items for an answer with calls or reasoning."""
    if message.role == "assistant":
        return answer_items(message, str(number), cut=False)
    if message.role == "tool":
        return [{"type": "function_call_output", "call_id": message.tool_call_id, "output": message.content}]
    return [{"type": "message", "role": message.role, "content": message.content}]


def _read_tools(asked: dict[str, Any]) -> None:
    """Reads the tools and the choice of them as sessions do, and writes the tools in the form of chat completions or,
    beside `input`, of the Responses API. Of tools that a choice allows, vLLM gets these alone: it takes no such choice.
    Errors: Refused (400).
    """
    tools, given_choice = read_tools(asked.get("tools") or []), asked.get("tool_choice")
    choice, allowed = read_choice(given_choice, tools)
    if not tools:
        return
    forms = [schema.as_openai() for schema in tools]
    for form, given in zip(forms, asked["tools"], strict=True):
        if (given.get("function") or given).get("strict") is not None:
            form["function"]["strict"] = (given.get("function") or given)["strict"]
    if isinstance(given_choice, dict) and given_choice.get("type") == "allowed_tools":
        asked["tool_choice"], names = choice, {tool.name for tool in allowed}
        forms = [form for form in forms if form["function"]["name"] in names]
    asked["tools"] = [{"type": "function", **form["function"]} for form in forms] if "input" in asked else forms


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _drop_empty_tools(asked: dict[str, Any]) -> None:
    """Removes a list of no tools, and the choice among none, which sessions accept and vLLM refuses."""
    if not asked.get("tools"):
        asked.pop("tools", None)
        if asked.get("tool_choice") in ("auto", "none"):
            del asked["tool_choice"]


def _check(asked: dict[str, Any], takes_seeds: bool) -> None:
    require_offered(asked)
    if not takes_seeds and asked.get("seed") is not None:
        raise bad_request("seed: this model runs on a CPU, where it can't take one; leave it out", "seed")
    _check_limits(asked)
    _check_prompts(asked.get("prompt"))
    for field in ("structured_outputs", "response_format", "text"):
        if asked.get(field) and len(json.dumps(asked[field])) > LONGEST_GRAMMAR:
            raise bad_request(f"{field}: longer than {LONGEST_GRAMMAR} characters", field)
    given = asked.get("chat_template_kwargs")
    if isinstance(given, dict) and (taken := sorted(OWN_TEMPLATE_KWARGS & given.keys())):
        raise bad_request(
            f"chat_template_kwargs: {', '.join(taken)}: set by the rendering itself", "chat_template_kwargs"
        )


def _check_limits(asked: dict[str, Any]) -> None:
    """Checks the limits of a request's fields, and makes the largest number of tokens at most `MOST_TOKENS`, as
    sessions do. Errors: Refused (400) that names the field.
    """
    kind, limited_by = next((limits for field, limits in _LIMITS.items() if field in asked), (_Limits, ()))
    try:
        given = kind.model_validate({**asked, "model": "any"})
    except ValidationError as error:
        problem = error.errors(include_input=False, include_url=False)[0]
        field = str(problem["loc"][0])
        raise bad_request(f"{field}: {problem['msg']}", field) from None
    read_sampling(given, limited_by)
    for field in limited_by:
        if asked.get(field) is not None:
            asked[field] = min(asked[field], MOST_TOKENS)


_LIMITS: Mapping[str, tuple[type[_Limits], tuple[str, ...]]] = {
    "messages": (_ChatLimits, ("max_completion_tokens", "max_tokens")),
    "input": (_ResponsesLimits, ("max_output_tokens",)),
}
"""Limits of requests, and the fields for the largest number of tokens, by the field that holds the conversation."""


def _check_prompts(prompts: Any) -> None:
    if isinstance(prompts, list) and len(prompts) > MOST_ANSWERS and not isinstance(prompts[0], int):
        raise bad_request(f"prompt: at most {MOST_ANSWERS} in one request", "prompt")


@cache
def known_fields(path: str) -> frozenset[str]:
    """Returns the names of the fields that vLLM reads of a request at a path of `PATHS`."""
    from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
    from vllm.entrypoints.openai.completion.protocol import CompletionRequest
    from vllm.entrypoints.openai.responses.protocol import ResponsesRequest

    classes = {PATHS[0]: ChatCompletionRequest, PATHS[1]: CompletionRequest, PATHS[2]: ResponsesRequest}
    return frozenset(classes[path].model_fields)
