"""Checks chat completions: what is read out of a body, and that the official client's types accept the answers."""

from __future__ import annotations

import json
import time
from typing import Any

import numpy as np
import pytest
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from processor import slowness

from ray_gym.messages import Message, ToolCall
from ray_gym.models.base import Completion, Sampling
from ray_gym.openai_api.chat import chat_completion, chat_events, read_chat
from ray_gym.openai_api.refused import Refused
from ray_gym.openai_api.responses import read_responses

TOOL = {"type": "function", "function": {"name": "look", "description": "Look.", "parameters": {"type": "object"}}}
OTHER = {"type": "function", "function": {"name": "wait", "parameters": {"type": "object"}}}
HELLO = [{"role": "user", "content": "Hello"}]
CALLED = [
    {"role": "developer", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "Where?"}]},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "Here."},
]
SAID = Completion(
    Message("assistant", "I look.", "Let me see.", (ToolCall("c1", "look", '{"at": 1}'),)),
    prompt_ids=np.array([1, 2, 3], np.int32),
    token_ids=np.array([7, 8], np.int32),
    logprobs=np.array([-0.5, -np.inf], np.float32),
    prompt_tokens=3,
    generated_tokens=2,
    cached_tokens=1,
)


def body(**more: Any) -> dict[str, Any]:
    return {"model": "small", "messages": HELLO, **more}


def test_the_form_of_the_answer_is_read() -> None:
    schema = {"type": "object"}
    whole = {"type": "json_schema", "json_schema": {"name": "place", "schema": schema, "strict": True}}
    assert json.loads(read_chat(body(response_format=whole)).response_format or "") == whole
    given = read_responses(
        {"model": "small", "input": "x", "text": {"format": {**whole["json_schema"], "type": "json_schema"}}}
    )  # type: ignore[dict-item]
    assert json.loads(given.response_format or "") == whole
    assert read_chat(body(response_format={"type": "text"})).response_format is None
    assert read_chat(body(response_format={"type": "json_object"})).response_format == '{"type": "json_object"}'


def test_system_messages_may_be_anywhere() -> None:
    said = [*HELLO, {"role": "system", "content": "Be brief."}]
    assert [message.role for message in read_chat(body(messages=said)).messages] == ["user", "system"]


def test_messages_tools_and_sampling_are_read() -> None:
    asked = read_chat(
        body(messages=CALLED, tools=[TOOL, OTHER], max_completion_tokens=9, stop="END", temperature=0.5, user="someone")
    )
    assert [message.role for message in asked.messages] == ["system", "user", "assistant", "tool"]
    assert asked.messages[1].content == "Where?" and asked.messages[2].tool_calls == (ToolCall("c1", "look", "{}"),)
    request = asked.request(Sampling(top_p=0.9), "session", 5)
    assert request.sampling == Sampling(temperature=0.5, top_p=0.9, max_tokens=9, stop=("END",))
    assert [tool.name for tool in request.tools] == ["look", "wait"] == [tool.name for tool in request.allowed_tools]
    assert (request.tool_choice, request.session_id, request.seed, request.known) == ("auto", "session", 5, 0)


@pytest.mark.parametrize(
    ("choice", "read", "allowed"),
    [
        ("required", "required", ["look", "wait"]),
        ("none", "none", ["look", "wait"]),
        ({"type": "function", "function": {"name": "wait"}}, "required", ["wait"]),
        ({"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [TOOL]}}, "auto", ["look"]),
    ],
)
def test_ways_to_choose_tools(choice: Any, read: str, allowed: list[str]) -> None:
    asked = read_chat(body(tools=[TOOL, OTHER], tool_choice=choice))
    assert (asked.tool_choice, [tool.name for tool in asked.allowed_tools]) == (read, allowed)


@pytest.mark.parametrize(
    ("more", "param"),
    [
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "messages"),
        ({"messages": CALLED[:3]}, "messages"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]}, "messages"),
        ({"messages": [{"role": "tool", "content": "x", "tool_call_id": 3}]}, "messages"),
        ({"tools": [{"type": 3}]}, "tools"),
        ({"tools": [{"type": "custom", "custom": {}}]}, "tools"),
        ({"tools": [TOOL, TOOL]}, "tools"),
        ({"tools": "look"}, "tools"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "fly"}}}, "tool_choice"),
        ({"tools": [TOOL], "tool_choice": {"type": "function", "function": None}}, "tool_choice"),
        ({"temperature": -1}, "temperature"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"stop": [3]}, "stop.0"),
        ({"n": 2}, "n"),
        ({"seed": 2**70}, "seed"),
        ({"top_logprobs": 5}, "top_logprobs"),
        ({"response_format": {"type": "grammar"}}, "response_format.type"),
        ({"response_format": {"type": "json_schema", "json_schema": {"name": "x"}}}, "response_format"),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"schema": {"x": "y" * 50_000}}}},
            "response_format",
        ),
        ({"functions": [{"name": "look"}]}, "functions"),
        ({"model": 3}, "model"),
    ],
)
def test_what_is_wrong_is_refused_by_its_field(more: dict[str, Any], param: str) -> None:
    with pytest.raises(Refused) as refused:
        read_chat(body(**more))
    assert (refused.value.status, refused.value.param) == (400, param)


def test_a_body_that_is_no_object_is_refused() -> None:
    for wrong in (None, [], "x", {}):
        with pytest.raises(Refused):
            read_chat(wrong)


def test_the_official_types_take_an_answer_and_it_can_be_said_back() -> None:
    asked = read_chat(body(tools=[TOOL], logprobs=True, return_token_ids=True))
    written = json.loads(json.dumps(chat_completion(SAID, asked, "chatcmpl-1", 5), allow_nan=False))
    answer = ChatCompletion.model_validate(written)
    (choice,) = answer.choices
    assert (answer.model, choice.finish_reason, choice.message.content) == ("small", "tool_calls", "I look.")
    assert choice.message.tool_calls is not None and choice.message.tool_calls[0].id == "c1"
    assert answer.usage is not None and answer.usage.total_tokens == 5
    assert choice.logprobs is not None and choice.logprobs.content is not None
    assert [entry.logprob for entry in choice.logprobs.content] == [-0.5, -9999.0]
    assert written["prompt_token_ids"] == [1, 2, 3] and written["choices"][0]["token_ids"] == [7, 8]
    result = {"role": "tool", "tool_call_id": "c1", "content": "There."}
    again = read_chat(body(messages=[*HELLO, choice.message.model_dump(), result]))
    assert again.messages[1] == SAID.message


def test_what_was_not_asked_for_is_not_told() -> None:
    written = chat_completion(SAID, read_chat(body()), "chatcmpl-1", 5)
    assert "prompt_token_ids" not in written and "token_ids" not in written["choices"][0]
    assert written["choices"][0]["logprobs"] is None


def test_the_whole_prompt_can_be_told_where_a_call_only_added_to_it() -> None:
    asked = read_chat(body(return_token_ids=True))
    assert chat_completion(SAID, asked, "c", 5, np.arange(4, dtype=np.int32))["prompt_token_ids"] == [0, 1, 2, 3]


@pytest.mark.parametrize(("finish", "told"), [("length", "length"), ("context_full", "length"), ("stop", "stop")])
def test_how_it_ended(finish: Any, told: str) -> None:
    completion = Completion(Message("assistant", "x"), finish_reason=finish)
    assert chat_completion(completion, read_chat(body()), "c", 5)["choices"][0]["finish_reason"] == told


def test_events_say_the_same() -> None:
    options = {"stream": True, "stream_options": {"include_usage": True}, "logprobs": True, "return_token_ids": True}
    asked = read_chat(body(tools=[TOOL], **options))
    *events, done = list(chat_events(SAID, asked, "chatcmpl-1", 5))
    assert asked.stream and done == "data: [DONE]\n\n"
    chunks = [ChatCompletionChunk.model_validate(json.loads(event.removeprefix("data: "))) for event in events]
    delta = chunks[0].choices[0].delta
    assert (delta.role, delta.content) == ("assistant", "I look.") and delta.tool_calls is not None
    assert (delta.tool_calls[0].index, delta.tool_calls[0].id) == (0, "c1")
    assert chunks[1].choices[0].finish_reason == "tool_calls"
    assert chunks[2].usage is not None and chunks[2].usage.completion_tokens == 2 and not chunks[2].choices


@pytest.mark.parametrize("id", [[], {}, 7, None])
def test_ids_of_calls_are_text(id: Any) -> None:
    with pytest.raises(Refused, match=r"messages\[1\]|the id of a call has to be text"):
        read_chat({"model": "m", "messages": [*HELLO, {"role": "tool", "content": "x", "tool_call_id": id}]})
    made = {"role": "assistant", "tool_calls": [{"id": id, "function": {"name": "look", "arguments": "{}"}}]}
    if id is not None:
        with pytest.raises(Refused, match="id"):
            read_chat({"model": "m", "messages": [*HELLO, made, *HELLO]})
    with pytest.raises(Refused):
        read_responses(
            {"model": "m", "input": [*HELLO, {"type": "function_call_output", "call_id": id, "output": "x"}]}
        )


def test_a_conversation_and_its_tools_have_a_size() -> None:
    many = [*HELLO] * 10_001
    with pytest.raises(Refused, match="at most 10000 items"):
        read_chat({"model": "m", "messages": many})
    with pytest.raises(Refused, match="input"):
        read_responses({"model": "m", "input": many})
    assert len(read_responses({"model": "m", "input": many[1:]}).messages) == 10_000
    tools = [{"type": "function", "function": {"name": f"t{n}"}} for n in range(1_001)]
    with pytest.raises(Refused, match="at most 1000 items"):
        read_chat({"model": "m", "messages": HELLO, "tools": tools})


def test_many_names_of_allowed_tools_take_no_time() -> None:
    tools = [{"type": "function", "function": {"name": f"t{n}"}} for n in range(1_000)]
    names = [{"type": "function", "function": {"name": f"u{n}"}} for n in range(100_000)]
    choice = {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [*names, tools[3]]}}
    began = time.process_time()
    asked = read_chat({"model": "m", "messages": HELLO, "tools": tools, "tool_choice": choice})
    assert [tool.name for tool in asked.allowed_tools] == ["t3"]
    assert time.process_time() - began < slowness()
