"""Computes the most tokens that the prompt of a call may have, without its model's tokenizer.

No token stands for less than a byte of text, so a prompt has at most as many tokens as its texts have bytes, and some
for what a chat template puts around them. What an endpoint has counted of a conversation already is exact: then only
the messages since are bounded by their bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from ray_gym.messages import Message
from ray_gym.models.model import CompletionRequest

OF_TEMPLATE = 1024
"""Most tokens that a template adds to a whole prompt: a default system prompt, how to call tools."""
OF_MESSAGE = 32
"""Most tokens that a template adds to a message or to a call in it: roles, marks, ids."""


@dataclass(frozen=True, slots=True)
class Counted:
    """Holds what a model has told of the length of a conversation."""

    messages: int = 0
    """Number of messages, from the first, whose tokens were counted; 0 if nothing is known."""
    tokens: int = 0
    """Their tokens, with those of the template."""


NOT_COUNTED = Counted()


def most_prompt_tokens(request: CompletionRequest, counted: Counted | None = None) -> int:
    """Returns the most tokens that the prompt of a request may have. `counted`: what is known of the conversation; None
    if nothing is.
    """
    known = counted if counted is not None and counted.messages <= len(request.messages) else NOT_COUNTED
    new = sum(map(_most_of, request.messages[known.messages :]))
    tools = {id(tool): tool for tool in (*request.tools, *request.allowed_tools)}.values()
    shown = sum(_bytes_of([json.dumps(tool.as_openai(), ensure_ascii=False)]) + OF_MESSAGE for tool in tools)
    return known.tokens + new + shown + _bytes_of([request.response_format]) + OF_TEMPLATE


def _most_of(message: Message) -> int:
    calls = message.tool_calls
    texts = [message.content, message.reasoning, message.tool_call_id]
    texts += [text for call in calls for text in (call.id, call.name, call.arguments)]
    return _bytes_of(texts) + OF_MESSAGE * (1 + len(calls))


def _bytes_of(texts: Iterable[str | None]) -> int:
    return sum(len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass")) for text in texts if text)
