"""A conversation of a chosen length, as a policy's thread would have it: with tools, their results, and its exact token ids."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ray_gym.deployments.chat.chat_format import ChatFormat
from ray_gym.messages import Message, ToolCall, ToolSchema
from ray_gym.models.base import TokenIds

TOOL = ToolSchema(
    "search",
    "Search the shop's catalogue.",
    {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
)
SENTENCE = (
    "The parcel that I ordered on the 12th has not come yet, and the page says that it was delivered to number 47. "
)
RESULT = '{"order": 4711, "status": "delivered", "to": "47 Mill Lane", "signed": "M. Carter", "weight_kg": 1.25} '


@dataclass(frozen=True, slots=True)
class Conversation:
    messages: list[Message]
    history: TokenIds
    """Covers all messages."""


def answer(number: int) -> tuple[Message, str]:
    """What the policy says in one step, and the text that it generates for it."""
    query = f'{{"query": "order {number}"}}'
    return Message("assistant", "", None, (ToolCall(f"abcde{number:04d}", "search", query),)), f"search {query}"


def conversation(chat_format: ChatFormat, tokenizer: Any, stop_id: int, tokens: int) -> Conversation:
    """At least so many tokens of history, ending with a generation; made step by step, as a thread makes it."""
    messages = [Message("system", "You work at a shop's help desk."), Message("user", SENTENCE * 3)]
    history: TokenIds = np.zeros(0, np.int32)
    known = number = 0
    while True:
        prompt = chat_format.prompt(messages, [TOOL], known, history)
        if prompt.fork_reason is not None:
            raise RuntimeError(f"the conversation forked: {prompt.fork_reason}")
        said, text = answer(number)
        generated = [*tokenizer.encode(text, add_special_tokens=False), stop_id]
        history = np.concatenate([history, prompt.new_ids, np.array(generated, dtype=np.int32)])
        messages.append(said)
        known = len(messages)
        if len(history) >= tokens:
            return Conversation(messages, history)
        messages += new_messages(number)
        number += 1


def new_messages(number: int) -> list[Message]:
    """What comes between two steps of the policy."""
    result = Message("tool", RESULT * 4, tool_call_id=f"abcde{number:04d}")
    return [result, Message("user", SENTENCE * 2)]
