"""Checks token ids of OpenAI-compatible endpoints: which parts of an answer are read, and how they are used."""

from __future__ import annotations

import json
import pickle
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from conftest import one_call
from endpoint_double import EndpointDouble, Reply, answer, exact_answer, running_endpoint
from openai_calls import MOVE, MOVE_NOW, check, complete, options, request

from ray_gym.engines import openai_wire as wire
from ray_gym.engines.openai import NO_IDS, OpenAIEngine, OpenAIModel
from ray_gym.episode.participant import Participant
from ray_gym.episode.thread import Thread
from ray_gym.messages import Message, ToolSchema
from ray_gym.models.base import Sampling


@pytest.fixture
async def endpoint() -> AsyncIterator[EndpointDouble]:
    async with running_endpoint() as double:
        yield double


async def test_an_exact_prefix_goes_on(endpoint: EndpointDouble) -> None:
    endpoint.will_answer(Reply(exact_answer([1, 2, 3, 4, 5], [6, 7], [-0.5, -0.25])))
    completion = await complete(endpoint, exact=True, history=np.array([1, 2, 3], dtype=np.int32), known=2)
    assert completion.fork_reason is None
    assert completion.prompt_ids.tolist() == [4, 5] and completion.prompt_ids.dtype == np.int32
    assert completion.token_ids.tolist() == [6, 7] and completion.token_ids.dtype == np.int32
    assert completion.logprobs.tolist() == [-0.5, -0.25] and completion.logprobs.dtype == np.float32


@pytest.mark.parametrize("prompt", [[1, 9, 3, 4, 5], [1, 2]])
async def test_a_prompt_rendered_otherwise_forks(endpoint: EndpointDouble, prompt: list[int]) -> None:
    endpoint.will_answer(Reply(exact_answer(prompt, [6], [-0.5])))
    completion = await complete(endpoint, exact=True, history=np.array([1, 2, 3], dtype=np.int32), known=2)
    assert completion.fork_reason == "endpoint_rerendered"
    assert completion.prompt_ids.tolist() == prompt


async def test_the_first_call_has_no_fork(endpoint: EndpointDouble) -> None:
    endpoint.will_answer(Reply(exact_answer([1, 2], [6], [-0.5])))
    completion = await complete(endpoint, exact=True)
    assert (completion.fork_reason, completion.prompt_ids.tolist()) == (None, [1, 2])


async def test_ids_are_never_invented(endpoint: EndpointDouble) -> None:
    endpoint.will_answer(Reply(answer()), Reply(exact_answer([1, 2], [6, 7], [-0.5])))
    assert not (await complete(endpoint, exact=True)).has_tokens
    assert not (await complete(endpoint, exact=True)).has_tokens


async def test_later_answers_without_the_ids_of_the_first_are_told(endpoint: EndpointDouble) -> None:
    endpoint.will_answer(Reply(exact_answer([1, 2], [6], [-0.5])), Reply(answer()))
    model = OpenAIModel(options(endpoint), "secret", True)
    await model.complete(request())
    assert model.take_warnings() == []
    for _ in range(2):
        await model.complete(request())
    [told] = model.take_warnings()
    assert told == f"model {endpoint.base_url}: {NO_IDS}"
    await model.close()


async def test_an_endpoint_that_gives_no_ids_is_told_before_the_run_alone(endpoint: EndpointDouble) -> None:
    model = OpenAIModel(options(endpoint), None, False)
    await model.complete(request())
    assert model.take_warnings() == []
    await model.close()


async def test_narrowed_tools_and_full_contexts_have_their_names(endpoint: EndpointDouble) -> None:
    endpoint.will_answer(Reply(exact_answer([8, 9], [6], [-0.5])))
    history = np.array([1, 2], dtype=np.int32)
    told = {"tools": (MOVE,), "allowed_tools": (MOVE_NOW,), "history": history, "known": 1}
    forked = await complete(endpoint, exact=True, tool_choice="required", **told)
    assert forked.fork_reason == "tools_narrowed" and forked.versions == (), "endpoints don't tell versions"
    free = await complete(endpoint, exact=True, **told)
    assert free.fork_reason == "endpoint_rerendered" and endpoint.requests[-1]["tools"] == [MOVE.as_openai()]
    cut = exact_answer([1, 2, 3], [6], [-0.5])
    cut["choices"][0]["finish_reason"] = "length"
    endpoint.will_answer(Reply(cut))
    assert (await complete(endpoint, exact=True, history=history, known=1)).finish_reason == "context_full"


@pytest.mark.parametrize(
    ("context_tokens", "end"), [(None, "context_full"), (24, "context_full"), (30, "context_full"), (4096, "length")]
)
def test_an_end_far_from_the_end_of_the_context_is_a_limit_of_the_server(context_tokens: int | None, end: str) -> None:
    given = {**exact_answer([1] * 17, [6] * 5, [-0.5] * 5), "usage": {"prompt_tokens": 17, "completion_tokens": 5}}
    given["choices"][0]["finish_reason"] = "length"
    assert wire.completion(given, request(), True, {}, context_tokens).finish_reason == end


@pytest.mark.parametrize(
    ("usage", "generated", "cached"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}, 5, 0),
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 1215}, 1205, 0),  # Gemini
        ({"prompt_tokens": 10, "total_tokens": 1210}, 1200, 0),
        ({"prompt_tokens": 10, "completion_tokens": 5, "completion_tokens_details": {"reasoning_tokens": 9}}, 14, 0),
        (
            {
                "prompt_tokens": 100,
                "completion_tokens": 40,
                "total_tokens": 140,
                "completion_tokens_details": {"reasoning_tokens": 41},
            },
            40,
            0,
        ),
        (
            {
                "prompt_tokens": 5,
                "completion_tokens": 10,
                "total_tokens": 65,
                "prompt_tokens_details": {"cache_write_tokens": 50},
            },
            10,
            0,
        ),
        (
            {
                "prompt_tokens": 5,
                "completion_tokens": 10,
                "total_tokens": 280,
                "prompt_tokens_details": {"image_tokens": 265},
            },
            10,
            0,
        ),
        (
            {
                "prompt_tokens": 5,
                "completion_tokens": 10,
                "total_tokens": 65,
                "completion_tokens_details": {"reasoning_tokens": 20},
            },
            30,
            0,
        ),
        ({"prompt_tokens": 10, "completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 5}}, 9, 0),
        ({"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105, "prompt_cache_hit_tokens": 90}, 5, 90),
        ({"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105, "cached_tokens": 90}, 5, 90),
        ({"prompt_tokens": 1, "completion_tokens": 5, "total_tokens": 96, "cache_read_input_tokens": 90}, 5, 0),
        ({"completion_tokens": 5, "total_tokens": 96}, 5, 0),
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": None, "prompt_tokens_details": []}, 5, 0),
    ],
)
def test_thoughts_and_cached_tokens_are_counted_wherever_they_are_told(
    usage: dict[str, Any], generated: int, cached: int
) -> None:
    found = wire.completion({**answer("Hi."), "usage": usage}, request(), False, {})
    assert (found.generated_tokens, found.cached_tokens) == (generated, cached)


def test_a_logprob_in_place_of_infinity_is_infinite() -> None:
    assert wire.read_logprobs([-0.5, -9999.0, -9998.0, -20000]).tolist() == [-0.5, -np.inf, -9998.0, -np.inf]


def test_of_an_answer_only_what_is_used_is_read() -> None:
    """Each logprob comes with its token's text and bytes, which are most of an answer."""
    token = {"token": " a", "logprob": -0.5, "bytes": [32, 97], "top_logprobs": []}
    choice = {"index": 0, "message": {"content": "a"}, "logprobs": {"content": [token]}, "token_ids": [1]}
    read = wire.read(json.dumps({"id": "x", "choices": [choice], "prompt_token_ids": [2]}).encode())
    kept = {"message": {"content": msgspec.Raw(b'"a"')}, "logprobs": {"content": [{"logprob": -0.5}]}, "token_ids": [1]}
    assert read == {"choices": [{"index": 0, **kept}], "prompt_token_ids": [2]}


@pytest.mark.parametrize(
    "answer",
    [
        {"error": {"message": "busy"}},
        {"choices": [], "error": {"message": "busy"}},
        {"choices": [{"logprobs": {"content": [{}]}}]},
        [],
    ],
)
def test_an_answer_of_another_form_is_read_whole(answer: object) -> None:
    assert wire.read(json.dumps(answer).encode()) == answer


async def say(thread: Thread, text: str, seq: int, tools: tuple[ToolSchema, ...] = ()) -> Any:
    thread.append(Message("user", text), seq)
    completion = await one_call(thread, (MOVE,) if tools else (), tools)
    thread.accept(completion, seq + 1)
    return completion


@pytest.mark.engine
@pytest.mark.models
async def test_a_real_vllm_server_gives_exact_samples(vllm_endpoint: str) -> None:
    transformers = pytest.importorskip("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(Path.home() / ".cache/ray_gym/models/smollm2-135m-instruct")
    engine = OpenAIEngine(options(vllm_endpoint, token_ids=True))
    await check(engine, Sampling(temperature=0.7))
    model = pickle.loads(pickle.dumps(engine)).connect()
    policy = Participant("policy", "small", Sampling(temperature=0.1, max_tokens=24), True, 5, 5)
    player = Participant(
        "player", "small", Sampling(temperature=0.1, max_tokens=256), True, 5, 5, tool_choice="required"
    )
    try:
        thread = Thread("main", policy, model, "s1", 0)
        first = await say(thread, "What is the capital of France?", 0)
        second = await say(thread, "And of Italy?", 2)
        required = await say(Thread("play", player, model, "s2", 0), "Play.", 0, (MOVE_NOW,))
        full = await say(Thread("long", policy, model, "s3", 0), "word " * 3000, 0)
    finally:
        await model.close()

    for completion in (first, second, required):
        assert len(completion.token_ids) == len(completion.logprobs) == completion.generated_tokens > 0
        assert np.isfinite(completion.logprobs).all() and (completion.logprobs <= 0).all()
    for completion in (first, second):
        assert tokenizer.decode(completion.token_ids, skip_special_tokens=True) == completion.message.content
        assert completion.kind == "plain"
    assert_ledger_is_what_was_sent(thread, tokenizer, first, second)
    (call,) = required.message.tool_calls
    assert call.name == "move" and json.loads(call.arguments)["position"] in (3, 5)
    assert required.kind == "constrained"
    assert (full.finish_reason, full.has_tokens) == ("context_full", False)


def assert_ledger_is_what_was_sent(thread: Thread, tokenizer: Any, first: Any, second: Any) -> None:
    """Expects one sample if the endpoint rendered the first answer as generated, else a fork that says so."""
    samples = thread.ledger.samples
    assert samples[-1].token_ids.tolist()[-len(second.token_ids) :] == second.token_ids.tolist()
    assert int(samples[-1].length) == second.prompt_tokens + second.generated_tokens
    if second.fork_reason is None:
        assert len(samples) == 1
        assert int(samples[0].loss_mask.sum()) == first.generated_tokens + second.generated_tokens
        text = tokenizer.decode(samples[0].token_ids)
        assert "capital of France?<|im_end|>" in text and "And of Italy?<|im_end|>" in text
    else:
        assert second.fork_reason == "endpoint_rerendered" and len(samples) == 2
