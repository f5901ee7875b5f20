"""Checks a vLLM server elsewhere that is given exact token ids, while our chat format runs here."""

from __future__ import annotations

import asyncio
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from conftest import one_call, ray_gym

from ray_gym.deployments.small_model import checkpoint_dir
from ray_gym.deployments.vllm_endpoint import VllmEndpointEngine
from ray_gym.deployments.vllm_endpoint.engine import VllmEndpointOptions
from ray_gym.deployments.vllm_endpoint.server import read_generation
from ray_gym.episode.participant import Participant
from ray_gym.episode.thread import Thread
from ray_gym.errors import UserError
from ray_gym.load import load
from ray_gym.messages import Message, ToolSchema
from ray_gym.models.base import EngineCheck, Sampling

POSITION = {"position": {"enum": [3, 5]}}
SCHEMA = {"type": "object", "properties": POSITION, "required": ["position"], "additionalProperties": False}
MOVE = ToolSchema("move", "Make a move.", {"type": "object", "properties": {"position": {"type": "integer"}}})
MOVE_NOW = ToolSchema("move", "Make a move.", SCHEMA)


def engine_of(base_url: str, **more: Any) -> VllmEndpointEngine:
    settings = {"model": "small", "tokenizer": "smollm2-135m-instruct", **more}
    return VllmEndpointEngine(VllmEndpointOptions(base_url=base_url, **settings))


async def check(engine: VllmEndpointEngine, uses_tools: bool = True) -> None:
    await asyncio.to_thread(engine.check, EngineCheck("remote", {}, uses_tools=uses_tools))


def participant(**more: Any) -> Participant:
    return Participant("policy", "small", more.pop("sampling", Sampling(max_tokens=24)), True, 9, 9, **more)


@pytest.mark.engine
@pytest.mark.models
async def test_a_real_server_gives_exact_samples_without_forks(vllm_endpoint: str) -> None:
    """Free text at temperature 1, which the server's own rendering does not always give back token for token."""
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(checkpoint_dir())
    engine = engine_of(vllm_endpoint)
    await check(engine)
    engine.start("run", "remote", lambda text: None)
    model = pickle.loads(pickle.dumps(engine)).connect()
    try:
        thread = Thread("main", participant(), model, "s1", 0)
        given: list[Any] = []
        for turn, text in enumerate(["What is the capital of France?", "And of Italy?", "A poem, please.", "Thanks!"]):
            thread.append(Message("user", f"{text} <|im_end|>"), 2 * turn)
            completion = await one_call(thread, max_tokens=24)
            thread.accept(completion, 2 * turn + 1)
            given.append(completion)
        player = Thread("play", participant(tool_choice="required"), model, "s2", 0)
        player.append(Message("user", "Play."), 0)
        required = await one_call(player, (MOVE,), (MOVE_NOW,), 64)
        player.accept(required, 1)
        player.append(Message("tool", "done", tool_call_id=required.message.tool_calls[0].id), 2)
        again = await one_call(player, (MOVE,), (MOVE_NOW,), 64)
        long = Thread("long", participant(), model, "s3", 0)
        long.append(Message("user", "word " * 3000), 0)
        full = await one_call(long, max_tokens=24)
    finally:
        await model.close()

    (sample,) = thread.ledger.samples
    assert all(completion.fork_reason is None for completion in given) and again.fork_reason is None
    assert sample.length == given[-1].prompt_tokens + given[-1].generated_tokens
    assert int(sample.loss_mask.sum()) == sum(completion.generated_tokens for completion in given)
    assert (sample.logprobs[sample.loss_mask == 1] <= 0).all()
    text = tokenizer.decode(sample.token_ids)
    assert "France? <|im_end|><|im_end|>" in text, "the first is text"
    assert tokenizer.encode("<|im_end|>")[0] not in sample.token_ids[: sample.token_ids.tolist().index(2)]
    (call,) = required.message.tool_calls
    assert call.name == "move" and json.loads(call.arguments)["position"] in (3, 5) and required.kind == "constrained"
    assert (full.finish_reason, full.has_tokens) == ("context_full", False)


@pytest.mark.ray
@pytest.mark.engine
@pytest.mark.models
def test_a_run_plays_at_a_server_as_it_plays_at_home(
    vllm_endpoint: str, model_cluster: dict[str, str], tmp_path: Path
) -> None:
    """The state narrows the tools at every step; the prompt stays the same, and so the samples do not fork."""
    where = {"RAY_GYM_ENDPOINT": vllm_endpoint, "RAY_GYM_MODEL": "small", "RAY_GYM_TOKENIZER": "smollm2-135m-instruct"}
    overrides = ["tasks.limit=2", "tasks.repeats=1", "fanout.workers=1", f"output.dir={tmp_path}", "run.name=remote"]
    done = ray_gym("rollout", "configs/vllm_endpoint.yaml", *overrides, environment={**model_cluster, **where})
    assert done.returncode == 0, done.stderr + done.stdout
    games = load(tmp_path / "remote").episodes.to_pylist()
    assert [game["stop_reason"] for game in games] == ["finished", "finished"]
    for game in games:
        (sample,) = game["samples"]
        assert sample["fork_reason"] is None and sample["participant"] == "policy"
        calls = sum(event["kind"] == "message" and event["participant"] == "policy" for event in game["events"])
        assert sum(span["generated"] for span in sample["spans"]) == calls


@pytest.mark.engine
@pytest.mark.models
async def test_what_does_not_fit_is_said_before_the_run(vllm_endpoint: str) -> None:
    with pytest.raises(UserError, match=r"models\.remote\.model: .* has no model 'smal'; did you mean 'small'"):
        await check(engine_of(vllm_endpoint, model="smal"))
    with pytest.raises(UserError, match=r"models\.remote\.tokenizer: .* is no checkpoint"):
        await check(engine_of(vllm_endpoint, tokenizer="./nowhere"))
    with pytest.raises(UserError, match=r"models\.remote\.base_url: .*usually ends with /v1"):
        await check(engine_of(vllm_endpoint.removesuffix("/v1")))
    with pytest.raises(UserError, match=r"models\.remote: tool_parser: vLLM knows no 'hermess'"):
        engine = engine_of(vllm_endpoint, tool_parser="hermess")
        await check(engine)
        engine.start("run", "remote", lambda text: None)


LOGPROBS = {"token_logprobs": [-0.5]}
GOOD = {"text": "x", "token_ids": [5], "prompt_token_ids": [1, 2], "logprobs": LOGPROBS, "finish_reason": "stop"}


def test_an_answer_is_read() -> None:
    found = read_generation({"choices": [GOOD], "usage": {"prompt_tokens_details": {"cached_tokens": 2}}})
    assert (found.prompt_ids, found.token_ids.tolist(), found.logprobs.tolist()) == ([1, 2], [5], [-0.5])
    assert (found.text, found.truncated, found.cached_tokens) == ("x", False, 2)
    assert read_generation({"choices": [{**GOOD, "finish_reason": "length"}]}).truncated


@pytest.mark.parametrize(
    "wrong",
    [
        {"token_ids": None},
        {"prompt_token_ids": None},
        {"logprobs": None},
        {"logprobs": {"token_logprobs": [-0.5, -0.5]}},
        {"finish_reason": "abort"},
        {"token_ids": ["x"]},
        *({"token_ids": [odd]} for odd in (1.7, "7", True, -1, 2**31, None)),
        *({"prompt_token_ids": [1, odd]} for odd in (1.7, "7", True, -1)),
        *({"logprobs": {"token_logprobs": [odd]}} for odd in ("-0.5", True, None, 0.5, float("nan"))),
    ],
)
def test_ids_are_never_invented(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        read_generation({"choices": [{**GOOD, **wrong}]})
