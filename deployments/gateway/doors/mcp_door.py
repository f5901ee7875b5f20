"""Defines the route by which a session offers the tools of its policy as an MCP server, to agents that call them
natively. Each call is a tool call of the session.
"""

import json
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Request
from starlette.responses import Response

from ray_gym.deployments.gateway.doors.session_router import SessionEnded, SessionRouter
from ray_gym.deployments.gateway.guards.auth import is_loopback_origin
from ray_gym.deployments.gateway.guards.body import ParsedBodyRoute, json_body
from ray_gym.deployments.gateway.guards.leaving import answer_unless_gone
from ray_gym.mcp.offering import VERSION, VERSIONS, Json, answer_post
from ray_gym.messages import ToolSchema
from ray_gym.openai_api.refused import Refused
from ray_gym.service.api import ErrorAnswer, ToolCallAnswer
from ray_gym.service.sessions.views import DRIVEN
from ray_gym.tools.answer import ToolAnswer

MESSAGE: dict[str, Any] = {
    "required": True,
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "required": ["jsonrpc", "method"],
                "properties": {
                    "jsonrpc": {"const": "2.0"},
                    "method": {"type": "string"},
                    "id": {"type": ["string", "integer"]},
                },
            }
        }
    },
}
"""Body of a POST, for OpenAPI: a request, or without `id` a notification."""
ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {"description": "The answer to a request", "content": {"application/json": {}}},
    202: {"description": "A notification, or an answer, was taken"},
    400: {"description": "No message of the protocol, or a version not spoken", "content": {"application/json": {}}},
    404: {"model": ErrorAnswer, "description": "There is no such session of this caller"},
    409: {"model": ErrorAnswer, "description": "The session is full, or was closed meanwhile"},
    429: {"model": ErrorAnswer, "description": "As many commands wait in this session as there may be"},
}


def mcp_routes(session_router: SessionRouter, caller_of: Callable[..., Any]) -> APIRouter:
    """Returns the route of sessions' MCP servers. `caller_of`: FastAPI dependency that returns the caller's name."""
    router = APIRouter(route_class=ParsedBodyRoute)

    @router.post(
        "/{session_id}/mcp",
        response_model=None,
        responses=ANSWERS,
        openapi_extra={"requestBody": MESSAGE},
    )
    async def mcp(
        session_id: str,
        request: Request,
        caller: Annotated[str, Depends(caller_of)],
        spoken: Annotated[str | None, Header(alias=VERSION, json_schema_extra={"enum": list(VERSIONS)})] = None,
    ) -> Response:
        """Answer a message of an MCP client, by streamable HTTP, in JSON. Its tools are the policy's."""
        if not is_loopback_origin(request.headers.get("origin")):
            raise Refused(403, "wrong_origin", "tools are not for the web pages of other machines", "Origin")
        body = await json_body(request)
        host = SessionTools(session_router, caller, session_id)

        async def answer() -> Response:
            told = await answer_post(body, spoken, host)
            if told.body is None:
                return Response(status_code=told.status)
            return Response(json.dumps(told.body), told.status, media_type="application/json")

        return await answer_unless_gone(request, answer())

    return router


@dataclass(frozen=True, slots=True)
class SessionTools:
    """Offers the tools of a session's policy."""

    router: SessionRouter
    caller: str
    session_id: str

    async def tools(self) -> Sequence[ToolSchema]:
        """Returns the tools of the policy; none once the session has ended. Errors: Refused."""
        try:
            tools: Sequence[ToolSchema] = await self.router.call_worker(
                self.caller, self.session_id, "mcp_tools", DRIVEN
            )
            return tools
        except SessionEnded:
            return ()

    async def call(self, name: str, arguments: Json) -> ToolAnswer:
        """Calls a tool in the session. An agent is told that the episode is over as an error of the tool. Errors:
        Refused.
        """
        key = f"mcp-{secrets.token_hex(16)}"
        try:
            answer: ToolCallAnswer = await self.router.call_worker(
                self.caller, self.session_id, "mcp_call", DRIVEN, key, name, arguments
            )
        except SessionEnded:
            return _over("the episode is over")
        except Refused as refused:
            if refused.code != "episode_is_over":
                raise
            return _over(refused.message)
        return ToolAnswer(answer.content or answer.error or "", answer.error)


def _over(why: str) -> ToolAnswer:
    return ToolAnswer(why, why)
