"""Decides under which names and schemas models see the tools of MCP servers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ray_gym.mcp.options import MOST_NAME, McpServer
from ray_gym.messages import ToolSchema, utf8
from ray_gym.tools.arguments import ArgumentsBySchema

if TYPE_CHECKING:
    from mcp_types import Tool as McpTool

LONGEST = 100_000
"""Most characters of a tool's description and its schema."""
MOST_TOOLS = 1000
"""Most tools of a server."""
_OTHER = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """Holds a tool of a server as models see it."""

    server: str
    """Name of the server in the config."""
    name: str
    """Name of the tool at the server."""
    schema: ToolSchema


def offered_tools(server: str, options: McpServer, found: Sequence[McpTool]) -> list[OfferedTool]:
    """Returns the tools of a server that are offered, in its order. Errors: ValueError for one that the config names and
    the server does not have, and for a name or a schema that no model can be shown.
    """
    there = {tool.name: tool for tool in found}
    wanted = list(there) if options.tools is None else list(options.tools)
    if missing := [name for name in (*wanted, *options.effects) if name not in there]:
        raise ValueError(f"it has no tool {missing[0]!r}; it has: {', '.join(list(there)[:50]) or 'none'}")
    if len(wanted) > MOST_TOOLS:
        raise ValueError(f"it has {len(wanted):,} tools, and {MOST_TOOLS:,} may be offered; name some in `tools`")
    return [OfferedTool(server, name, _schema(there[name], options)) for name in wanted]


def _schema(tool: McpTool, options: McpServer) -> ToolSchema:
    """Returns the schema of a tool under its name for models. Errors: ValueError if it is not fit for them."""
    name = options.prefix + _OTHER.sub("_", tool.name)
    try:
        if not 0 < len(name) <= MOST_NAME:
            raise ValueError(f"its name is {len(name)} characters long, and may have 1 to {MOST_NAME}")
        description, parameters = utf8(tool.description or ""), dict(tool.input_schema)
        size = len(description) + len(json.dumps(parameters))
        if size > LONGEST:
            raise ValueError(f"its description and schema have {size:,} characters, and may have {LONGEST:,}")
        ArgumentsBySchema(parameters)
    except RecursionError:
        raise ValueError(f"tool {tool.name[:100]!r}: its schema is nested too deeply{_ADVICE}") from None
    except ValueError as error:
        raise ValueError(f"tool {tool.name[:100]!r}: {error}{_ADVICE}") from None
    return ToolSchema(name, description, {"properties": {}, **parameters})


_ADVICE = "; name the tools that you want in `tools`"


def require_distinct(tools: Iterable[OfferedTool], own: Mapping[str, object]) -> None:
    """Checks that models see no two tools under one name. `own`: tools of the environment by name. Errors: ValueError."""
    seen: dict[str, str] = dict.fromkeys(own, "the environment")
    for tool in tools:
        shown = tool.schema.name
        if shown in seen:
            raise ValueError(
                f"{seen[shown]} and server {tool.server} both have a tool {shown!r}: give the server a `prefix`"
            )
        seen[shown] = f"server {tool.server}"
