"""Reads the results of calls at MCP servers as the text that a model gets."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ray_gym.mcp.connection import CallRefused, Connection
from ray_gym.messages import utf8
from ray_gym.tools.answer import ToolAnswer

if TYPE_CHECKING:
    from mcp_types import CallToolResult

LONGEST_KIND = 100


async def answer_of(connection: Connection, tool: str, arguments: dict[str, Any]) -> ToolAnswer:
    """Calls a tool of a server, and returns its answer; an error of the call is one. Errors: ServerDown."""
    try:
        return read_result(await connection.call(tool, arguments))
    except CallRefused as refused:
        return _refusal(str(refused))


def read_result(result: CallToolResult) -> ToolAnswer:
    """Reads a result: its texts, a line each, or its structured content as JSON if it has no text. A text says so in the place
    of a picture, a sound or other data; a result of nothing else is an error.
    """
    parts = [_part(part) for part in result.content]
    left = [kind for text, kind in parts if text is None]
    if left and len(left) == len(parts):
        return _refusal(f"the result has {', '.join(left)} in it, and only text can be shown here")
    texts = [
        f"[{kind}: it is left out, as only text can be read here]" if text is None else text for text, kind in parts
    ]
    content = "\n".join(texts)
    if not content and result.structured_content is not None:
        content = json.dumps(result.structured_content, ensure_ascii=False)
    content = utf8(content)
    return ToolAnswer(content, (content or "an error without words") if result.is_error else None)


def _part(part: Any) -> tuple[str | None, str]:
    """Returns the text of a part of a result (None if it has none), and its kind in words."""
    match part.type:
        case "text":
            return part.text, ""
        case "resource_link":
            return f"{part.name}: {part.uri}", ""
        case "resource" if getattr(part.resource, "text", None) is not None:
            return part.resource.text, ""
    kind = getattr(part, "mime_type", None) or getattr(getattr(part, "resource", None), "mime_type", None)
    return None, f"{part.type} ({kind})"[:LONGEST_KIND] if kind else part.type


def _refusal(why: str) -> ToolAnswer:
    return ToolAnswer(json.dumps({"error": why}, ensure_ascii=False), why)
