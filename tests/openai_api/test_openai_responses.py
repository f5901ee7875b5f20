"""Checks the Responses API: what is read out of a body, and that the official client's types accept the answers."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from ray_gym.messages import Message, ToolCall
from ray_gym.models.base import Completion
from ray_gym.openai_api.refused import Refused
from ray_gym.openai_api.responses import read_responses, response, response_events

TOOL = {"type": "function", "name": "look", "description": "Look.", "parameters": {"type": "object"}, "strict": False}
MESSAGE = Message("assistant", "I look.", "Let me see.", (ToolCall("c1", "look", '{"at": 1}'),))
SAID = Completion(
    MESSAGE,
    token_ids=np.array([7, 8], np.int32),
    logprobs=np.array([-0.5, -1], np.float32),
    prompt_tokens=3,
    generated_tokens=2,
)


def body(**more: Any) -> dict[str, Any]:
    return {"model": "small", "input": "Hello", **more}


def test_instructions_text_and_items_are_read() -> None:
    asked = read_responses(body(instructions="Be brief.", max_output_tokens=9, store=True))
    assert asked.messages == (Message("system", "Be brief."), Message("user", "Hello"))
    assert asked.sampling == {"max_tokens": 9}
    items = [
        {"role": "user", "content": [{"type": "input_text", "text": "Where?"}]},
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "Here."},
    ]
    asked = read_responses(body(input=items, tools=[TOOL], tool_choice={"type": "function", "name": "look"}))
    assert [message.role for message in asked.messages] == ["user", "assistant", "tool"]
    assert (asked.tool_choice, asked.allowed_tools[0].name) == ("required", "look")


@pytest.mark.parametrize(
    ("more", "param"),
    [
        ({"previous_response_id": "resp_1"}, "previous_response_id"),
        ({"conversation": "conv_1"}, "conversation"),
        ({"input": []}, "input"),
        ({"input": ""}, "input"),
        ({"input": None}, "input"),
        ({"input": {"role": "user", "content": "Hi."}}, "input"),
        ({"input": ["x"] * 100_000}, "input"),
        ({"input": [{"type": "item_reference", "id": "x"}]}, "input"),
        ({"tools": [{"type": 3}]}, "tools"),
        ({"text": {"format": {"type": "grammar"}}}, "text.format.type"),
        ({"text": {"format": {"type": "json_schema", "name": "x"}}}, "text.format"),
        ({"temperature": 1e9}, "temperature"),
    ],
)
def test_what_is_wrong_is_refused_by_its_field(more: dict[str, Any], param: str) -> None:
    with pytest.raises(Refused) as refused:
        read_responses(body(**more))
    assert refused.value.status == 400 and (refused.value.param or "").startswith(param.split(".")[0])
    assert "constrained" not in str(refused.value)


def test_the_official_types_take_an_answer_and_its_items_can_be_said_back() -> None:
    asked = read_responses(body(tools=[TOOL], temperature=0.5, include=["message.output_text.logprobs"]))
    written = json.loads(json.dumps(response(SAID, asked, "resp_1", 5), allow_nan=False))
    answer = Response.model_validate(written)
    assert [item.type for item in answer.output] == ["reasoning", "message", "function_call"]
    assert (answer.status, answer.output_text, answer.temperature) == ("completed", "I look.", 0.5)
    assert answer.usage is not None and answer.usage.total_tokens == 5
    assert [entry["logprob"] for entry in written["output"][1]["content"][0]["logprobs"]] == [-0.5, -1]
    output = {"type": "function_call_output", "call_id": "c1", "output": "There."}
    again = read_responses(body(input=[{"role": "user", "content": "Hello"}, *written["output"], output]))
    assert again.messages[1] == MESSAGE


def test_an_answer_has_the_tools_as_the_request_had_them() -> None:
    strict = {"type": "function", "name": "look", "parameters": {"type": "object"}, "strict": True}
    patch = {"type": "custom", "name": "patch", "format": {"type": "text"}}
    space = {"type": "namespace", "name": "files", "description": "Files.", "tools": [strict, patch]}
    for given in ([strict, space, patch, {"type": "web_search"}], [], None):
        asked = read_responses(body(tools=given))
        answer = response(SAID, asked, "r", 5)
        assert answer["tools"] == (given or []) and len(Response.model_validate(answer).tools) == len(given or [])
        begun = json.loads(next(response_events(SAID, asked, "r", 5)).split("\ndata: ")[1])
        assert begun["response"]["tools"] == (given or [])


def test_an_answer_that_was_cut_is_incomplete() -> None:
    answer = response(Completion(Message("assistant", "I"), finish_reason="length"), read_responses(body()), "r", 5)
    assert Response.model_validate(answer).status == "incomplete"
    assert answer["incomplete_details"] == {"reason": "max_output_tokens"}


def test_events_say_the_same() -> None:
    asked = read_responses(body(stream=True, tools=[TOOL]))
    texts = list(response_events(SAID, asked, "resp_1", 5))
    data = [json.loads(text.split("\ndata: ")[1]) for text in texts]
    events = [TypeAdapter(ResponseStreamEvent).validate_python(event) for event in data]
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert all(text.startswith(f"event: {event.type}\n") for text, event in zip(texts, events, strict=True))
    assert [event.type for event in events][:2] == ["response.created", "response.in_progress"]
    assert data[-1]["type"] == "response.completed" and data[-1]["response"] == response(SAID, asked, "resp_1", 5)
    added = [event["item"]["id"] for event in data if event["type"] == "response.output_item.added"]
    done = [event["item"] for event in data if event["type"] == "response.output_item.done"]
    assert added == [item["id"] for item in done] and done == data[-1]["response"]["output"]
