"""Writes refusals in the form of Anthropic's errors, for the paths of the Messages API."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from ray_gym.openai_api.refused import Refused

OVERLOADED = 529
"""Anthropic's status for a server that can't answer at the moment; elsewhere that is 503."""
_TYPES: Mapping[int, str] = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    OVERLOADED: "overloaded_error",
}
_PATHS = re.compile(r"/v1/messages(/.*)?|/v1/sessions/[^/]+/anthropic/.*")


class MessagesProblem(BaseModel):
    """Describes an error."""

    model_config = ConfigDict(frozen=True)

    type: str
    """Kind of the error, by which Anthropic's clients choose their exception."""
    message: str
    """Explanation for people."""


class MessagesErrorAnswer(BaseModel):
    """Answers a request of the Messages API that is refused."""

    model_config = ConfigDict(frozen=True)

    type: Literal["error"] = "error"
    error: MessagesProblem
    request_id: str | None
    """Id of the request, which is also in the header X-Request-ID."""


def speaks_messages(path: str) -> bool:
    """Returns True if a path belongs to the Messages API."""
    return _PATHS.fullmatch(path) is not None


def messages_status(refused: Refused) -> int:
    """Returns the HTTP status by which Anthropic's clients understand a refusal."""
    return {502: 500, 503: OVERLOADED}.get(refused.status, refused.status)


def messages_error(refused: Refused, request_id: str | None) -> dict[str, Any]:
    """Returns a refusal as the JSON data of an error. `request_id`: id of the refused request."""
    status = messages_status(refused)
    kind = _TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")
    problem = MessagesProblem(type=kind, message=refused.message)
    return MessagesErrorAnswer(error=problem, request_id=request_id).model_dump()
