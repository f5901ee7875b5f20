"""Answers the messages of MCP clients, to which it offers the tools of one participant of one episode.

It keeps nothing of a client, so any process that has the episode can answer any message. It speaks streamable HTTP
(https://modelcontextprotocol.io/specification/2025-11-25/basic/transports) with answers in JSON, and no stream.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ray_gym.installed.version import version
from ray_gym.messages import ToolSchema
from ray_gym.openai_api.refused import Refused, not_found
from ray_gym.tools.answer import ToolAnswer

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Versions of the protocol that are spoken, the newest first."""
VERSION = "MCP-Protocol-Version"
"""Header that names the version of a request."""
UNKNOWN_TOOL = "unknown_tool"
"""Code of the refusal of a call to a tool that the participant does not have."""
MOST_MESSAGES = 100
"""Most messages of a batch, which only version 2025-03-26 has."""
MALFORMED, NO_METHOD, BAD_PARAMS, OTHER_VERSION = -32600, -32601, -32602, -32022
"""Codes of errors."""

Json = dict[str, Any]


class ToolHost(Protocol):
    """Describes an episode to its MCP clients, as one participant sees it."""

    async def tools(self) -> Sequence[ToolSchema]:
        """Returns the tools that the participant may call. Errors: Refused."""
        ...

    async def call(self, name: str, arguments: Json) -> ToolAnswer:
        """Calls a tool, and returns its answer. Errors: Refused (`UNKNOWN_TOOL` if the participant has no such tool)."""
        ...


@dataclass(frozen=True, slots=True)
class McpAnswer:
    """Holds the answer to a POST."""

    status: int
    """HTTP status."""
    body: Any = None
    """JSON data; None for no body."""


class _Problem(Exception):
    """Says that a message can't be answered."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, data


def unknown_tool(name: str) -> Refused:
    """Returns the refusal of a call to a tool that the participant does not have."""
    return not_found("tool", name[:200])


async def answer_post(body: object, spoken: str | None, host: ToolHost) -> McpAnswer:
    """Answers a message, or a batch of them. `body`: JSON data of a POST. `spoken`: value of its header `VERSION`; None
    without one. Errors: those of the host.
    """
    if spoken is not None and spoken not in VERSIONS:
        told = _Problem(OTHER_VERSION, f"this server speaks {', '.join(VERSIONS)}", _versions(spoken))
        return McpAnswer(400, _error(None, told))
    if isinstance(body, list):
        if not 0 < len(body) <= MOST_MESSAGES:
            return McpAnswer(400, _error(None, _Problem(MALFORMED, f"a batch has 1 to {MOST_MESSAGES} messages")))
        said = [one for message in body if (one := await _answer(message, host)) is not None]
        return McpAnswer(400 if all(map(_is_malformed, said)) else 200, said) if said else McpAnswer(202)
    answer = await _answer(body, host)
    if answer is None:
        return McpAnswer(202)
    return McpAnswer(400 if _is_malformed(answer) else 200, answer)


async def _answer(message: object, host: ToolHost) -> Json | None:
    """Returns the answer to a message; None for a notification, and for an answer of the client. Errors: those of the
    host.
    """
    number: str | int | None = None
    try:
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            raise _Problem(MALFORMED, 'a message is an object with "jsonrpc": "2.0"')
        method, params = message.get("method"), message.get("params")
        if method is None and ("result" in message or "error" in message):
            return None
        if not isinstance(method, str):
            raise _Problem(MALFORMED, "a message has a method")
        if "id" not in message:
            return None
        if isinstance(message["id"], bool) or not isinstance(message["id"], str | int):
            raise _Problem(MALFORMED, "the id of a request is a text or a whole number")
        number = message["id"]
        params = {} if params is None else params
        if not isinstance(params, dict):
            raise _Problem(BAD_PARAMS, "params: expected an object")
        return {"jsonrpc": "2.0", "id": number, "result": await _result(method, params, host)}
    except _Problem as problem:
        return _error(number, problem)


async def _result(method: str, params: Json, host: ToolHost) -> Json:
    """Returns the result of a request. Errors: _Problem; those of the host."""
    match method:
        case "initialize":
            return _initialized(params)
        case "ping":
            return {}
        case "tools/list":
            if params.get("cursor") not in (None, ""):
                raise _Problem(BAD_PARAMS, "cursor: there is one page, and no cursor")
            return {"tools": [_described(tool) for tool in await host.tools()]}
        case "tools/call":
            return await _called(params, host)
    raise _Problem(NO_METHOD, f"there is no method {method[:200]!r}; this server offers tools only")


def _initialized(params: Json) -> Json:
    """Returns the answer to the greeting of a client: its own version of the protocol if it is spoken here, else the
    newest one that is.
    """
    asked = params.get("protocolVersion")
    if not isinstance(asked, str):
        raise _Problem(BAD_PARAMS, "protocolVersion: expected a text")
    return {
        "protocolVersion": asked if asked in VERSIONS else VERSIONS[0],
        "capabilities": {"tools": {"listChanged": False}},
        "serverInfo": {"name": "ray_gym", "version": version()},
    }


async def _called(params: Json, host: ToolHost) -> Json:
    name, arguments = params.get("name"), params.get("arguments")
    if not isinstance(name, str):
        raise _Problem(BAD_PARAMS, "name: expected the name of a tool")
    if arguments is not None and not isinstance(arguments, dict):
        raise _Problem(BAD_PARAMS, "arguments: expected an object")
    try:
        answer = await host.call(name, arguments or {})
    except Refused as refused:
        if refused.code != UNKNOWN_TOOL:
            raise
        raise _Problem(BAD_PARAMS, refused.message) from None
    return {"content": [{"type": "text", "text": answer.content}], "isError": answer.error is not None}


def _described(tool: ToolSchema) -> Json:
    return {"name": tool.name, "description": tool.description, "inputSchema": {"type": "object", **tool.parameters}}


def _is_malformed(answer: Json) -> bool:
    return bool(answer.get("error", {}).get("code") == MALFORMED)


def _versions(spoken: str) -> Mapping[str, Any]:
    return {"supported": list(VERSIONS), "requested": spoken[:200]}


def _error(number: str | int | None, problem: _Problem) -> Json:
    told: Json = {"code": problem.code, "message": problem.message}
    if problem.data is not None:
        told["data"] = problem.data
    return {"jsonrpc": "2.0", "id": number, "error": told}
