"""Reads bodies of requests for chat completions, as a server does, and writes a model's answer as JSON or as events.

Token ids and their logprobs are written as vLLM writes them (`prompt_token_ids`, `token_ids`); tokens are named by
their ids.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from ray_gym.messages import Message, ToolCall
from ray_gym.models.base import Completion, TokenIds
from ray_gym.openai_api.formats import Format, read_format
from ray_gym.openai_api.free_form import chat_call, plain_messages
from ray_gym.openai_api.left_out import left_out_names
from ray_gym.openai_api.offered_tools import plain_choice, read_offered
from ray_gym.openai_api.request import (
    MOST_MESSAGES,
    ApiRequest,
    Body,
    Json,
    asked_in_vain,
    is_cut,
    read_body,
    read_choice,
    read_messages,
    read_sampling,
    read_tools,
    refuse_unread,
)
from ray_gym.openai_api.sampling import LOWEST_LOGPROB


class ChatStreamOptions(BaseModel):
    """Describes the field `stream_options` of a body. Others than the usage would only shape the events, and have no
    effect.
    """

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    include_usage: bool | None = None


class ChatBody(Body):
    """Describes the body of a request for a chat completion."""

    messages: Annotated[list[Any], Field(min_length=1, max_length=MOST_MESSAGES)]
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    n: Annotated[int, Field(ge=1, le=1)] | None = None
    logprobs: bool | None = None
    return_token_ids: bool | None = None
    stream_options: ChatStreamOptions | None = None
    response_format: Format | None = None


def read_chat(body: Any) -> ApiRequest:
    """Reads the body of a request for a chat completion, decoded from JSON. Errors: Refused (400) for a field that is
    wrong or not supported.
    """
    given = read_body(ChatBody, body)
    refuse_unread(given)
    offered = read_offered(given.tools or ())
    tools = read_tools(offered.functions)
    choice, allowed = read_choice(plain_choice(given.tool_choice, offered), tools)
    messages = plain_messages(given.messages, offered.left_out)
    return ApiRequest(
        model=given.model,
        messages=read_messages(messages, "messages"),
        tools=tools,
        allowed_tools=allowed,
        tool_choice=choice,
        parallel_tool_calls=given.parallel_tool_calls is not False,
        sampling=read_sampling(given, ("max_completion_tokens", "max_tokens")),
        stream=bool(given.stream),
        include_usage=bool(given.stream_options and given.stream_options.include_usage),
        response_format=read_format(given.response_format, "response_format"),
        logprobs=bool(given.logprobs),
        token_ids=bool(given.return_token_ids),
        left_out=left_out_names([*asked_in_vain(given), *offered.left_out]),
        known_as=offered.known_as,
    )


def chat_completion(
    completion: Completion, asked: ApiRequest, id: str, created: int, prompt_ids: TokenIds | None = None
) -> Json:
    """Returns a completion as the JSON data of a chat completion. Token ids and logprobs are in it only if `asked`
    wants them and the completion has them. `id`: the answer's id. `created`: seconds since 1970.

    `prompt_ids`: int32 [n], the whole prompt; None if the completion's own `prompt_ids` are that, and not only the part
    after the history.
    """
    choice: Json = {
        "index": 0,
        "message": {"role": "assistant", "refusal": None, **_message(completion.message, asked)},
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
    """Yields a completion as server-sent events, with the parameters of `chat_completion`: the whole message in one
    piece, the finish reason, the usage if the body asked for it, and `[DONE]`.
    """
    head = _head(asked, id, created, "chat.completion.chunk")
    message = _message(completion.message, asked)
    for index, call in enumerate(message.get("tool_calls", ())):
        call["index"] = index
    first: Json = {"index": 0, "delta": {"role": "assistant", **message}, "finish_reason": None}
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
    """Returns the field `usage` of a chat completion: its numbers of prompt, generated and cached tokens."""
    return {
        "prompt_tokens": completion.prompt_tokens,
        "completion_tokens": completion.generated_tokens,
        "total_tokens": completion.prompt_tokens + completion.generated_tokens,
        "prompt_tokens_details": {"cached_tokens": completion.cached_tokens},
    }


def _head(asked: ApiRequest, id: str, created: int, kind: str) -> Json:
    return {"id": id, "object": kind, "created": created, "model": asked.model}


def _message(message: Message, asked: ApiRequest) -> Json:
    body: Json = {"content": message.content if message.content or not message.tool_calls else None}
    if message.reasoning:
        body["reasoning"] = message.reasoning
    if message.tool_calls:
        body["tool_calls"] = [_call(call, asked) for call in message.tool_calls]
    return body


def _call(call: ToolCall, asked: ApiRequest) -> Json:
    known = asked.known_as.get(call.name)
    return chat_call(call) if known is not None and known.is_free_form else call.as_openai()


def _finish_reason(completion: Completion) -> str:
    if completion.finish_reason == "content_filter":
        return "content_filter"
    if is_cut(completion):
        return "length"
    return "tool_calls" if completion.message.tool_calls else "stop"


def token_logprobs(completion: Completion) -> list[Json]:
    """Returns an entry for each generated token: its name (`token_id:ID`) and its logprob, which is -9999 for lower
    ones. It is empty if the completion has no token ids.
    """
    drawn = zip(completion.token_ids.tolist(), completion.logprobs.tolist(), strict=True)
    return [{"token": f"token_id:{token}", "logprob": max(logprob, LOWEST_LOGPROB)} for token, logprob in drawn]


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
