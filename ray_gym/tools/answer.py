"""Defines the result of a tool, and the answer that its caller is given."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pydantic_core import to_json

if TYPE_CHECKING:
    pass


Result = TypeVar("Result")


WhenLost = Literal["retry", "fail"]
"""Action for an effect that was begun, of which nobody knows whether it was made: make it again, or fail the episode.
"""


class IdempotencyKey(str):
    """Names one call of a tool with an effect, the same in every attempt: give it to the service that is called."""


class ToolError(Exception):
    """Raised by a tool to answer its caller with an error; the episode goes on.

    `content` is the text that the caller is told, where it is not to be `{"error": message}`.
    """

    def __init__(self, message: str = "", content: str | None = None) -> None:
        super().__init__(message)
        self.content = content


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """Holds the text that the caller is told. `error` is set when the call was refused or could not be understood."""

    content: str
    error: str | None = None


async def within(result: Awaitable[Result], deadline_s: float) -> Result:
    """Awaits a result within `deadline_s` seconds. Errors: TimeoutError, which says so if it was this deadline."""
    try:
        async with asyncio.timeout(deadline_s) as deadline:
            return await result
    except TimeoutError as error:
        if not deadline.expired():
            raise
        raise TimeoutError(f"no result within tool_deadline_s ({deadline_s:g} s)") from error


def as_text(result: Any) -> str:
    """Turns a tool's result into the text that the caller is told: text as it is, all else as JSON. Errors:
    PydanticSerializationError.
    """
    if isinstance(result, str):
        return result
    return to_json(result).decode()
