"""Checks messages that call a tool, the arguments of calls, and which texts are blank."""

from __future__ import annotations

import json

import pytest

from ray_gym import Message, ToolCall, tool_call_message
from ray_gym.messages import arguments_object, arguments_text, is_blank


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


@pytest.mark.parametrize("text", ["", " ", "null", " null\n", "{}"])
def test_no_arguments_are_an_empty_object_wherever_objects_are_shown(text: str) -> None:
    assert arguments_object(text) == json.loads(arguments_text(text)) == {}


@pytest.mark.parametrize("text", ['"null"', "nulls", "0", "[]", "false"])
def test_arguments_that_are_no_object_are_shown_in_one(text: str) -> None:
    assert arguments_object(text) == json.loads(arguments_text(text)) == {"arguments": text}


@pytest.mark.parametrize(
    "text",
    ["", " \n\t", "\u200b", "\ufeff", "\u2060", "\u00a0\u200d", "\u3000", "\u00ad", "\u3164", "\u2800", "\ufe0f", "\x00",
     "\U000e0041"],
)  # fmt: skip
def test_a_text_that_shows_nothing_is_blank(text: str) -> None:
    assert is_blank(text) and is_blank(text * 3 + " ")
    assert not is_blank(text + "0") and not is_blank("." + text)


@pytest.mark.parametrize("text", ["0", ".", "é", "👍", "ਅ", "\u0301", "\ufffd", "\ud800", "\ue000", "\u0660"])
def test_a_text_that_shows_anything_is_not_blank(text: str) -> None:
    assert not is_blank(text) and not is_blank(f"\u200b{text}\u200b")
