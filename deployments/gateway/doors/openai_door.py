"""Opens the OpenAI-compatible door: every named model of the service under OpenAI's paths. Its calls are not recorded.

The header X-Session-ID keeps a conversation on the replica that has its beginning in its cache. Raises `Refused`, for
the gateway to answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Request, Response

from ray_gym.deployments.gateway.doors.door_targets import Target
from ray_gym.deployments.gateway.doors.openai_bodies import ANSWER, described_model, model_list, no_model, request_body
from ray_gym.deployments.gateway.guards.auth import bearer
from ray_gym.deployments.gateway.guards.body import json_body
from ray_gym.deployments.gateway.guards.headers import LONGEST_KEY
from ray_gym.deployments.gateway.guards.leaving import unless_gone
from ray_gym.models.door import PATHS
from ray_gym.openai_api.refused import Refused
from ray_gym.seeds import stable_id
from ray_gym.service.api import ErrorAnswer

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


def openai_router(targets: Mapping[str, Target], caller_of: Callable[[Request], str]) -> APIRouter:
    """Returns the routes of the door. `targets` are keyed by the names that callers give as `model`."""
    router = APIRouter(tags=["models"], dependencies=[Depends(bearer)])

    @router.get("/v1/models", summary="The models that answer here.")
    async def models() -> dict[str, Any]:
        return model_list(targets)

    @router.get("/v1/models/{name:path}", summary="One of them.", responses={404: _ERRORS[404]})
    async def model(name: str) -> dict[str, Any]:
        return described_model(name, targets)

    async def ask(request: Request, session: Session = None) -> Response:
        body = await json_object(request)
        name = body.get("model")
        if not isinstance(name, str):
            raise Refused(400, "invalid_request", "model: expected the name of a model", "model")
        target = targets.get(name)
        if target is None:
            raise no_model(name, targets)
        session_id = _session_id(caller_of(request), session)
        return await unless_gone(request, target.answer(request.scope["path"], body, session_id))

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


def _session_id(caller: str, given: str | None) -> str:
    """Returns an id that is the caller's own: nobody meets another's conversation by its name. Errors: Refused."""
    if given is None:
        return ""
    if not _SESSION.fullmatch(given):
        message = f"the header X-Session-ID has to be 1 to {LONGEST_KEY} printable ASCII characters"
        raise Refused(400, "bad_header", message, "X-Session-ID")
    return stable_id(caller, given)


async def json_object(request: Request) -> dict[str, Any]:
    """Returns the body, a JSON object. Errors: Refused."""
    body = await json_body(request)
    if not isinstance(body, dict):
        raise Refused(400, "invalid_request", "the body has to be an object")
    return body
