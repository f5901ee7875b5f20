"""Checks messages that call a tool."""

from __future__ import annotations

import pytest

from ray_gym import Message, ToolCall, tool_call_message


@pytest.mark.parametrize(
    ("arguments", "written"),
    [
        ({"city": "Łódź", "days": 2}, '{"city": "Łódź", "days": 2}'),
        ({}, "{}"),
        ('{"city": ', '{"city": '),
    ],
)
def test_a_message_that_calls_a_tool(arguments: dict[str, object] | str, written: str) -> None:
    """Arguments in the form of text may be malformed, as a model's are."""
    expected = Message("assistant", tool_calls=(ToolCall("call", "look", written),))
    assert tool_call_message("look", arguments) == expected
    assert tool_call_message("look", arguments, "c2").tool_calls[0].id == "c2"
