"""Tells which blocks of the Messages API's conversations are read, and names what is left out of them: blocks that tell
of a service's own tools, and fields that ask for something which isn't here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from ray_gym.openai_api.media import media_kind
from ray_gym.openai_api.message_fields import HARMLESS
from ray_gym.openai_api.parts import asks_something

LEFT_OUT = frozenset(
    {"server_tool_use", "web_search_tool_result", "web_fetch_tool_result", "advisor_tool_result"}
    | {"code_execution_tool_result", "bash_code_execution_tool_result", "text_editor_code_execution_tool_result"}
    | {"tool_search_tool_result", "mcp_tool_use", "mcp_tool_result", "mcp_tool_listing", "container_upload"}
    | {"tool_addition", "tool_removal", "browser_state", "fallback", "redacted_thinking"}
)
"""Types of blocks that tell of what a service's tools did, ask for its care, or are sealed."""
_READ: Mapping[str, frozenset[str]] = {
    "text": frozenset({"text", "citations"}),  # those of what was said: nobody asks for some
    "thinking": frozenset({"thinking"}),
    "tool_use": frozenset({"id", "name", "input"}),
    "tool_result": frozenset({"tool_use_id", "content", "is_error"}),
    "search_result": frozenset({"title", "source", "content"}),
    "tool_reference": frozenset({"tool_name"}),
    "document": frozenset({"title", "context", "source"}),
    "compaction": frozenset({"content"}),
}
"""Types of blocks that are read, with the fields that are."""
_QUIET = frozenset({"type", "cache_control", "signature", "encrypted_content", "toolset_name"})
"""Fields of blocks without an effect that nobody has to be told of."""
_OF_MESSAGES = HARMLESS | {"role", "content", "type", "stop_sequence", "stop_details"}
_IDLE = ({"type": "direct"}, {"enabled": False})
"""Objects that ask for nothing: a `caller` that is the model itself, and `citations` that nobody wants."""


def kind_of(block: Mapping[str, Any]) -> str:
    """Returns the type of a block. One without a type is text, as in the other dialects."""
    return str(block.get("type") or "text")


def left_out_of(messages: Sequence[Any]) -> Iterator[str]:
    """Yields the names of the blocks, and of the fields of messages and of blocks, that are left out."""
    for message in messages:
        if isinstance(message, Mapping):
            yield from _unread(message, _OF_MESSAGES, "messages")
            yield from _left_out_of_blocks(message.get("content"))


def _left_out_of_blocks(content: Any) -> Iterator[str]:
    for block in content if isinstance(content, list) else ():
        if not isinstance(block, Mapping):
            continue
        kind, source = kind_of(block), block.get("source")
        if kind in LEFT_OUT or media_kind(block) is not None:  # a picture of the user's own is refused
            yield f"messages.{kind}"
        elif kind in _READ:
            yield from _unread(block, _READ[kind] | _QUIET, f"messages.{kind}")
            yield from _left_out_of_blocks(block.get("content"))
            yield from _left_out_of_blocks(source.get("content") if isinstance(source, Mapping) else None)


def _unread(given: Mapping[str, Any], read: Collection[str], of: str) -> Iterator[str]:
    for name, value in given.items():
        if name not in read and asks_something(value) and value not in _IDLE:
            yield f"{of}.{name}"
