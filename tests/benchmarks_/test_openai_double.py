"""The double of an OpenAI server answers as vLLM does, so that exact samples are recorded; and each prompt begins with the one before."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import httpx
import pytest
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionResponse

from benchmarks.cases import Workload, config_of, in_one_process
from benchmarks.chat_environment import TOPICS
from benchmarks.openai_answers import NAME, answer
from benchmarks.openai_double import start_double
from ray_gym.engines.openai import OpenAIModel, OpenAIOptions
from ray_gym.messages import Message
from ray_gym.models.base import CompletionRequest, Sampling


def body_of(http: bytes) -> Any:
    head, _, body = http.partition(b"\r\n\r\n")
    assert f"content-length: {len(body)}".encode() in head
    return json.loads(body)


def request(*contents: str, tools: bool = False) -> bytes:
    roles = ("system", "user", "assistant")
    messages = [{"role": roles[min(place, 2)], "content": content} for place, content in enumerate(contents)]
    return json.dumps({"model": NAME, "messages": messages, **({"tools": [{}]} if tools else {})}).encode()


def test_its_answers_are_those_of_vllm() -> None:
    for http in (answer(request("s", "What kind of stone is chalk?", tools=True)), answer(request("s", "Hello"))):
        body = body_of(http)
        known = ChatCompletionResponse.model_validate(body)
        assert known.prompt_token_ids and not set(body) - set(ChatCompletionResponse.model_fields)
        choice = known.choices[0]
        assert choice.token_ids and choice.logprobs and choice.logprobs.content
        assert len(choice.token_ids) == len(choice.logprobs.content) == known.usage.completion_tokens


@pytest.mark.parametrize("stone", TOPICS)
def test_the_policy_looks_up_what_the_opening_asks_for(stone: str) -> None:
    opening = ("You know about stones.", f"What kind of stone is {stone}?")
    (call,) = body_of(answer(request(*opening, tools=True)))["choices"][0]["message"]["tool_calls"]
    assert call["function"] == {"name": "look_up", "arguments": json.dumps({"stone": stone})}
    for other in (request(*opening), request(*opening, "said", tools=True)):
        assert body_of(answer(other))["choices"][0]["message"]["tool_calls"] == []


def test_a_prompt_begins_with_what_was_before() -> None:
    first, then = (body_of(answer(request(*["x"] * count))) for count in (2, 4))
    before = first["prompt_token_ids"] + first["choices"][0]["token_ids"]
    assert then["prompt_token_ids"][: len(before)] == before


def test_an_endpoint_model_records_its_tokens_without_a_fork_and_it_takes_its_time() -> None:
    said = [Message("system", "You want to know about stones."), Message("user", "Hello")]

    async def ask(base_url: str) -> float:
        model = OpenAIModel(OpenAIOptions(base_url=base_url, model=NAME), None, exact=True)
        began = time.monotonic()
        completion = await model.complete(CompletionRequest(said, Sampling(), "session", seed=1))
        await model.close()
        assert completion.fork_reason is None and len(completion.prompt_ids)
        assert len(completion.token_ids) == len(completion.logprobs) == completion.generated_tokens > 0
        return time.monotonic() - began

    with start_double(delay_ms=300) as double:
        assert asyncio.run(ask(double.base_url)) > 0.3
        models = httpx.get(f"{double.base_url}/models", timeout=10).json()
        assert [model["id"] for model in models["data"]] == [NAME]
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{double.base_url}/models", timeout=10)


def test_a_request_may_come_in_pieces_and_others_follow_on_its_connection() -> None:
    head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nContent-Length: %d\r\n\r\n"
    asked = request("s", "Hello")
    whole = head % len(asked) + asked

    async def talk(port: int) -> list[bytes]:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        lines = []
        for pieces in ((whole[:20], whole[20:90], whole[90:]), (whole,)):
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(0)
            lines.append(await reader.readexactly(len(answer(whole))))
        writer.close()
        return lines

    with start_double(delay_ms=0) as double:
        port = int(double.base_url.removesuffix("/v1").rsplit(":", 1)[1])
        assert asyncio.run(asyncio.wait_for(talk(port), 20)) == [answer(whole)] * 2


def test_episodes_over_http_have_the_tokens_of_both_participants() -> None:
    played = in_one_process(Workload(episodes=20, concurrency=8, models="http"))
    assert (played.rows, played.completed, played.model_calls, played.sampled) == (20, 20, 220, 20)
    assert played.double is not None


def test_the_model_is_where_the_load_says(tmp_path: Any) -> None:
    def model(load: Workload) -> dict[str, Any]:
        return config_of(load, tmp_path, "http://127.0.0.1:1/v1").models["double"].model_dump()

    served = model(Workload(1, 64, 1, models="serve", delay_ms=50, replicas=3))
    assert (served["replicas"], served["max_ongoing_requests"], served["delay_s"]) == (3, 64, 0.05)
    assert "replicas" not in model(Workload(1, 64, 1))
    assert model(Workload(1, 64, 1, models="http"))["base_url"] == "http://127.0.0.1:1/v1"
