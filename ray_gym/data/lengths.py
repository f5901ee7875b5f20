"""Measures the length of prompts in characters, or in the tokens of a tokenizer."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ray_gym.load_object import load_object
from ray_gym.messages import Message, ToolSchema

TOKENIZER = "ray_gym.deployments.chat.checkpoint:load_tokenizer"
CHAT_FORMAT = "ray_gym.deployments.chat.chat_format:ChatFormat"


@dataclass(frozen=True, slots=True)
class Ruler:
    """Measures prompts in a unit."""

    unit: str
    """Name of the unit, for people."""
    measure: Callable[[Sequence[Message]], int]
    """Function that returns the length of messages."""
    measure_tools: Callable[[Sequence[Message], Sequence[ToolSchema]], int] | None = None
    """Function that returns how much longer tools make a prompt; None if that can't be measured."""


@dataclass(frozen=True, slots=True)
class LengthSpread:
    """Describes a set of lengths by some figures."""

    count: int
    min: int
    median: int
    p95: int
    """95th percentile."""
    max: int

    @classmethod
    def of(cls, lengths: Sequence[int]) -> LengthSpread | None:
        """Returns the figures of some lengths; None if there are none. Median and percentile are lengths that occur."""
        if not lengths:
            return None
        ordered = sorted(lengths)
        median, p95 = (ordered[math.ceil(share * len(ordered)) - 1] for share in (0.5, 0.95))
        return cls(len(ordered), ordered[0], median, p95, ordered[-1])


def character_ruler() -> Ruler:
    """Returns a ruler that counts the characters of messages and of their tool calls."""

    def measure(messages: Sequence[Message]) -> int:
        calls = sum(len(call.name or "") + len(call.arguments) for message in messages for call in message.tool_calls)
        return calls + sum(len(message.content) for message in messages)

    return Ruler("characters", measure)


def token_ruler(name: str) -> Ruler:
    """Returns a ruler that counts the tokens of messages in the chat template of a model. `name`: of the
    model whose tokenizer is loaded.

    Errors: UserError for a tokenizer that can't be loaded.
    """
    loaded = load_object(TOKENIZER, "--tokenizer")(name)
    chat_format = load_object(CHAT_FORMAT, "--tokenizer")(loaded.tokenizer, loaded.stop_ids)

    def measure(messages: Sequence[Message], tools: Sequence[ToolSchema] = ()) -> int:
        return len(chat_format.prompt(messages, tools, 0, ()).new_ids)

    def measure_tools(messages: Sequence[Message], tools: Sequence[ToolSchema]) -> int:
        return measure(messages, tools) - measure(messages)

    return Ruler(f"tokens of {name}", measure, measure_tools)
