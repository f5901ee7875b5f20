"""Reads bodies of OpenAI's Responses API, and writes a model's answer as JSON or as events.

It stores no responses: a body holds the whole conversation, unless its receiver remembers earlier answers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any

from pydantic import Field

from ray_gym.models.base import Completion
from ray_gym.openai_api.chat import token_logprobs
from ray_gym.openai_api.formats import Format, read_format
from ray_gym.openai_api.input_items import plain_items, with_added
from ray_gym.openai_api.items import Item, answer_items, cut_reason
from ray_gym.openai_api.left_out import left_out_names
from ray_gym.openai_api.offered_tools import as_known, plain_choice, read_offered
from ray_gym.openai_api.refused import bad_request
from ray_gym.openai_api.request import (
    MOST_MESSAGES,
    ApiRequest,
    Body,
    Json,
    Nested,
    asked_in_vain,
    is_cut,
    read_body,
    read_choice,
    read_messages,
    read_sampling,
    read_tools,
    refuse_unread,
)

LOGPROBS = "message.output_text.logprobs"
"""Value of `include` that asks for logprobs."""
_ECHOED = ("instructions", "temperature", "top_p", "max_output_tokens", "metadata", "tool_choice")


class TextOptions(Nested):
    """Describes the field `text` of a body. How many words there should be is not followed."""

    format: Format | None = None
    verbosity: Any = None


class ReasoningOptions(Nested):
    """Describes the field `reasoning` of a body, of which nothing is followed: the model thinks as its template has it."""

    effort: Any = None
    context: Any = None
    mode: Any = None
    summary: Any = None
    """Has no effect: an answer has all thoughts."""
    generate_summary: Any = None
    """Earlier name of `summary`."""


class ResponsesBody(Body):
    """Describes the body of a request for a response."""

    input: Any
    instructions: str | None = None
    max_output_tokens: int | None = None
    include: list[str] | None = None
    """Logprobs are given. Others have no effect: they are of tools that do not exist here, or of sealed thoughts."""
    stream_options: Json | None = None
    """Have no effect: they would only shape the events."""
    metadata: Json | None = None
    previous_response_id: Annotated[str, Field(min_length=1, max_length=512)] | None = None
    text: TextOptions | None = None
    reasoning: ReasoningOptions | None = None


def _read_input(given: Any) -> list[Any]:
    """Returns the items of a request's `input`, where a text is one message of the user. Errors: Refused (400)."""
    if not isinstance(given, str | list):
        raise bad_request("input: it should be a text or a list of items", "input")
    if not given:
        raise bad_request("input: there are no messages in it", "input")
    if isinstance(given, list) and len(given) > MOST_MESSAGES:
        raise bad_request(f"input: more than {MOST_MESSAGES} items", "input")
    return [{"role": "user", "content": given}] if isinstance(given, str) else given


def read_responses(body: Any, remembers: bool = False) -> ApiRequest:
    """Reads the body of a request of the Responses API, decoded from JSON. Its `instructions` become the first message,
    of the system.

    `remembers`: True if a call may continue an earlier answer (`previous_response_id`). Errors: Refused (400) for a
    field that is wrong or not supported.
    """
    given = read_body(ResponsesBody, body)
    refuse_unread(given)
    if given.previous_response_id is not None and not remembers:
        raise bad_request("previous_response_id is not followed here; leave it out", "previous_response_id")
    sent = _read_input(given.input)
    offered = read_offered(with_added(given.tools or (), sent))
    tools = read_tools(offered.functions)
    choice, allowed = read_choice(plain_choice(given.tool_choice, offered), tools)
    items = plain_items(sent, offered)
    names = [f"input[{number}]" for number, _ in items]
    instructed = [{"role": "system", "content": given.instructions}] if given.instructions else []
    return ApiRequest(
        model=given.model,
        messages=read_messages(
            [*instructed, *(item for _, item in items)],
            "input",
            is_whole=given.previous_response_id is None,
            names=["instructions"] * len(instructed) + names,
        ),
        tools=tools,
        allowed_tools=allowed,
        tool_choice=choice,
        parallel_tool_calls=given.parallel_tool_calls is not False,
        sampling=read_sampling(given, ("max_output_tokens",)),
        stream=bool(given.stream),
        response_format=read_format(given.text.format if given.text else None, "text.format"),
        format_field="text.format",
        after=given.previous_response_id,
        instructed=bool(instructed),
        logprobs=LOGPROBS in (given.include or ()),
        left_out=left_out_names([*asked_in_vain(given), *offered.left_out]),
        known_as=offered.known_as,
        echo={**{name: getattr(given, name, None) for name in _ECHOED}, "tools": given.tools or []},
    )


def response(completion: Completion, asked: ApiRequest, id: str, created: int) -> Json:
    """Returns a completion as the JSON data of a response. `id`: the response's id. `created`: seconds since 1970."""
    reason = cut_reason(completion.finish_reason)
    return {
        **_response_head(asked, id, created),
        "status": "incomplete" if reason else "completed",
        "incomplete_details": {"reason": reason} if reason else None,
        "output": _output(completion, asked, id),
        "usage": {
            "input_tokens": completion.prompt_tokens,
            "input_tokens_details": {"cached_tokens": completion.cached_tokens, "cache_write_tokens": 0},
            "output_tokens": completion.generated_tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": completion.prompt_tokens + completion.generated_tokens,
        },
    }


def response_events(completion: Completion, asked: ApiRequest, id: str, created: int) -> Iterator[str]:
    """Yields a completion as the server-sent events of a response, with each text in one piece. The last event holds
    the same JSON data as `response` returns.
    """
    whole = response(completion, asked, id, created)
    events: list[Json] = [
        {"type": f"response.{stage}", "response": _response_head(asked, id, created)} for stage in _OPENING
    ]
    for index, item in enumerate(whole["output"]):
        events += [{"output_index": index, **event} for event in _item_events(item)]
    events.append({"type": f"response.{whole['status']}", "response": whole})
    for number, event in enumerate(events):
        yield f"event: {event['type']}\ndata: {json.dumps({**event, 'sequence_number': number})}\n\n"


_OPENING = ("created", "in_progress")


def _response_head(asked: ApiRequest, id: str, created: int) -> Json:
    return {
        "id": id,
        "object": "response",
        "created_at": created,
        "model": asked.model,
        "status": "in_progress",
        "error": None,
        "incomplete_details": None,
        "output": [],
        "parallel_tool_calls": asked.parallel_tool_calls,
        "tools": [],
        "store": False,
        "previous_response_id": asked.after,
        **asked.echo,
        "tool_choice": asked.echo.get("tool_choice") or asked.tool_choice,
    }


def _output(completion: Completion, asked: ApiRequest, id: str) -> list[Item]:
    items = answer_items(completion.message, id, is_cut(completion))
    logprobs = [{**entry, "bytes": [], "top_logprobs": []} for entry in token_logprobs(completion)]
    for item in items:
        for part in item.get("content", ()):
            part["logprobs"] = logprobs if asked.logprobs else []
    return [as_known(item, asked.known_as) for item in items]


def _item_events(item: Item) -> Iterator[Json]:
    """Yields the events of one item of the output, from its beginning to its end."""
    empty: Json = _EMPTY.get(item["type"], {"arguments": ""})
    begun = {**item, **empty, **({"status": "in_progress"} if "status" in item else {})}
    yield {"type": "response.output_item.added", "item": begun}
    for event in _INNER.get(item["type"], _argument_events)(item):
        yield {"item_id": item["id"], **event}
    yield {"type": "response.output_item.done", "item": item}


def _text_events(item: Item) -> Iterator[Json]:
    (part,) = item["content"]
    text, logprobs = part["text"], part["logprobs"]
    place: Json = {"content_index": 0}
    yield {"type": "response.content_part.added", **place, "part": {**part, "text": "", "logprobs": []}}
    yield {"type": "response.output_text.delta", **place, "delta": text, "logprobs": logprobs}
    yield {"type": "response.output_text.done", **place, "text": text, "logprobs": logprobs}
    yield {"type": "response.content_part.done", **place, "part": part}


def _reasoning_events(item: Item) -> Iterator[Json]:
    (part,) = item["summary"]
    place: Json = {"summary_index": 0}
    yield {"type": "response.reasoning_summary_part.added", **place, "part": {**part, "text": ""}}
    yield {"type": "response.reasoning_summary_text.delta", **place, "delta": part["text"]}
    yield {"type": "response.reasoning_summary_text.done", **place, "text": part["text"]}
    yield {"type": "response.reasoning_summary_part.done", **place, "part": part}


def _argument_events(item: Item) -> Iterator[Json]:
    yield {"type": "response.function_call_arguments.delta", "delta": item["arguments"]}
    done = {"name": item["name"], "arguments": item["arguments"]}
    yield {"type": "response.function_call_arguments.done", **done}


def _input_events(item: Item) -> Iterator[Json]:
    """Yields the events of a call of a free-form tool."""
    yield {"type": "response.custom_tool_call_input.delta", "delta": item["input"]}
    yield {"type": "response.custom_tool_call_input.done", "input": item["input"]}


_EMPTY: Mapping[str, Json] = {
    "message": {"content": []},
    "reasoning": {"summary": []},
    "custom_tool_call": {"input": ""},
}
"""Fields of an item that has only begun, by its type."""
_INNER: Mapping[str, Callable[[Item], Iterator[Json]]] = {
    "message": _text_events,
    "reasoning": _reasoning_events,
    "custom_tool_call": _input_events,
}
"""Functions that yield the events between an item's beginning and its end, by its type."""
