"""Converts errors to answers in OpenAI's form, or in Anthropic's at the paths of its API. They contain nothing of a
traceback, and of inputs that fail validation only the paths to the fields.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from ray.exceptions import (
    ActorUnschedulableError,
    NodeDiedError,
    OwnerDiedError,
    RayActorError,
    RayError,
    RayTaskError,
    WorkerCrashedError,
)
from ray.serve.exceptions import BackPressureError, DeploymentUnavailableError, RayServeException
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import Scope

from ray_gym.anthropic_api.errors import messages_error, messages_status, speaks_messages
from ray_gym.deployments.gateway.guards.auth import path_of
from ray_gym.openai_api.refused import Refused, service_unavailable
from ray_gym.service.api import ErrorAnswer, Problem

MOST_PROBLEMS = 8
"""Largest number of problems that one answer lists."""
LONGEST_FIELD = 200
"""Largest number of characters of the path to a field, which may contain keys of the input."""

_GONE = (RayActorError, ActorUnschedulableError, NodeDiedError, OwnerDiedError, WorkerCrashedError)
_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
_CODES = {400: "bad_request", 404: "not_found", 405: "method_not_allowed"}
_PLACES = ("body", "query", "path", "header", "cookie")


def register(app: FastAPI) -> None:
    """Registers the handler of errors that routes raise. The layer `Surface` answers all others."""
    for kind in (HTTPException, RequestValidationError, Refused, RayError, RayServeException, TimeoutError):
        app.add_exception_handler(kind, _handle)


async def _handle(request: Request, error: Exception) -> Response:
    refused = refusal_of(error)
    if refused is None:
        raise error
    headers = dict(getattr(error, "headers", None) or {})
    if refused.status == HTTPStatus.METHOD_NOT_ALLOWED:
        headers["Allow"] = ", ".join(_methods(request))
    return error_response(refused, request.scope, headers)


def _methods(request: Request) -> list[str]:
    """Returns the methods of all routes with the request's path; Starlette knows only those of the first."""
    routes = (route for route in request.app.routes if isinstance(route, Route))
    fitting = [route.methods or set() for route in routes if route.matches(request.scope)[0] is not Match.NONE]
    return sorted(set().union(*fitting))


def refusal_of(error: BaseException) -> Refused | None:
    """Returns the refusal for an error, or None for an unforeseen one. A RayTaskError is judged by its cause."""
    if isinstance(error, RayTaskError):  # also an instance of its cause's class, without being made like one
        return refusal_of(error.cause) if isinstance(error.cause, BaseException) else None
    if isinstance(error, Refused):
        return error
    if isinstance(error, RequestValidationError):
        return _validation_refusal(error.errors(), error.body)
    if isinstance(error, HTTPException):
        code = _CODES.get(error.status_code, "refused")
        return Refused(error.status_code, code, str(error.detail))
    if isinstance(error, BackPressureError):
        return service_unavailable("too many requests wait for a replica; come back later")
    if isinstance(error, (*_GONE, DeploymentUnavailableError)):
        return service_unavailable("a part of the service is restarting; come back in a moment", retry_after_s=2)
    if isinstance(error, TimeoutError):
        return Refused(504, "timeout", "no answer came in time from a part of the service")
    return None


def internal_error(request_id: str) -> Refused:
    """Returns the refusal for an unforeseen error (500). `request_id`: id under which the log has the error."""
    return Refused(500, "internal_error", f"something went wrong; the service's log has it under the id {request_id}")


def error_response(refused: Refused, scope: Scope, headers: Mapping[str, str] | None = None) -> Response:
    """Returns the HTTP answer for a refusal, with Retry-After if the refusal has a time for it. The error is in OpenAI's
    form, or in Anthropic's at the paths of its API. `scope`: the request's. `headers`: further headers of the answer.
    """
    told = dict(headers or {})
    if refused.retry_after_s is not None:
        told["Retry-After"] = str(max(1, math.ceil(refused.retry_after_s)))
    if refused.status == HTTPStatus.UNAUTHORIZED:
        told["WWW-Authenticate"] = "Bearer"
    if speaks_messages(path_of(scope)):
        said = messages_error(refused, scope.get("state", {}).get("request_id"))
        return Response(json.dumps(said), messages_status(refused), told, media_type="application/json")
    fallback = "server_error" if refused.status >= 500 else "invalid_request_error"
    problem = Problem(
        message=refused.message, type=_TYPES.get(refused.status, fallback), code=refused.code, param=refused.param
    )
    body = json.dumps(ErrorAnswer(error=problem).model_dump())  # ASCII, so that any text in it can be encoded
    return Response(body, refused.status, told, media_type="application/json")


def describe_statuses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Returns descriptions of HTTP statuses for OpenAPI, as FastAPI's `responses` takes them."""
    return {status: {"model": ErrorAnswer, "description": HTTPStatus(status).phrase} for status in statuses}


def _validation_refusal(problems: Sequence[Mapping[str, Any]], body: Any) -> Refused:
    """Returns the refusal (422) for problems that pydantic found, with a line for each of the first `MOST_PROBLEMS`.
    Inputs are left out: they may be long, or secret.
    """
    fields = [_field(problem, body) for problem in problems]
    lines = [
        f"{field or 'the body'}: {problem['msg']}"
        for field, problem in list(zip(fields, problems, strict=True))[:MOST_PROBLEMS]
    ]
    if len(problems) > MOST_PROBLEMS:
        lines.append(f"and {len(problems) - MOST_PROBLEMS} more")
    return Refused(422, "invalid_request", "\n".join(lines), next(iter(fields), None) or None)


def _field(problem: Mapping[str, Any], body: Any) -> str:
    """Returns the path to the field with a problem, such as `task.numbers.0`, cut to `LONGEST_FIELD` characters.
    Pydantic's names for the members of unions are left out.
    """
    location: Sequence[int | str] = problem["loc"]
    inside = location[1:] if location and location[0] in _PLACES else location
    if location and location[0] == "body" and problem["type"] != "missing":
        inside = _path_in_body(inside, body)
    return ".".join(map(str, inside))[:LONGEST_FIELD]


def _path_in_body(location: Sequence[Any], body: Any) -> list[Any]:
    """Returns the parts of a location that are keys or indices in the body, followed from the outermost inwards."""
    found = []
    for part in location:
        if (isinstance(body, dict) and part in body) or (isinstance(body, list) and isinstance(part, int)):
            found.append(part)
            body = body[part]
    return found
