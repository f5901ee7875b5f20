"""Reads chat completions' bodies of OpenAI's API, as a server does, and writes a model's answer as JSON or as events.

Token ids and their logprobs are written as vLLM writes them (`prompt_token_ids`, `token_ids`); tokens are named by
their ids.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import BaseModel, Field

from ray_gym.messages import Message
from ray_gym.models.base import Completion, TokenIds
from ray_gym.openai_api.request import (
    MOST_MESSAGES,
    ApiRequest,
    Body,
    Format,
    Json,
    is_cut,
    read,
    read_choice,
    read_format,
    read_messages,
    read_sampling,
    read_tools,
    refuse_fields,
)

_LOWEST_LOGPROB = -9999.0
"""Least logprob that is written: JSON has no infinity."""
_UNDONE = ("functions", "function_call", "audio", "web_search_options", "structured_outputs")
"""Fields that are refused, since nothing here does what they ask for."""


class ChatStreamOptions(BaseModel):
    """This is the field `stream_options` of a body."""

    include_usage: bool | None = None


class ChatBody(Body):
    """This is the body of a request for a chat completion."""

    messages: Annotated[list[Any], Field(min_length=1, max_length=MOST_MESSAGES)]
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    n: Annotated[int, Field(ge=1, le=1)] | None = None
    logprobs: bool | None = None
    return_token_ids: bool | None = None
    stream_options: ChatStreamOptions | None = None
    response_format: Format | None = None


def read_chat(body: Any) -> ApiRequest:
    """Reads a body of chat completions. Errors: Refused."""
    given = read(ChatBody, body)
    refuse_fields(given, _UNDONE)
    tools = read_tools(given.tools or ())
    choice, allowed = read_choice(given.tool_choice, tools)
    limit = given.max_completion_tokens if given.max_completion_tokens is not None else given.max_tokens
    return ApiRequest(
        model=given.model,
        messages=read_messages(given.messages, "messages"),
        tools=tools,
        allowed_tools=allowed,
        tool_choice=choice,
        parallel_tool_calls=given.parallel_tool_calls is not False,
        sampling=read_sampling(given, limit),
        stream=bool(given.stream),
        include_usage=bool(given.stream_options and given.stream_options.include_usage),
        response_format=read_format(given.response_format, "response_format"),
        logprobs=bool(given.logprobs),
        token_ids=bool(given.return_token_ids),
    )


def chat_completion(
    completion: Completion, asked: ApiRequest, id: str, created: int, prompt_ids: TokenIds | None = None
) -> Json:
    """Writes an answer as JSON.

    `prompt_ids`, int32 [n], is the whole prompt, where the completion's are only what was new.
    """
    choice: Json = {
        "index": 0,
        "message": {"role": "assistant", "refusal": None, **_said(completion.message)},
        "logprobs": _logprobs(completion, asked),
        "finish_reason": _finish_reason(completion),
    }
    answer: Json = {**_head(asked, id, created, "chat.completion"), "choices": [choice], "usage": usage(completion)}
    if asked.token_ids and completion.has_tokens:
        choice["token_ids"] = completion.token_ids.tolist()
        answer["prompt_token_ids"] = _prompt(completion, prompt_ids)
    return answer


def chat_events(
    completion: Completion, asked: ApiRequest, id: str, created: int, prompt_ids: TokenIds | None = None
) -> Iterator[str]:
    """Writes the same as server-sent events: all that was said in one piece, how it ended, and the usage if that was
    asked for.
    """
    head = _head(asked, id, created, "chat.completion.chunk")
    said = _said(completion.message)
    for index, call in enumerate(said.get("tool_calls", ())):
        call["index"] = index
    first: Json = {"index": 0, "delta": {"role": "assistant", **said}, "finish_reason": None}
    first["logprobs"] = _logprobs(completion, asked)
    opening: Json = {**head, "choices": [first]}
    if asked.token_ids and completion.has_tokens:
        first["token_ids"] = completion.token_ids.tolist()
        opening["prompt_token_ids"] = _prompt(completion, prompt_ids)
    yield _event(opening)
    last = {"index": 0, "delta": {}, "logprobs": None, "finish_reason": _finish_reason(completion)}
    yield _event({**head, "choices": [last]})
    if asked.include_usage:
        yield _event({**head, "choices": [], "usage": usage(completion)})
    yield "data: [DONE]\n\n"


def usage(completion: Completion) -> Json:
    """Returns the tokens of an answer as chat completions spell them."""
    return {
        "prompt_tokens": completion.prompt_tokens,
        "completion_tokens": completion.generated_tokens,
        "total_tokens": completion.prompt_tokens + completion.generated_tokens,
        "prompt_tokens_details": {"cached_tokens": completion.cached_tokens},
    }


def _head(asked: ApiRequest, id: str, created: int, kind: str) -> Json:
    return {"id": id, "object": kind, "created": created, "model": asked.model}


def _said(message: Message) -> Json:
    said: Json = {"content": message.content if message.content or not message.tool_calls else None}
    if message.reasoning:
        said["reasoning"] = message.reasoning
    if message.tool_calls:
        said["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    return said


def _finish_reason(completion: Completion) -> str:
    if is_cut(completion):
        return "length"
    return "tool_calls" if completion.message.tool_calls else "stop"


def token_logprobs(completion: Completion) -> list[Json]:
    """Returns each generated token, named by its id, with its logprob."""
    drawn = zip(completion.token_ids.tolist(), completion.logprobs.tolist(), strict=True)
    return [{"token": f"token_id:{token}", "logprob": max(logprob, _LOWEST_LOGPROB)} for token, logprob in drawn]


def _logprobs(completion: Completion, asked: ApiRequest) -> Json | None:
    if not asked.logprobs or not len(completion.token_ids):
        return None
    content = [{**entry, "bytes": None, "top_logprobs": []} for entry in token_logprobs(completion)]
    return {"content": content, "refusal": None}


def _prompt(completion: Completion, prompt_ids: TokenIds | None) -> list[int]:
    ids: list[int] = (completion.prompt_ids if prompt_ids is None else prompt_ids).tolist()
    return ids


def _event(data: Json) -> str:
    return f"data: {json.dumps(data)}\n\n"
