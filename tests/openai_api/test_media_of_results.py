"""Checks that an agent which looks at a picture by a tool of its own goes on: its model is told that it can't see it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ray_gym.anthropic_api.request import read_message_request
from ray_gym.openai_api.chat import read_chat
from ray_gym.openai_api.refused import Refused
from ray_gym.openai_api.request import ApiRequest
from ray_gym.openai_api.responses import read_responses

LOOK = {"name": "look", "description": "Looks.", "input_schema": {"type": "object"}}


def chat(part: Any) -> ApiRequest:
    call = {"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    result = {"role": "tool", "tool_call_id": "1", "content": [{"type": "text", "text": "It is here."}, part]}
    messages = [{"role": "user", "content": "x"}, {"role": "assistant", "tool_calls": [call]}, result]
    return read_chat({"model": "small", "messages": messages})


def responses(part: Any) -> ApiRequest:
    call = {"type": "function_call", "call_id": "1", "name": "look", "arguments": "{}"}
    output = [{"type": "input_text", "text": "It is here."}, part]
    items = [{"role": "user", "content": "x"}, call, {"type": "function_call_output", "call_id": "1", "output": output}]
    return read_responses({"model": "small", "input": items})


def anthropic(part: Any) -> ApiRequest:
    call = {"type": "tool_use", "id": "1", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "It is here."}, part]}
    messages = [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]
    return read_message_request({"model": "small", "max_tokens": 9, "messages": messages})


PDF = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "x"}}


@pytest.mark.parametrize(
    ("read", "part", "name"),
    [
        (chat, {"type": "image_url", "image_url": {"url": "data:x"}}, "messages.content.image_url"),
        (chat, {"type": "input_audio", "input_audio": {"data": "x"}}, "messages.content.input_audio"),
        (responses, {"type": "input_image", "image_url": "data:x", "detail": "high"}, "input.output.input_image"),
        (responses, {"type": "input_file", "file_data": "x"}, "input.output.input_file"),
        (anthropic, {"type": "image", "source": {"type": "base64", "data": "x"}}, "messages.image"),
        (anthropic, PDF, "messages.document"),
    ],
)
def test_a_picture_of_a_tools_result_is_a_text(read: Callable[[Any], ApiRequest], part: Any, name: str) -> None:
    asked = read(part)
    told = f"It is here.\n[{part['type']}: it is left out, as only text can be read here]"
    assert (asked.messages[-1].role, asked.messages[-1].content) == ("tool", told)
    assert asked.left_out == (name,)


def test_a_picture_within_a_document_of_a_result_is_a_text() -> None:
    within = [{"type": "text", "text": "Page 1"}, {"type": "image", "source": {"type": "base64", "data": "x"}}]
    asked = anthropic({"type": "document", "title": "Plan", "source": {"type": "content", "content": within}})
    told = "It is here.\nPlan\nPage 1\n[image: it is left out, as only text can be read here]"
    assert asked.messages[-1].content == told and asked.left_out == ("messages.image",)


@pytest.mark.parametrize("read", [chat, responses, anthropic])
def test_other_parts_of_a_result_are_refused(read: Callable[[Any], ApiRequest]) -> None:
    with pytest.raises(Refused, match="'hologram': only text can be read"):
        read({"type": "hologram"})


def test_a_picture_of_the_users_own_is_refused() -> None:
    picture = {"type": "image", "source": {"type": "base64", "data": "x"}}
    with pytest.raises(Refused, match="'image': only text can be read"):
        read_message_request({"model": "small", "max_tokens": 9, "messages": [{"role": "user", "content": [picture]}]})
