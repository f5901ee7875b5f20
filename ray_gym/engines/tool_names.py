"""Gives tools and calls the form that endpoints take. OpenAI's and those that follow it refuse names of more than 64
characters, or with other characters than letters, digits, `_` and `-`: agents' own tools may have such names, and tools
of namespaces get them. Most refuse a conversation that has a call without a name, or with arguments that are no JSON
object, as models write them.
"""

from __future__ import annotations

import re
from typing import Any

from msgspec.structs import replace

from ray_gym.messages import ToolCall, ToolSchema, arguments_text
from ray_gym.models.base import CompletionRequest
from ray_gym.seeds import stable_id

LONGEST = 64
UNREADABLE = "unreadable_call"
_TAKEN = re.compile(rf"[A-Za-z0-9_-]{{1,{LONGEST}}}")
_ODD = re.compile(r"[^A-Za-z0-9_-]")
_DIGEST = 8
"""Characters of a digest of the whole name, by which cut names differ."""


def sent_name(name: str) -> str:
    """Returns the name under which an endpoint gets a tool: its own if endpoints take that, else a digest of it and its
    end, which is mostly what tells tools of a namespace apart. A call that could not be read has no name, and gets
    `UNREADABLE`.
    """
    if not name:
        return UNREADABLE
    if _TAKEN.fullmatch(name):
        return name
    head = f"t{stable_id(name)[:_DIGEST]}_"
    return head + _ODD.sub("_", name)[len(head) - LONGEST :]


def sent_tool(tool: ToolSchema) -> dict[str, Any]:
    """Returns a tool in OpenAI's form, under the name that an endpoint gets."""
    form = tool.as_openai()
    form["function"]["name"] = sent_name(tool.name)
    return form


def sent_call(call: ToolCall, keeps_name: bool) -> dict[str, Any]:
    """Returns a tool call of a conversation likewise, with a JSON object as its arguments. `keeps_name`: True if the
    endpoint takes any name.
    """
    name = call.name if keeps_name and call.name else sent_name(call.name)
    return replace(call, name=name, arguments=arguments_text(call.arguments)).as_openai()


def own_name(sent: str, request: CompletionRequest) -> str:
    """Returns the name of the request's tool that an endpoint has under the name `sent`; for others `sent` itself."""
    return next((tool.name for tool in request.tools if sent_name(tool.name) == sent), sent)
