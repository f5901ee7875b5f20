"""Defines the routes of Anthropic's Messages API for the models of the service. Their calls belong to no episode, and
are not recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fastapi import APIRouter, Depends, Request, Response

from ray_gym.deployments.gateway.doors.dialects import MESSAGES_PATH
from ray_gym.deployments.gateway.doors.door_targets import Target
from ray_gym.deployments.gateway.doors.messages_bodies import ANSWERS, ERRORS, messages_body
from ray_gym.deployments.gateway.doors.openai_door import Session, find_target, session_id_of
from ray_gym.deployments.gateway.guards.auth import bearer
from ray_gym.deployments.gateway.guards.leaving import answer_unless_gone


def messages_router(targets: Mapping[str, Target], caller_of: Callable[[Request], str]) -> APIRouter:
    """Returns the routes of the Messages API. `targets`: by the model's name in requests. `caller_of`: returns the name
    of a request's caller.
    """
    router = APIRouter(tags=["models"], dependencies=[Depends(bearer)])

    @router.post(
        MESSAGES_PATH,
        summary="Anthropic's /v1/messages.",
        response_model=None,
        responses=ANSWERS,
        openapi_extra={"requestBody": messages_body("max_tokens")},
    )
    async def messages(request: Request, session: Session = None) -> Response:
        target, body = await find_target(request, targets)
        session_id = session_id_of(caller_of(request), session)
        return await answer_unless_gone(request, target.answer(MESSAGES_PATH, body, session_id))

    @router.post(
        f"{MESSAGES_PATH}/count_tokens",
        summary="The number of tokens of a prompt.",
        responses=ERRORS,
        openapi_extra={"requestBody": messages_body()},
    )
    async def count_tokens(request: Request) -> dict[str, Any]:
        target, body = await find_target(request, targets)
        return await target.count_tokens(body)

    return router
