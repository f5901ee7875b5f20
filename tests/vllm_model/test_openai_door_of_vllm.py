"""Plays the OpenAI-compatible API in front of the real small model under vLLM, with the official client over HTTP."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import httpx
import openai
import pytest
from conftest import REPOSITORY, eventually, free_port

from ray_gym.deployments.chat.chat_format import ChatFormat
from ray_gym.deployments.chat.checkpoint import load_tokenizer
from ray_gym.messages import Message, ToolSchema
from ray_gym.models.base import NO_TOKENS

pytestmark = [pytest.mark.ray, pytest.mark.engine, pytest.mark.models]

PARAMETERS = {
    "type": "object",
    "properties": {"city": {"type": "string", "enum": ["Oslo", "Rome"]}},
    "required": ["city"],
    "additionalProperties": False,
}
SCHEMA = ToolSchema("get_weather", "The weather of a city.", PARAMETERS)
TOOL: Any = SCHEMA.as_openai()
FLAT_TOOL: Any = {"type": "function", "strict": False, **TOOL["function"]}
QUESTION: Any = [{"role": "user", "content": "What is the weather in Rome?"}]
GREEDY: Any = {"model": "small", "temperature": 0.0}


@pytest.fixture(scope="module")
def address(model_cluster: dict[str, str], small_model_app: str) -> Iterator[str]:
    port = free_port()
    script = str(REPOSITORY / "tests" / "door_app.py")
    server = subprocess.Popen(
        [sys.executable, script, small_model_app, str(port)],
        env={**model_cluster, "PYTHONPATH": str(REPOSITORY)},
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
    )

    def is_up() -> bool:
        assert server.poll() is None
        try:
            return httpx.get(f"http://127.0.0.1:{port}/v1/models").status_code == 200
        except httpx.TransportError:
            return False

    eventually(is_up, 60)
    yield f"http://127.0.0.1:{port}/v1"
    assert server.stdin is not None
    server.stdin.close()
    server.wait(timeout=30)


@pytest.fixture(scope="module")
def client(address: str) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(api_key="none", base_url=address, max_retries=0, timeout=120) as client:
        yield client


def test_chat_with_logprobs_and_token_ids_as_episodes_have_them(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == ["gone", "small"]
    assert client.models.retrieve("small").id == "small"
    chat_format = ChatFormat(*_tokens())
    for tools in ((), (SCHEMA,)):
        answer = client.chat.completions.create(
            messages=QUESTION,
            tools=[tool.as_openai() for tool in tools] or openai.NOT_GIVEN,  # type: ignore[arg-type]
            max_tokens=8,
            logprobs=True,
            top_logprobs=2,
            extra_body={"return_token_ids": True},
            **GREEDY,
        )
        said, given = answer.choices[0], answer.model_dump()
        prompt = chat_format.prompt([Message("user", QUESTION[0]["content"])], tools, 0, NO_TOKENS).new_ids
        assert given["prompt_token_ids"] == prompt.tolist()
        assert said.logprobs is not None and said.logprobs.content is not None
        assert len(given["choices"][0]["token_ids"]) == len(said.logprobs.content) == 8
        assert len(said.logprobs.content[0].top_logprobs) == 2 and said.finish_reason == "length"
        whole = client.completions.create(prompt=given["prompt_token_ids"], max_tokens=8, **GREEDY)
        assert whole.choices[0].text == said.message.content
        assert answer.model == "small" and answer.usage is not None and answer.usage.prompt_tokens == len(prompt)


def test_a_streamed_answer_says_the_same(client: openai.OpenAI) -> None:
    asked: Any = {"messages": QUESTION, "max_tokens": 12, **GREEDY}
    whole = client.chat.completions.create(**asked, extra_headers={"X-Session-ID": "mine"}).choices[0].message.content
    options: Any = {"include_usage": True}
    *chunks, last = client.chat.completions.create(**asked, stream=True, stream_options=options)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == whole
    assert len(chunks) > 2 and last.usage is not None and last.usage.completion_tokens == 12
    pieces = list(client.completions.create(prompt="Once upon", max_tokens=4, stream=True, **GREEDY))
    assert len(pieces) >= 2


def test_tools(client: openai.OpenAI) -> None:
    asked: Any = {"messages": QUESTION, "tools": [TOOL], "max_tokens": 32, "parallel_tool_calls": False, **GREEDY}
    named: Any = {"type": "function", "function": {"name": "get_weather"}}
    for choice in ("required", named):
        whole = client.chat.completions.create(tool_choice=choice, **asked).choices[0]
        assert whole.message.tool_calls is not None
        (call,) = whole.message.tool_calls
        assert call.type == "function" and call.function.name == "get_weather"
        assert json.loads(call.function.arguments)["city"] in ("Oslo", "Rome")
        chunks = list(client.chat.completions.create(tool_choice=choice, stream=True, **asked))
        deltas = [delta for chunk in chunks for delta in chunk.choices[0].delta.tool_calls or ()]
        assert [(delta.index, delta.function and delta.function.arguments) for delta in deltas] == [
            (0, call.function.arguments)
        ]
        assert whole.finish_reason == "tool_calls" if choice == "required" else whole.finish_reason
        assert chunks[-1].choices[0].finish_reason in ("tool_calls", "stop")
    result: Any = {"role": "tool", "tool_call_id": call.id, "content": "Sunny."}
    told = client.chat.completions.create(
        **{**asked, "messages": [*QUESTION, whole.message.model_dump(exclude_none=True), result], "tool_choice": "auto"}
    )
    assert told.choices[0].message.content or told.choices[0].message.tool_calls


def test_responses(client: openai.OpenAI) -> None:
    asked: Any = {"input": "What is the weather in Rome?", "max_output_tokens": 12, **GREEDY}
    whole = client.responses.create(**asked)
    assert whole.output_text and whole.usage is not None and whole.usage.output_tokens == 12
    with client.responses.stream(**asked) as stream:
        deltas = [event.delta for event in stream if event.type == "response.output_text.delta"]
        assert "".join(deltas) == whole.output_text == stream.get_final_response().output_text
    forced = client.responses.create(
        **{**asked, "max_output_tokens": 32}, tools=[FLAT_TOOL], tool_choice="required", parallel_tool_calls=False
    )
    (call,) = forced.output
    assert call.type == "function_call" and json.loads(call.arguments)["city"] in ("Oslo", "Rome")
    output: Any = {"type": "function_call_output", "call_id": call.call_id, "output": "Sunny."}
    told = client.responses.create(
        **{**asked, "input": [*QUESTION, call.model_dump(exclude_none=True), output]}, tools=[FLAT_TOOL]
    )
    assert told.output


def test_an_answer_in_a_form_of_the_callers(client: openai.OpenAI) -> None:
    form: Any = {"type": "json_schema", "json_schema": {"name": "place", "schema": PARAMETERS}}
    for _ in range(2):
        said = client.chat.completions.create(messages=QUESTION, response_format=form, max_tokens=32, **GREEDY)
        assert json.loads(said.choices[0].message.content or "")["city"] in ("Oslo", "Rome")


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"model": "other", "messages": QUESTION}, 404, "model_not_found"),
        ({"model": "gone", "messages": QUESTION}, 503, "unavailable"),
        ({"model": "small", "messages": QUESTION, "seed": 5}, 400, "invalid_request"),
        ({"model": "small"}, 400, "invalid_request"),
        ({"model": "small", "messages": "Hello"}, 400, "invalid_request"),
        ({"model": "small", "messages": QUESTION, "max_tokens": 10**6}, 400, "invalid_request"),
        ({"model": "small", "messages": QUESTION, "structured_outputs": {"regex": "("}}, 400, "invalid_request"),
        ({"model": "small", "messages": QUESTION, "tools": [{"type": "function"}]}, 400, "invalid_request"),
    ],
)
def test_errors(address: str, body: Any, status: int, code: str) -> None:
    answer = httpx.post(f"{address}/chat/completions", json=body, timeout=60)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code), answer.text


def test_nothing_of_the_server_is_kept_or_reached_beside_it(address: str) -> None:
    refused = httpx.post(f"{address}/responses", json={"model": "small", "input": "x", "previous_response_id": "r"})
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "previous_response_id")
    for path in ("responses/resp_1", "load_lora_adapter", "../tokenize", "chat/completions/render"):
        assert httpx.post(f"{address}/{path}", json={"model": "small"}).status_code == 404


def _tokens() -> tuple[Any, tuple[int, ...]]:
    tokens = load_tokenizer("smollm2-135m-instruct")
    return tokens.tokenizer, tokens.stop_ids
