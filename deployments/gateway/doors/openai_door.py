"""Defines the routes of OpenAI's API for the models of the service. Their calls belong to no episode, and are not
recorded.

Requests with the same header X-Session-ID go to the same replica, whose cache has the beginning of the conversation.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Request, Response

from ray_gym.deployments.gateway.doors.door_targets import Target
from ray_gym.deployments.gateway.doors.openai_bodies import (
    ANSWER,
    describe_model,
    model_list,
    model_not_found,
    request_body,
)
from ray_gym.deployments.gateway.guards.auth import bearer
from ray_gym.deployments.gateway.guards.body import json_body
from ray_gym.deployments.gateway.guards.headers import LONGEST_KEY
from ray_gym.deployments.gateway.guards.leaving import answer_unless_gone
from ray_gym.errors import EpisodeFailure
from ray_gym.models.door import PATHS
from ray_gym.models.engine import Tokenizing
from ray_gym.openai_api.refused import Refused, service_unavailable
from ray_gym.seeds import stable_id
from ray_gym.service.api import ErrorAnswer, ModelInfo

TOKENIZER_S = 40.0
"""Seconds for the digest of a model's tokenizer."""
_SESSION = re.compile(rf"[\x20-\x7e]{{1,{LONGEST_KEY}}}")
_ERRORS: dict[int | str, dict[str, Any]] = {
    400: {"model": ErrorAnswer, "description": "The request is not what the model can do."},
    404: {"model": ErrorAnswer, "description": "There is no model of that name."},
    429: {"model": ErrorAnswer, "description": "Too many requests wait for the model."},
    502: {"model": ErrorAnswer, "description": "The model failed."},
    503: {"model": ErrorAnswer, "description": "No replica can be reached now."},
}
_SESSION_SCHEMA: dict[str, Any] = {"minLength": 1, "maxLength": LONGEST_KEY, "pattern": "^[!-~]+$"}
Session = Annotated[str | None, Header(alias="X-Session-ID", json_schema_extra=_SESSION_SCHEMA)]


def openai_router(
    targets: Mapping[str, Target], tokenizers: Mapping[str, Tokenizing], caller_of: Callable[[Request], str]
) -> APIRouter:
    """Returns the routes of OpenAI's API. `targets`: by the model's name in requests. `tokenizers`: engines of those
    models that have one. `caller_of`: returns the name of a request's caller.
    """
    router = APIRouter(tags=["models"], dependencies=[Depends(bearer)])

    @router.get("/v1/models", summary="The models that answer here.")
    async def models() -> dict[str, Any]:
        return model_list(targets)

    @router.get(
        "/v1/models/{name:path}", summary="One of them.", responses={status: _ERRORS[status] for status in (404, 503)}
    )
    async def model(name: str) -> ModelInfo:
        info = describe_model(name, targets)
        if name not in tokenizers:
            return info
        try:
            async with asyncio.timeout(TOKENIZER_S):
                digest = await asyncio.to_thread(tokenizers[name].tokenizer)
        except EpisodeFailure:
            raise service_unavailable("no replica of the model can be reached") from None
        return info.model_copy(update={"tokenizer": digest})

    async def ask(request: Request, session: Session = None) -> Response:
        target, body = await find_target(request, targets)
        session_id = session_id_of(caller_of(request), session)
        return await answer_unless_gone(request, target.answer(request.scope["path"], body, session_id))

    for path in PATHS:
        router.add_api_route(
            path,
            ask,
            methods=["POST"],
            name=path.removeprefix("/v1/").replace("/", "_"),
            summary=f"OpenAI's {path}.",
            response_model=None,
            responses={200: ANSWER, **_ERRORS},
            openapi_extra={"requestBody": request_body(path)},
        )
    return router


async def find_target(request: Request, targets: Mapping[str, Target]) -> tuple[Target, dict[str, Any]]:
    """Returns the target for the model that a request names, and the request's body. Errors: Refused (400 if the body is
    no object or names no model, 404 if there is no such model).
    """
    body = await json_object(request)
    name = body.get("model")
    if not isinstance(name, str):
        raise Refused(400, "invalid_request", "model: expected the name of a model", "model")
    target = targets.get(name)
    if target is None:
        raise model_not_found(name, targets)
    return target, body


def session_id_of(caller: str, given: str | None) -> str:
    """Returns the id of a conversation, made of the caller's name and its header X-Session-ID, so that it can't be the
    id of another caller; "" without the header. Errors: Refused (400) if the header is malformed.
    """
    if given is None:
        return ""
    if not _SESSION.fullmatch(given):
        message = f"the header X-Session-ID has to be 1 to {LONGEST_KEY} printable ASCII characters"
        raise Refused(400, "bad_header", message, "X-Session-ID")
    return stable_id(caller, given)


async def json_object(request: Request) -> dict[str, Any]:
    """Returns the body of a request, which has to be a JSON object. Errors: Refused (400) if it is none, or is
    no JSON.
    """
    body = await json_body(request)
    if not isinstance(body, dict):
        raise Refused(400, "invalid_request", "the body has to be an object")
    return body
