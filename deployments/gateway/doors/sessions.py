"""Defines the routes of sessions, which open one, call its tools, say something in it, score it and close it; and
routes in the form of OpenAI's API and of Anthropic's Messages API, for a black-box agent that plays the policy.
"""

import asyncio
import secrets
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Request
from starlette.datastructures import Headers
from starlette.responses import Response

from ray_gym.anthropic_api import models as messages_models
from ray_gym.anthropic_api.answer import token_count
from ray_gym.anthropic_api.request import read_count_request
from ray_gym.deployments.gateway.doors.dialects import answer_in
from ray_gym.deployments.gateway.doors.list_query import ListCursor, ListLimit
from ray_gym.deployments.gateway.doors.mcp_door import mcp_routes
from ray_gym.deployments.gateway.doors.messages_bodies import ANSWERS, ERRORS, messages_body
from ray_gym.deployments.gateway.doors.openai_bodies import ANSWER, describe_model, model_list, request_body
from ray_gym.deployments.gateway.doors.openai_door import json_object
from ray_gym.deployments.gateway.doors.session_router import SessionEnded, SessionRouter
from ray_gym.deployments.gateway.guards.body import ParsedBodyRoute
from ray_gym.deployments.gateway.guards.leaving import GONE, WatchedResponse, answer_unless_gone
from ray_gym.messages import Message
from ray_gym.models.base import Completion
from ray_gym.openai_api.headers import is_retry
from ray_gym.openai_api.refused import Refused
from ray_gym.openai_api.request import ApiRequest
from ray_gym.play.agent_call import AgentCall
from ray_gym.play.dialects import CHAT, MESSAGES, RESPONSES, Dialect
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
    session_router: SessionRouter, caller_of: Callable[..., Any], session_key: Callable[[str, str], str]
) -> APIRouter:
    """Returns the routes of sessions. `caller_of`: FastAPI dependency that returns the caller's name. `session_key`:
    returns the API key of a caller's session.
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
        placed = await session_router.open(caller, request, key)
        answer.status_code = 201 if placed.is_new else 200
        session_id = placed.session_id
        try:
            info: SessionInfo = await session_router.call_worker(caller, session_id, "begin")
        except SessionEnded:
            info = await session_router.describe_ended(caller, session_id)
        return SessionOpened(
            **dict(info),
            openai_path=f"{router.prefix}/{session_id}/openai",
            anthropic_path=f"{router.prefix}/{session_id}/anthropic",
            mcp_path=f"{router.prefix}/{session_id}/mcp",
            api_key=session_key(caller, session_id),
        )

    @router.get("")
    async def sessions(
        caller: Annotated[str, Depends(caller_of)], cursor: ListCursor = None, limit: ListLimit = 100
    ) -> SessionList:
        """List the caller's sessions, the newest first."""
        return await session_router.list_sessions(caller, cursor, limit)

    @router.get("/{session_id}", responses=OWN)
    async def session(session_id: str, caller: Annotated[str, Depends(caller_of)]) -> SessionInfo:
        """Show what the policy sees of a session, whether the episode is over, and its score."""
        return await _get_info(session_router, caller, session_id, "info")

    @router.delete("/{session_id}", status_code=204, responses=OWN)
    async def close(session_id: str, request: Request, caller: Annotated[str, Depends(caller_of)]) -> None:
        """Give a session up. One that was scored stays as it is."""
        _refuse_agents(request)
        try:
            await session_router.call_worker(caller, session_id, "close")
        except SessionEnded:
            return

    @router.post("/{session_id}/tools", responses={**OWN, **OVER, **BUSY})
    async def call_tool(
        session_id: str,
        body: ToolCallRequest,
        request: Request,
        caller: Annotated[str, Depends(caller_of)],
        key: Key = None,
    ) -> ToolCallAnswer:
        """Call a tool in a session. An error of the call is told in the answer, as a model would be told."""
        _refuse_agents(request, body.participant)
        answer: ToolCallAnswer = await _run_command(
            session_router, caller, session_id, "call_tool", _command_key(key), body
        )
        return answer

    @router.post("/{session_id}/messages", responses={**OWN, **OVER, **BUSY})
    async def say(
        session_id: str,
        body: MessageRequest,
        request: Request,
        caller: Annotated[str, Depends(caller_of)],
        key: Key = None,
    ) -> MessageAnswer:
        """Say something as a participant, which ends its turn; the others hear it, and answer."""
        _refuse_agents(request, body.participant)
        answer: MessageAnswer = await _run_command(session_router, caller, session_id, "say", _command_key(key), body)
        return answer

    @router.post("/{session_id}/score", responses={**OWN, **OVER, **BUSY})
    async def score(
        session_id: str, request: Request, caller: Annotated[str, Depends(caller_of)], key: Key = None
    ) -> SessionInfo:
        """End the episode, if it has not ended, and score it. A repetition returns the same score."""
        _refuse_agents(request)
        return await _get_info(session_router, caller, session_id, "score", _command_key(key))

    @router.get("/{session_id}/episode", responses={**OWN, **RECORD})
    async def episode(session_id: str, request: Request, caller: Annotated[str, Depends(caller_of)]) -> dict[str, Any]:
        """Read the row of a session's episode, with its tokens, once it has ended. The answer waits a few seconds for
        the commit.
        """
        _refuse_agents(request)
        return await session_router.read_episode(caller, session_id)

    # ---- for black-box agents, as is the MCP server ----

    @router.get("/{session_id}/openai/models", responses=OWN)
    async def models(session_id: str, caller: Annotated[str, Depends(caller_of)]) -> dict[str, Any]:
        """List the one model that an agent may call in a session: the policy."""
        await _get_info(session_router, caller, session_id, "info")
        return model_list([DRIVEN])

    @router.get("/{session_id}/openai/models/{name:path}", responses=OWN)
    async def model(session_id: str, name: str, caller: Annotated[str, Depends(caller_of)]) -> dict[str, Any]:
        """Show the model that an agent may call in a session, by its name."""
        await _get_info(session_router, caller, session_id, "info")
        return describe_model(name, [DRIVEN]).model_dump(exclude={"tokenizer"})

    @router.get("/{session_id}/anthropic/v1/models", responses=ERRORS)
    async def messages_model_list(session_id: str, caller: Annotated[str, Depends(caller_of)]) -> dict[str, Any]:
        """List the one model that an agent may call in a session, in the form of Anthropic's API."""
        await _get_info(session_router, caller, session_id, "info")
        return messages_models.model_list([DRIVEN])

    @router.get("/{session_id}/anthropic/v1/models/{name:path}", responses=ERRORS)
    async def messages_model(session_id: str, name: str, caller: Annotated[str, Depends(caller_of)]) -> dict[str, Any]:
        """Show the model that an agent may call in a session, by its name, in the form of Anthropic's API."""
        await _get_info(session_router, caller, session_id, "info")
        return messages_models.describe_model(name, [DRIVEN])

    async def ask(session_id: str, request: Request, caller: Annotated[str, Depends(caller_of)]) -> Response:
        """Answer an agent's request (a chat completion, a response or a message) with the policy's model. The call is
        recorded in the session's episode as a step of the policy, with its tokens.
        """
        body = await json_object(request)
        dialect = _DIALECTS[request.url.path.rpartition("/")[2]]
        asked, call = await asyncio.to_thread(_read_call, dialect, body, request.headers)
        key = _command_key(request.headers.get("Idempotency-Key"))

        async def settle(delivered: bool) -> None:
            await session_router.run_detached(_settle(session_router, caller, session_id, key, delivered))

        try:
            given = await answer_unless_gone(
                request, _answer_call(session_router, caller, session_id, dialect, asked, call, key)
            )
        except BaseException:
            await settle(False)
            raise
        if given.status_code == GONE:
            await settle(False)
            return given
        return WatchedResponse(given, settle)

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
    router.add_api_route(
        "/{session_id}/anthropic/v1/messages",
        ask,
        methods=["POST"],
        name="captured_messages",
        response_model=None,
        responses=ANSWERS,
        openapi_extra={"requestBody": messages_body("max_tokens")},
    )

    @router.post(
        "/{session_id}/anthropic/v1/messages/count_tokens",
        responses=ERRORS,
        openapi_extra={"requestBody": messages_body()},
    )
    async def count_tokens(
        session_id: str, request: Request, caller: Annotated[str, Depends(caller_of)]
    ) -> dict[str, Any]:
        """Count the tokens of a prompt by the policy's own chat template. Nothing is recorded."""
        asked = await asyncio.to_thread(read_count_request, await json_object(request))
        call = AgentCall.of(asked, is_again=False, is_named=False)
        return token_count(await _run_command(session_router, caller, session_id, "count_tokens", DRIVEN, call))

    router.include_router(mcp_routes(session_router, caller_of))
    return router


_DIALECTS = {"completions": CHAT, "responses": RESPONSES, "messages": MESSAGES}
"""Dialects in which an agent may ask, by the last part of the path."""


async def _get_info(
    session_router: SessionRouter, caller: str, session_id: str, method: str, *arguments: Any
) -> SessionInfo:
    """Calls a method that returns the state of a session, and returns that state. If the session's episode is
    committed, the state is read from its row instead. Errors: Refused if the worker refuses, the caller has no such
    session, or its row was removed.
    """
    try:
        info: SessionInfo = await session_router.call_worker(caller, session_id, method, *arguments)
        return info
    except SessionEnded:
        return await session_router.describe_ended(caller, session_id)


async def _run_command(
    session_router: SessionRouter, caller: str, session_id: str, method: str, *arguments: Any
) -> Any:
    """Runs a command in a session, and returns its answer. Errors: Refused (409 if the episode is over; others if the
    worker refuses, or can't be reached).
    """
    try:
        return await session_router.call_worker(caller, session_id, method, *arguments)
    except SessionEnded:
        info = await session_router.describe_ended(caller, session_id)
        raise Refused(
            409, "episode_is_over", f"the episode is over{views.format_stop(info.stop)}, and committed"
        ) from None


async def _settle(session_router: SessionRouter, caller: str, session_id: str, key: str, delivered: bool) -> None:
    """Tells the worker whether an answer was delivered: if not, a retry gets the same answer. It gives up silently
    after 5 s, if the worker refuses, or if the session has ended.
    """
    try:
        async with asyncio.timeout(5):
            await session_router.call_worker(caller, session_id, "settle", key, delivered)
    except (SessionEnded, Refused, TimeoutError):
        return


async def _answer_call(
    session_router: SessionRouter,
    caller: str,
    session_id: str,
    dialect: Dialect,
    asked: ApiRequest,
    call: AgentCall,
    key: str,
) -> Response:
    try:
        completion, name = await session_router.call_worker(caller, session_id, "ask", DRIVEN, key, call)
    except SessionEnded:
        completion, name = None, None
    said: Completion = completion or Completion(Message("assistant"))
    return answer_in(dialect, said, asked, name if dialect is RESPONSES else None)


def _read_call(dialect: Dialect, body: dict[str, Any], headers: Headers) -> tuple[ApiRequest, AgentCall]:
    """Returns an agent's request, and the call of the policy's model in the session that it is taken as. Errors: Refused
    (400) if the body is malformed, or has a seed.
    """
    asked = dialect.read(body)
    if "seed" in asked.sampling:
        raise Refused(
            400, "invalid_request", "seed: a session's calls have the seeds of its episode; leave it out", "seed"
        )
    return asked, AgentCall.of(asked, is_again=is_retry(headers), is_named="Idempotency-Key" in headers)


def _command_key(given: str | None) -> str:
    """Returns the idempotency key of a command: the caller's own key with a prefix, so that it differs from random
    keys, or a new random key if none was given.
    """
    return f"given-{given}" if given else secrets.token_hex(16)


def _refuse_agents(request: Request, participant: str | None = None) -> None:
    """Refuses callers that have only a session's key, unless `participant` is the policy. Errors: Refused (403)."""
    if getattr(request.state, "is_agent", False) and participant != DRIVEN:
        raise Refused(403, "not_with_this_key", "a session's key lets its holder speak for the policy only")
