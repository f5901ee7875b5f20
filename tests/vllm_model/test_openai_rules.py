"""Checks which request bodies of callers vLLM's server accepts, by the body alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ray_gym.deployments.vllm.openai_rules import check_body, known_fields
from ray_gym.openai_api.chat import read_chat
from ray_gym.openai_api.refused import Refused
from ray_gym.openai_api.responses import read_responses

IMAGE = {"type": "image_url", "image_url": {"url": "http://169.254.169.254/"}}


def sent(**more: Any) -> bytes:
    return json.dumps({"model": "mine", "messages": [{"role": "user", "content": "Hello"}], **more}).encode()


def test_the_rest_goes_on_as_it_is_under_the_name_that_the_replica_has() -> None:
    body = sent(n=2, logprobs=True, top_logprobs=3, stop=["a"], something_new={"x": 1}, background=False, priority=0)
    assert json.loads(check_body(body, "small", takes_seeds=False)) == {**json.loads(body), "model": "small"}
    assert json.loads(check_body(sent(seed=5), "small", takes_seeds=True))["seed"] == 5
    assert json.loads(check_body(sent(prompt=list(range(100))), "small", takes_seeds=True))  # one prompt, as token ids


@pytest.mark.parametrize(
    ("more", "param"),
    [
        ({"seed": 0}, "seed"),
        ({"n": 17}, "n"),
        ({"n": 0}, "n"),
        ({"best_of": 4}, "best_of"),
        ({"top_k": 2**40}, "top_k"),
        ({"stop_token_ids": [2**33]}, "stop_token_ids"),
        ({"logprobs": 1000}, "logprobs"),
        ({"max_tokens": -1}, "max_tokens"),
        ({"temperature": "hot"}, "temperature"),
        ({"background": True}, "background"),
        ({"previous_response_id": "resp_1"}, "previous_response_id"),
        ({"prompt_embeds": "gASV"}, "prompt_embeds"),
        ({"kv_transfer_params": {"a": 1}}, "kv_transfer_params"),
        ({"priority": -5}, "priority"),
        ({"request_id": "another's"}, "request_id"),
        ({"chat_template": "{{ 1 }}"}, "chat_template"),
        ({"chat_template_kwargs": {"tools": []}}, "chat_template_kwargs"),
        ({"structured_outputs": {"regex": "a" * 60_000}}, "structured_outputs"),
        ({"messages": [{"role": "user", "content": [IMAGE]}]}, "messages"),
        ({"input": [{"role": "user", "content": [{"type": "input_image"}]}]}, "input"),
        ({"tools": [{"type": "mcp", "server_url": "http://x"}]}, "tools"),
        ({"prompt": ["a"] * 17}, "prompt"),
        ({"prompt": [[1]] * 17}, "prompt"),
    ],
)
def test_what_is_not_offered_or_out_of_bounds_is_refused(more: dict[str, Any], param: str) -> None:
    with pytest.raises(Refused) as refused:
        check_body(sent(**more), "small", takes_seeds=False)
    assert (refused.value.status, refused.value.param) == (400, param)


@pytest.mark.parametrize("field", ["nonsense", "functions", "function_call", "audio", "max_output_tokens"])
def test_what_vllm_would_drop_without_a_word_is_refused_by_name(field: str) -> None:
    known = known_fields("/v1/chat/completions")
    with pytest.raises(Refused, match=f"{field} is not followed here"):
        check_body(sent(**{field: 5}), "small", True, known)
    assert check_body(sent(**{field: None}, store=True, modalities=["text"], top_k=5), "small", True, known)


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b'{"top_p": NaN}', b'{"prompt": "\\ud800"}', b"\xff", b"[" * 99_999]
)
def test_what_is_no_json_is_refused(body: bytes) -> None:
    with pytest.raises(Refused) as refused:
        check_body(body, "small", takes_seeds=True)
    assert refused.value.status == 400


def test_sessions_know_the_defaults_of_all_fields_of_vllm() -> None:
    from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
    from vllm.entrypoints.openai.responses.protocol import ResponsesRequest

    for kind, read, asked in (
        (ChatCompletionRequest, read_chat, {"messages": [{"role": "user", "content": "Hello"}]}),
        (ResponsesRequest, read_responses, {"input": "Hello"}),
    ):
        for name, field in kind.model_fields.items():
            if name in asked or name in ("model", "request_id"):  # the latter's default is random
                continue
            given = field.get_default(call_default_factory=True)
            read({"model": "mine", **asked, name: given if isinstance(given, int | float | str | list) else None})


TALK: list[Any] = [
    {"role": "user", "content": "Hi"},
    {"type": "reasoning", "id": "r", "summary": None, "content": [{"type": "reasoning_text", "text": "hm"}]},
    {"role": "assistant", "content": [{"type": "output_text", "text": "Say"}, {"type": "output_text", "text": "hi."}]},
    {"type": "function_call", "call_id": "1", "name": "f", "arguments": "not json"},
    {"type": "function_call", "call_id": "2", "name": "f", "arguments": None},
    {"type": "function_call_output", "call_id": "1", "output": None},
    {"type": "function_call_output", "call_id": "2", "output": [{"type": "output_text", "text": "done"}]},
    {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "so"}], "encrypted_content": "x"},
    {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}], "type": "message"},
    {"role": "user", "content": [{"type": "output_text", "text": "Why?"}]},
]


@pytest.mark.parametrize("items", [TALK, TALK[:1], [{"role": "user", "content": "Hi", "status": "in_progress"}]])
def test_vllm_reads_the_items_of_the_responses_api_as_a_session_does(items: list[Any]) -> None:
    from vllm.entrypoints.openai.responses.protocol import ResponsesRequest
    from vllm.entrypoints.openai.responses.utils import construct_input_messages, should_continue_final_message

    body = {"model": "small", "input": items}
    request = ResponsesRequest.model_validate_json(check_body(json.dumps(body).encode(), "small", True))
    assert not should_continue_final_message(request.input)
    plain = construct_input_messages(request_input=request.input)
    session = read_responses(body).messages
    assert [
        (one["role"], one.get("content") or "", one.get("reasoning"), one.get("tool_call_id")) for one in plain
    ] == [(one.role, one.content, one.reasoning, one.tool_call_id) for one in session]
    assert [[call["function"]["name"] for call in one.get("tool_calls", ())] for one in plain] == [
        [call.name for call in one.tool_calls] for one in session
    ]


SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}


@pytest.mark.parametrize("door", ["messages", "input"])
@pytest.mark.parametrize(
    "tool",
    [
        {"type": "function", "function": {"name": "f", "description": "d", "parameters": SCHEMA}},
        {"type": "function", "name": "f", "description": "d", "parameters": SCHEMA},
        {"type": "function", "name": "f", "parameters": None},
        {"type": "function", "function": {"name": "f"}},
    ],
)
def test_tools_are_read_alike_at_both_doors(tool: dict[str, Any], door: str) -> None:
    body = {"model": "small", "tools": [tool], door: [{"role": "user", "content": "Hi"}]}
    read = read_chat(body) if door == "messages" else read_responses(body)
    [written] = json.loads(check_body(json.dumps(body).encode(), "small", True))["tools"]
    assert written == (
        read.tools[0].as_openai()
        if door == "messages"
        else {**read.tools[0].as_openai()["function"], "type": "function"}
    )


@pytest.mark.parametrize("mode", ["required", "auto"])
def test_a_choice_of_allowed_tools_narrows_them(mode: str) -> None:
    tools = [{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in "fgh"]
    named = [{"type": "function", "function": {"name": "g"}}]
    choice: dict[str, Any] = {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": named}}
    read = json.loads(check_body(sent(tools=tools, tool_choice=choice), "small", True))
    assert ([tool["function"]["name"] for tool in read["tools"]], read["tool_choice"]) == (["g"], mode)
    flat = [{"type": "function", "name": name} for name in "fgh"]
    choice = {"type": "allowed_tools", "mode": mode, "tools": [flat[1]]}
    asked = {"model": "small", "input": "Hello", "tools": flat, "tool_choice": choice}
    read = json.loads(check_body(json.dumps(asked).encode(), "small", True))
    assert ([tool["name"] for tool in read["tools"]], read["tool_choice"]) == (["g"], mode)


def test_options_of_a_stream_are_of_no_use_without_one() -> None:
    options = {"stream_options": {"include_usage": True}}
    assert "stream_options" not in json.loads(check_body(sent(**options), "small", True))
    assert json.loads(check_body(sent(stream=True, **options), "small", True)).items() >= options.items()


@pytest.mark.parametrize("tools", [[{"type": "function", "name": "f"}] * 2, [{"type": "function"}], {"a": 1}, [5]])
def test_tools_that_cannot_be_read_are_refused_by_name(tools: Any) -> None:
    with pytest.raises(Refused, match="tool"):
        check_body(sent(tools=tools), "small", True)
