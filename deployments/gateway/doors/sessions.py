"""Defines the routes of sessions: open one, call its tools, say something, score it, close it; and a black-box agent's
own door.
"""

import asyncio
import secrets
import time
from collections.abc import Callable, Iterator
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Request
from fastapi.responses import JSONResponse, StreamingResponse
from starlette.datastructures import Headers
from starlette.responses import Response

from ray_gym.deployments.gateway.doors.list_query import ListCursor, ListLimit
from ray_gym.deployments.gateway.doors.openai_bodies import ANSWER, described_model, model_list, request_body
from ray_gym.deployments.gateway.doors.openai_door import json_object
from ray_gym.deployments.gateway.doors.placement import HasEnded, Placement
from ray_gym.deployments.gateway.guards.body import ParsedBodyRoute
from ray_gym.deployments.gateway.guards.leaving import GONE, Watched, unless_gone
from ray_gym.messages import Message
from ray_gym.models.base import Completion
from ray_gym.openai_api.chat import chat_completion, chat_events, read_chat
from ray_gym.openai_api.refused import Refused
from ray_gym.openai_api.request import ApiRequest
from ray_gym.openai_api.responses import read_responses, response, response_events
from ray_gym.play.agent_call import AgentCall
from ray_gym.service.api import (
    ErrorAnswer,
    MessageAnswer,
    MessageRequest,
    SessionInfo,
    SessionList,
    SessionOpened,
    SessionRequest,
    ToolCallAnswer,
    ToolCallRequest,
)
from ray_gym.service.sessions import views
from ray_gym.service.sessions.views import DRIVEN

Key = Annotated[str | None, Header(alias="Idempotency-Key", min_length=1, max_length=200)]
RETRIES = "x-stainless-retry-count"
"""Header by which OpenAI's clients say that a request is a retry."""

OVER: dict[int | str, dict[str, Any]] = {
    409: {"model": ErrorAnswer, "description": "The episode is over, or the session was closed meanwhile"}
}
BUSY: dict[int | str, dict[str, Any]] = {
    429: {"model": ErrorAnswer, "description": "As many commands wait in this session as there may be"}
}
OWN: dict[int | str, dict[str, Any]] = {
    404: {"model": ErrorAnswer, "description": "There is no such session of this caller"}
}

RECORD: dict[int | str, dict[str, Any]] = {
    409: {"model": ErrorAnswer, "description": "Not yet; with Retry-After where it only has to be committed"},
    410: {"model": ErrorAnswer, "description": "It was taken out of the run's files"},
}


def session_routes(
    placement: Placement, caller_of: Callable[..., Any], session_key: Callable[[str, str], str]
) -> APIRouter:
    """Returns the routes. `caller_of` is the dependency that gives the caller's name; `session_key` makes the key of a
    caller's session.
    """
    router = APIRouter(prefix="/v1/sessions", tags=["sessions"], route_class=ParsedBodyRoute)

    @router.post(
        "",
        status_code=201,
        responses={
            200: {"model": SessionOpened, "description": "The key was used before: that session"},
            409: {"model": ErrorAnswer, "description": "The key was used before with another body"},
            429: {"model": ErrorAnswer, "description": "As many sessions are open as there may be"},
        },
    )
    async def open_session(
        request: SessionRequest,
        answer: Response,
        caller: Annotated[str, Depends(caller_of)],
        key: Key = None,
    ) -> SessionOpened:
        """Open a session on a task. With an Idempotency-Key the request can be sent again."""
        placed = await placement.opened(caller, request, key)
        answer.status_code = 201 if placed.is_new else 200
        session_id = placed.session_id
        try:
            info: SessionInfo = await placement.at_desk(caller, session_id, "begin")
        except HasEnded:
            info = await placement.ended(caller, session_id)
        return SessionOpened(
            **dict(info),
            openai_path=f"{router.prefix}/{session_id}/openai",
            api_key=session_key(caller, session_id),
        )

    @router.get("")
    async def sessions(
        caller: Annotated[str, Depends(caller_of)], cursor: ListCursor = None, limit: ListLimit = 100
    ) -> SessionList:
        """List the caller's sessions, the newest first."""
        return await placement.listed(caller, cursor, limit)

    @router.get("/{session_id}", responses=OWN)
    async def session(session_id: str, caller: Annotated[str, Depends(caller_of)]) -> SessionInfo:
        """Show what the policy sees of a session, whether the episode is over, and its score."""
        return await _info(placement, caller, session_id, "info")

    @router.delete("/{session_id}", status_code=204, responses=OWN)
    async def close(session_id: str, request: Request, caller: Annotated[str, Depends(caller_of)]) -> None:
        """Give it up. One that was scored stays as it is."""
        _refuse_agents(request)
        try:
            await placement.at_desk(caller, session_id, "close")
        except HasEnded:
            return

    @router.post("/{session_id}/tools", responses={**OWN, **OVER, **BUSY})
    async def call_tool(
        session_id: str,
        body: ToolCallRequest,
        request: Request,
        caller: Annotated[str, Depends(caller_of)],
        key: Key = None,
    ) -> ToolCallAnswer:
        """Call a tool. What is wrong with the call is told in the answer, as a model would be told."""
        _refuse_agents(request, body.participant)
        answer: ToolCallAnswer = await _command(placement, caller, session_id, "call_tool", _key(key), body)
        return answer

    @router.post("/{session_id}/messages", responses={**OWN, **OVER, **BUSY})
    async def say(
        session_id: str,
        body: MessageRequest,
        request: Request,
        caller: Annotated[str, Depends(caller_of)],
        key: Key = None,
    ) -> MessageAnswer:
        """Say something: the participant's turn is over; the others hear it, and answer."""
        _refuse_agents(request, body.participant)
        answer: MessageAnswer = await _command(placement, caller, session_id, "say", _key(key), body)
        return answer

    @router.post("/{session_id}/score", responses={**OWN, **OVER, **BUSY})
    async def score(
        session_id: str, request: Request, caller: Annotated[str, Depends(caller_of)], key: Key = None
    ) -> SessionInfo:
        """End the episode, if it has not ended, and score it. Asked again, it says the same."""
        _refuse_agents(request)
        return await _info(placement, caller, session_id, "score", _key(key))

    @router.get("/{session_id}/episode", responses={**OWN, **RECORD})
    async def episode(session_id: str, request: Request, caller: Annotated[str, Depends(caller_of)]) -> dict[str, Any]:
        """Read its row of the table of episodes, tokens and all, once it has ended; for its commit it waits a few
        seconds.
        """
        _refuse_agents(request)
        return await placement.episode(caller, session_id)

    # ---- for black-box agents ----

    @router.get("/{session_id}/openai/models", responses=OWN)
    async def models(session_id: str, caller: Annotated[str, Depends(caller_of)]) -> dict[str, Any]:
        """List the one model that plays."""
        await _info(placement, caller, session_id, "info")
        return model_list([DRIVEN])

    @router.get("/{session_id}/openai/models/{name:path}", responses=OWN)
    async def model(session_id: str, name: str, caller: Annotated[str, Depends(caller_of)]) -> dict[str, Any]:
        """Show the model that plays, by its name."""
        await _info(placement, caller, session_id, "info")
        return described_model(name, [DRIVEN])

    async def ask(session_id: str, request: Request, caller: Annotated[str, Depends(caller_of)]) -> Response:
        """Answer as OpenAI's API does. Every call is a step of the policy in the session's record, token by token."""
        body = await json_object(request)
        kind = request.url.path.rpartition("/")[2]
        asked, call = await asyncio.to_thread(_read, kind, body, request.headers)
        key = _key(request.headers.get("Idempotency-Key"))

        async def settle(delivered: bool) -> None:
            await placement.apart(_settle(placement, caller, session_id, key, delivered))

        try:
            given = await unless_gone(request, _answered(placement, caller, session_id, kind, asked, call, key))
        except BaseException:
            await settle(False)
            raise
        if given.status_code == GONE:
            await settle(False)
            return given
        return Watched(given, settle)

    for path in ("chat/completions", "responses"):
        router.add_api_route(
            f"/{{session_id}}/openai/{path}",
            ask,
            methods=["POST"],
            name=f"captured_{path.replace('/', '_')}",
            response_model=None,
            responses={200: ANSWER, **OWN, **BUSY},
            openapi_extra={"requestBody": request_body(path)},
        )
    return router


async def _info(placement: Placement, caller: str, session_id: str, method: str, *arguments: Any) -> SessionInfo:
    try:
        info: SessionInfo = await placement.at_desk(caller, session_id, method, *arguments)
        return info
    except HasEnded:
        return await placement.ended(caller, session_id)


async def _command(placement: Placement, caller: str, session_id: str, method: str, *arguments: Any) -> Any:
    try:
        return await placement.at_desk(caller, session_id, method, *arguments)
    except HasEnded:
        info = await placement.ended(caller, session_id)
        raise Refused(409, "episode_is_over", f"the episode is over{views.why(info.stop)}, and committed") from None


async def _settle(placement: Placement, caller: str, session_id: str, key: str, delivered: bool) -> None:
    """Tells the worker whether an answer was delivered. A retry of a call that was not delivered repeats that call."""
    try:
        async with asyncio.timeout(5):
            await placement.at_desk(caller, session_id, "settle", key, delivered)
    except (HasEnded, Refused, TimeoutError):
        return


async def _answered(
    placement: Placement, caller: str, session_id: str, kind: str, asked: ApiRequest, call: AgentCall, key: str
) -> Response:
    try:
        completion, name = await placement.at_desk(caller, session_id, "ask", DRIVEN, key, call)
    except HasEnded:
        completion, name = None, None
    said: Completion = completion or Completion(Message("assistant"))
    id = name if name and kind == "responses" else f"chatcmpl-{secrets.token_hex(12)}"
    created = int(time.time())
    if asked.stream:
        make: Callable[..., Iterator[str]] = response_events if kind == "responses" else chat_events
        return StreamingResponse(make(said, asked, id, created), media_type="text/event-stream")
    whole = response if kind == "responses" else chat_completion
    return JSONResponse(whole(said, asked, id, created))


def _read(kind: str, body: dict[str, Any], headers: Headers) -> tuple[ApiRequest, AgentCall]:
    """Reads a call of an agent. Errors: Refused."""
    asked = read_responses(body, remembers=True) if kind == "responses" else read_chat(body)
    if "seed" in asked.sampling:
        raise Refused(
            400, "invalid_request", "seed: a session's calls have the seeds of its episode; leave it out", "seed"
        )
    says_again = headers.get(RETRIES, "0") not in ("", "0")
    return asked, AgentCall.of(asked, is_again=says_again, is_named="Idempotency-Key" in headers)


def _key(given: str | None) -> str:
    """Returns the key of a command: the caller's own, kept apart from those that are made up here."""
    return f"given-{given}" if given else secrets.token_hex(16)


def _refuse_agents(request: Request, participant: str | None = None) -> None:
    """Refuses callers with only a session's key that do more than play in the session. Errors: Refused."""
    if getattr(request.state, "is_agent", False) and participant != DRIVEN:
        raise Refused(403, "not_with_this_key", "a session's key lets its holder speak for the policy only")
