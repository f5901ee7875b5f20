"""Defines the result of a tool, and the answer that its caller gets."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from pydantic_core import to_json

Result = TypeVar("Result")


WhenLost = Literal["retry", "fail"]
"""Action if a worker died while it made an effect, so that it is not known whether the effect was made: make it again
(`retry`), or fail the episode (`fail`).
"""


class IdempotencyKey(str):
    """Names one call of a tool with an effect. It is the same in every attempt; a tool passes it to the service that it
    calls.
    """


class ToolError(Exception):
    """Answers the caller of a tool with an error, when the tool raises it. The episode continues.

    `content` is the text that the caller gets; by default `{"error": message}`.
    """

    def __init__(self, message: str = "", content: str | None = None) -> None:
        super().__init__(message)
        self.content = content


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """Holds the text that the caller of a tool gets. `error` is the message of an error; None if the tool gave a
    result.
    """

    content: str
    error: str | None = None


async def within(result: Awaitable[Result], deadline_s: float) -> Result:
    """Awaits a result for at most `deadline_s` seconds, and returns it.

    Errors: TimeoutError that names `tool_deadline_s` if the deadline passes; those that the awaitable raises.
    """
    try:
        async with asyncio.timeout(deadline_s) as deadline:
            return await result
    except TimeoutError as error:
        if not deadline.expired():
            raise
        raise TimeoutError(f"no result within tool_deadline_s ({deadline_s:g} s)") from error


def as_text(result: Any) -> str:
    """Returns a tool's result as the text that the caller gets: a string as it is, all else as JSON. Errors:
    PydanticSerializationError for a value that JSON can't hold.
    """
    if isinstance(result, str):
        return result
    return to_json(result).decode()
