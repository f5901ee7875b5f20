"""Reads the items of a request of the Responses API as those that make up a conversation.

Calls become those of functions. Items and fields of items that are a service's own, or the model's maker's, are left
out, which is noted; a reference to an item that is stored elsewhere is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ray_gym.openai_api.free_form import INPUT, arguments_of
from ray_gym.openai_api.media import without_media
from ray_gym.openai_api.message_fields import without_name
from ray_gym.openai_api.offered_tools import OfferedTools, kind_of
from ray_gym.openai_api.parts import asks_something
from ray_gym.openai_api.refused import bad_request

LEFT_OUT = frozenset(
    {"web_search_call", "file_search_call", "code_interpreter_call", "computer_call", "computer_call_output"}
    | {"image_generation_call", "local_shell_call", "local_shell_call_output", "shell_call", "shell_call_output"}
    | {"apply_patch_call", "apply_patch_call_output", "tool_search_call", "tool_search_output"}
    | {"mcp_call", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response", "program", "program_output"}
    | {"multi_agent_call", "multi_agent_call_output", "agent_message"}
    | {"compaction", "compaction_trigger", "configuration_update"}
)
"""Types of items that tell of what a service's tools did, or ask for its own care for the conversation."""
_FIELDS_LEFT_OUT = ("agent", "async", "caller")
"""Fields of items by which a service says who made a call, and how."""
_ADDED = "additional_tools"


def with_added(tools: Sequence[Any], items: Sequence[Any]) -> list[Any]:
    """Returns a request's tools with those that its items of type `additional_tools` add, each of these once."""
    added = [tool for item in items if _adds_tools(item) for tool in item["tools"]]
    known = {json.dumps(tool, sort_keys=True) for tool in tools} if added else set()
    new = {json.dumps(tool, sort_keys=True): tool for tool in added}
    return [*tools, *(tool for spelled, tool in new.items() if spelled not in known)]


def plain_items(items: Sequence[Any], offered: OfferedTools) -> list[tuple[int, Any]]:
    """Returns the items of a conversation in which all calls are of functions, each after its index in `items`. What is
    left out is noted in `offered`. Errors: Refused (400) for a reference to an item.
    """
    told = [(number, one) for number, one in enumerate(items) if not _adds_tools(one)]
    return [(number, _plain_item(one, offered)) for number, one in told if not _is_left_out(one, offered)]


def _adds_tools(item: Any) -> bool:
    return kind_of(item) == _ADDED and isinstance(item.get("tools"), list)


def _is_left_out(item: Any, offered: OfferedTools) -> bool:
    kind = kind_of(item)
    if kind not in LEFT_OUT:
        return False
    offered.left_out.append(f"input.{kind}")
    return True


def _plain_item(item: Any, offered: OfferedTools) -> Any:
    if not isinstance(item, Mapping):
        return item
    kind = kind_of(item)
    if kind == "item_reference" or (kind is None and "id" in item and item.keys() <= {"id", "type"}):
        told = "items are not stored here, so none can be referred to; send the item itself"
        raise bad_request(f"input: item_reference {str(item.get('id'))[:80]!r}: {told}", "input")
    item = without_name(_without_fields(item, offered), "input", offered.left_out)
    if kind in ("function_call_output", "custom_tool_call_output"):  # the call says of which namespace it is
        output = {"output": without_media(item["output"], "input.output", offered.left_out)} if "output" in item else {}
        kept = {name: value for name, value in item.items() if name != "namespace"}
        return {**kept, **output, "type": "function_call_output"}
    if kind in ("function_call", "custom_tool_call"):
        return _plain_call(item, offered)
    return item


def _plain_call(call: Mapping[str, Any], offered: OfferedTools) -> Mapping[str, Any]:
    """Returns a call under the name that the model knows, with the arguments of a function."""
    if call["type"] == "custom_tool_call" and INPUT not in call:
        return call
    kept = {name: value for name, value in call.items() if name != "namespace"}
    if call.get("namespace"):
        kept["name"] = offered.flat_name(call["namespace"], call.get("name"))
    if call["type"] == "custom_tool_call":
        kept |= {"type": "function_call", "arguments": arguments_of(kept.pop(INPUT))}
    return kept


def _without_fields(item: Mapping[str, Any], offered: OfferedTools) -> Mapping[str, Any]:
    """Returns an item without the fields that are left out. That the model itself made a call is not noted."""
    for name in _FIELDS_LEFT_OUT:
        if asks_something(item.get(name)) and item[name] != {"type": "direct"}:
            offered.left_out.append(f"input.{name}")
    return {name: value for name, value in item.items() if name not in _FIELDS_LEFT_OUT}
