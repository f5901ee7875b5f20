"""Runs the `openai` engine against a double that misbehaves and against a real vLLM server."""

from __future__ import annotations

import asyncio
import json
import pickle
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
from conftest import free_port
from endpoint_double import EndpointDouble, Reply, answer, exact_answer, running_endpoint
from openai_calls import MOVE, MOVE_NOW, check, complete, options, request
from pydantic import ValidationError

from ray_gym.aio.deadlines import SharedTimer
from ray_gym.engines import endpoint as endpoint_module
from ray_gym.engines import endpoint_check as check_module
from ray_gym.engines.openai import OpenAIEngine, OpenAIModel, OpenAIOptions
from ray_gym.errors import EpisodeFailure, FailureKind, UserError
from ray_gym.messages import Message, ToolCall
from ray_gym.models.base import Sampling
from ray_gym.models.engine import Sized
from ray_gym.openai_api.chat import read_chat
from ray_gym.openai_api.sampling import MOST_TOKENS
from ray_gym.proxies import proxy_to

KEY_NAME = "RAY_GYM_TEST_KEY"


@pytest.fixture
async def endpoint() -> AsyncIterator[EndpointDouble]:
    async with running_endpoint() as double:
        yield double


# What is found out before a run starts


async def test_an_endpoint_that_is_down_is_named() -> None:
    with pytest.raises(UserError, match=r"^models\.judge\.base_url: http://127\.0\.0\.1.* can't be reached"):
        await check(OpenAIEngine(options(f"http://127.0.0.1:{free_port()}/v1")))


async def test_an_endpoint_that_hangs_is_given_up(endpoint: EndpointDouble, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_module, "CHECK_TIMEOUT_S", 0.3)
    endpoint.models = Reply("", hang=True)
    with pytest.raises(UserError, match=r"models\.judge\.base_url: .* did not answer GET /models in time"):
        await check(OpenAIEngine(options(endpoint)))


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (Reply({"error": {"message": "no such key"}}, 401), r"models\.judge\.api_key_env: .* no such key; .*variable"),
        (Reply("nope", 403), r"models\.judge\.api_key_env: .*HTTP 403: nope"),
        (Reply("not found", 404), r"models\.judge\.base_url: .*usually ends with /v1"),
        (Reply("starting", 503), r"models\.judge\.base_url: .*HTTP 503: starting; .*still starting"),
        (Reply("<html>Welcome</html>"), r"models\.judge\.base_url: .*not a list of models.*Welcome"),
        (Reply({"models": []}), r"models\.judge\.base_url: .*not a list of models"),
    ],
)
async def test_wrong_endpoints_are_refused(endpoint: EndpointDouble, reply: Reply, message: str) -> None:
    endpoint.models = reply
    with pytest.raises(UserError, match=message):
        await check(OpenAIEngine(options(endpoint)))


async def test_a_wrong_model_name_is_corrected(endpoint: EndpointDouble) -> None:
    with pytest.raises(UserError, match=r"models\.judge\.model: .*'smal'; did you mean 'small'\? it has: large, small"):
        await check(OpenAIEngine(options(endpoint, model="smal")))


@pytest.mark.parametrize(
    ("listed", "model"),
    [
        ({"data": [{"id": "models/gemini-2.5-flash"}]}, "gemini-2.5-flash"),
        ({"data": [{"id": "deepseek/deepseek-r1"}]}, "deepseek/deepseek-r1:nitro"),
        ({"data": [{"id": "llama3.2:latest"}]}, "llama3.2"),
        ({"data": [{"id": "openai/*"}]}, "openai/gpt-4o"),
        ({"data": [{"name": "small"}]}, "small"),
        (
            [{"id": "meta-llama/Llama-3.3-70B-Instruct-Turbo", "name": "Llama"}],
            "meta-llama/Llama-3.3-70B-Instruct-Turbo",
        ),
        ([{"id": "azureml://registries/x", "name": "gpt-4o"}], "gpt-4o"),
        ([{"id": "https://x/y", "name": "Nice name"}], "https://x/y"),
        ({"data": [{"id": "small"}, {"id": ""}]}, "small"),
        ({"data": [{"id": None}, {}, {"id": "small"}, "x"]}, "small"),
    ],
)
async def test_a_model_is_found_as_its_endpoint_lists_it(endpoint: EndpointDouble, listed: Any, model: str) -> None:
    endpoint.models = Reply(json.dumps(listed))
    await check(OpenAIEngine(options(endpoint, model=model)))
    with pytest.raises(UserError, match=r"has no model 'other/x:y'.* set models\.judge\.probe=false"):
        await check(OpenAIEngine(options(endpoint, model="other/x:y")))


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (Reply("x" * 999, 404), r"x\.\.\."),
        (Reply("not found", 404), r"usually ends with /v1"),
        (Reply("no", 405), "must be the address"),
        (Reply({"error": {"message": "Missing scopes: api.model.read"}}, 403), "Missing scopes"),
        (Reply("<html>"), "not a list of models"),
        (Reply("slow", 429, {"Retry-After": "999"}), "HTTP 429: slow; it is asked too often: wait and begin again"),
    ],
)
async def test_how_an_endpoint_is_not_asked_for_its_models_is_told(
    endpoint: EndpointDouble, reply: Reply, told: str
) -> None:
    endpoint.models = reply
    end = r"\. If it plays the model all the same, set models\.judge\.probe=false"
    with pytest.raises(UserError, match=f"{told}.*{end}; token_ids are then false, unless they are set to true$"):
        await check(OpenAIEngine(options(endpoint)))
    with pytest.raises(UserError, match=f"{told}.*{end}$"):
        await check(OpenAIEngine(options(endpoint, token_ids=True)))


@pytest.mark.parametrize("wanted", ["small:typo", "small:latest", "smal:nitro"])
async def test_a_suffix_belongs_to_the_names_of_routers_alone(endpoint: EndpointDouble, wanted: str) -> None:
    with pytest.raises(UserError, match=f"judge.model: .* has no model '{wanted}'; did you mean 'small'"):
        await check(OpenAIEngine(options(endpoint, model=wanted)))


@pytest.mark.parametrize(
    ("listed", "wanted", "guess"),
    [
        (["small", "*"], "smal", "; did you mean 'small'\\?"),
        (["a/small", "b/large"], "a/small:typo", "; did you mean 'a/small'\\?"),
        (["small"], "small", ""),
        (["x/*"], "x/small", ""),
    ],
)
async def test_a_listed_model_that_cannot_be_asked_is_the_wrong_key(
    endpoint: EndpointDouble, listed: list[str], wanted: str, guess: str
) -> None:
    endpoint.models = Reply({"data": [{"id": name} for name in listed]})
    endpoint.will_answer(Reply({"error": {"message": f"The model `{wanted}` does not exist"}}, 404))
    end = r"\. If it plays the model all the same, set models\.judge\.token_ids=false$"
    with pytest.raises(UserError, match=f"judge.model: .* HTTP 404: The model `{wanted}` does not exist{guess}{end}"):
        await check(OpenAIEngine(options(endpoint, model=wanted)))


@pytest.mark.parametrize(
    ("reply", "field"),
    [
        (Reply("not found", 404), "base_url"),
        (Reply({"error": {"message": "no such path; there are /v1/models"}}, 404), "base_url"),
        (Reply("no", 405), "base_url"),
        (Reply("unexpected keyword argument 'return_token_ids'", 500), "base_url"),
        (Reply("logprobs are not implemented.", 501), "base_url"),
        (Reply("logprobs are not allowed with your plan", 403), "api_key_env"),
    ],
)
async def test_where_the_question_for_token_ids_fails_it_is_told_how_it_is_not_asked(
    endpoint: EndpointDouble, reply: Reply, field: str
) -> None:
    endpoint.will_answer(reply)
    end = r"[^.]\. If it plays the model all the same, set models\.judge\.token_ids=false$"
    with pytest.raises(UserError, match=rf"^models\.judge\.{field}: .*{end}"):
        await check(OpenAIEngine(options(endpoint)))
    await check(OpenAIEngine(options(endpoint, token_ids=False)))


async def test_where_an_endpoint_leads_elsewhere_no_call_can_succeed(endpoint: EndpointDouble) -> None:
    endpoint.models = Reply("", 301, {"Location": "https://far.invalid/v1"})
    with pytest.raises(UserError, match=r"HTTP 301: it leads to (?!.*probe)"):
        await check(OpenAIEngine(options(endpoint)))


SPENT = "You exceeded your current quota, please check your plan and billing details."


WAIT = (
    r"; it is asked too often: wait and begin again"
    r"\. If it plays the model all the same, set models\.judge\.token_ids=false"
)


@pytest.mark.parametrize(
    ("said", "code", "advice"),
    [
        (SPENT, "insufficient_quota", ""),
        (SPENT, None, ""),
        ("Your credit balance is too low", "billing_error", ""),
        ("账户余额不足", "1113", ""),
        (f"{SPENT} Please retry in 0.2s", "429", WAIT),
        ("Rate limit reached. Add a payment method at https://x/billing", "rate_limit_exceeded", WAIT),
        ("Requests per minute exceed the quota", None, WAIT),
        ("Quota exceeded for x.googleapis.com/generate_content_requests_per_minute_per_project", None, WAIT),
        ("Too many requests, quota exceeded, please wait before trying again.", None, WAIT),
    ],
)
async def test_a_quota_that_is_used_up_is_told_as_it_is(
    endpoint: EndpointDouble, said: str, code: str | None, advice: str
) -> None:
    endpoint.will_answer(Reply({"error": {"message": said, "code": code}}, 429, {"Retry-After": "999"}))
    with pytest.raises(UserError, match=rf"HTTP 429: {re.escape(said)}{advice}$"):
        await check(OpenAIEngine(options(endpoint)))


async def test_money_that_is_used_up_is_no_wrong_address(endpoint: EndpointDouble) -> None:
    endpoint.models = Reply({"error": {"message": "Insufficient Balance"}}, 402)
    with pytest.raises(UserError, match=r"HTTP 402: Insufficient Balance$"):
        await check(OpenAIEngine(options(endpoint)))


@pytest.mark.parametrize(
    "said",
    ["Allocated quota exceeded, please increase your quota limit.", "Too many requests: load balance limit", SPENT],
)
async def test_what_is_asked_too_often_is_asked_again_whatever_it_says(
    endpoint: EndpointDouble, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    monkeypatch.setattr(check_module, "FIRST_PAUSE_S", 0.01)
    endpoint.will_answer(Reply({"error": {"message": said, "code": "insufficient_quota"}}, 429), Reply(answer()))
    await check(OpenAIEngine(options(endpoint)))
    assert len(endpoint.requests) == 2


async def test_a_question_that_comes_too_often_is_asked_again(
    endpoint: EndpointDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check_module, "FIRST_PAUSE_S", 0.01)
    endpoint.will_answer(*[Reply("slow", 429)] * 2, Reply("slow", 429, {"Retry-After": "0.3"}), Reply(answer()))
    await check(OpenAIEngine(options(endpoint)))
    assert len(endpoint.requests) == 4 and endpoint.times[3] - endpoint.times[2] >= 0.3


async def test_a_step_longer_than_the_context_is_refused(endpoint: EndpointDouble) -> None:
    endpoint.models = Reply({"data": [{"id": "small", "max_model_len": 256}]})
    with pytest.raises(UserError, match=r"participants\.p0\.sampling\.max_tokens: 512 is more than .* 256"):
        await check(OpenAIEngine(options(endpoint)), Sampling(max_tokens=512))


@pytest.mark.parametrize(("told", "length"), [({"max_model_len": 4_096}, 4_096), ({}, None)])
async def test_a_model_knows_the_context_that_the_endpoint_tells(
    endpoint: EndpointDouble, told: dict[str, int], length: int | None
) -> None:
    endpoint.models = Reply({"data": [{"id": "small", **told}]})
    engine = OpenAIEngine(options(endpoint))
    await check(engine)
    model = pickle.loads(pickle.dumps(engine)).connect()
    assert isinstance(model, Sized) and await model.context_tokens() == length
    await model.close()


async def test_a_key_that_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY_NAME, raising=False)
    with pytest.raises(UserError, match=rf"models\.judge\.api_key_env: .*{KEY_NAME} is not set"):
        await check(OpenAIEngine(options("http://127.0.0.1:1/v1", api_key_env=KEY_NAME)))


@pytest.mark.parametrize("key", ["sk-\u043a\u043b\u044e\u0447", "sk\u2013abc", "sk-a\u00a0b", "sk-a\nb", "sk-\x1b[31m"])
async def test_a_key_that_no_header_can_carry_is_named(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv(KEY_NAME, key)
    expected = rf"models\.judge\.api_key_env: the key in {KEY_NAME}: expected printable ASCII characters"
    with pytest.raises(UserError, match=expected) as refused:
        await check(OpenAIEngine(options("http://127.0.0.1:1/v1", api_key_env=KEY_NAME)))
    assert "sk" not in str(refused.value)


async def test_a_key_in_the_place_of_its_name_is_not_shown() -> None:
    with pytest.raises(UserError, match=r"api_key_env: give the name of an environment variable") as refused:
        await check(OpenAIEngine(options("http://127.0.0.1:1/v1", api_key_env="sk-abcdefghij0123456789")))
    assert "sk-" not in str(refused.value)


async def test_a_key_refused_only_for_completions_is_found(endpoint: EndpointDouble) -> None:
    endpoint.will_answer(Reply({"error": {"message": "who are you"}}, 401))
    with pytest.raises(UserError, match=r"models\.judge\.api_key_env: .*who are you"):
        await check(OpenAIEngine(options(endpoint)))


@pytest.mark.parametrize("refusal", [Reply(answer()), Reply({"error": {"message": "unknown field"}}, 400)])
async def test_an_endpoint_without_ids_gives_no_tokens(endpoint: EndpointDouble, refusal: Reply) -> None:
    endpoint.will_answer(refusal)
    engine = OpenAIEngine(options(endpoint))
    await check(engine)
    assert not engine.gives_tokens
    with pytest.raises(UserError, match=r"models\.judge\.token_ids: .*gives no token ids"):
        await check(OpenAIEngine(options(endpoint, token_ids=True)))


async def test_ids_are_found_out_and_travel_with_the_engine(endpoint: EndpointDouble) -> None:
    endpoint.will_answer(Reply(exact_answer([1, 2], [3], [0.0])))
    engine = OpenAIEngine(options(endpoint))
    await check(engine, Sampling(temperature=0.7))
    assert engine.gives_tokens and pickle.loads(pickle.dumps(engine)).gives_tokens
    assert endpoint.requests[0] | {"return_token_ids": True, "max_tokens": 1, "logprobs": True} == endpoint.requests[0]


async def test_logprobs_from_before_the_temperature_are_not_taken(endpoint: EndpointDouble) -> None:
    endpoint.will_answer(Reply(exact_answer([1, 2], [3], [-1.5])))
    engine = OpenAIEngine(options(endpoint))
    await check(engine, Sampling(), Sampling(temperature=0.7))
    assert not engine.gives_tokens
    with pytest.raises(UserError, match=r"token_ids: .* participants p0 set .*processed_logprobs"):
        await check(OpenAIEngine(options(endpoint, token_ids=True)), Sampling(top_p=0.9))
    at_one = OpenAIEngine(options(endpoint))
    await check(at_one, Sampling())
    assert at_one.gives_tokens


async def test_nothing_is_asked_without_probe() -> None:
    engine = OpenAIEngine(options("http://127.0.0.1:1/v1", probe=False))
    await check(engine)
    engine.start("run", "judge", print)
    assert not engine.gives_tokens


@pytest.mark.parametrize(
    "wrong",
    [
        {"base_url": "localhost:8000/v1"},
        {"base_url": "http://me:secret@host/v1"},
        {"base_url": "http://@host/v1"},
        {"base_url": "http://host..example/v1"},
        {"extra_body": {"temperature": 0}},
        {"extra_body": {"random_seed": 7}},
        {"extra_body": {"options": {"seed": 7}}},
        {"extra_body": {"sampling_seed": 7}},
        {"extra_body": {"rngSeed": 7}},
        {"extra_body": {"noise_seed": 7}},
        {"extra_body": {"sampling": {"seed": 1}}},
        {"extra_body": {"nvext": {"top_k": 1}}},
        {"extra_body": {"nvext": {"greed_sampling": True}}},
        {"extra_body": {"do_sample": False}},
        {"extra_body": {"use_beam_search": True}},
        {"extra_body": {"greedy": True}},
        {"extra_body": {"decoding_method": "greedy"}},
        {"extra_body": {"parameters": {"decodingMethod": "greedy"}}},
        {"extra_body": {"sampling_strategy": "greedy"}},
        {"extra_body": {"random_state": 3}},
        {"extra_body": {"custom_params": {"temperature": 0}}},
        {"extra_body": {"samplingConfig": {"temp": 0}}},
        {"extra_body": {"temp": 0}},
        {"extra_body": {"topK": 1}},
        {"extra_body": {"topk": 1}},
        {"extra_body": {"parameters": {"maxNewTokens": 7}}},
        {"extra_body": {"generationConfig": {"topP": 0.5}}},
        {"extra_body": {"best_of": 4}},
        {"extra_body": {"cache": {"ttl": 600}}},
        {"extra_body": {"caching": True}},
        {"extra_body": {"config": {"cache": {"mode": "semantic"}}}},
        {"extra_body": {"cache": {"no-cache": False, "s-maxage": 60}}},
        {"extra_body": {"litellm_params": {"temperature": 0}}},
        {"extra_body": {"additional_model_request_fields": {"top_k": 1}}},
        {"extra_body": {"parameters": {"bestOf": 4}}},
        {"extra_body": {"n": 2}},
        {"extra_body": {"options": {"n": 2}}},
        {"extra_body": {"num_return_sequences": 2}},
        {"extra_body": {"generationConfig": {"candidateCount": 2}}},
        {"extra_body": {"vllm_xargs": {"seed": 7}}},
        {"extra_body": {"plugin": {"deep": [{"rngSeed": 7}]}}},
        {"extra_body": {"provider": {"options": {"seed": 7}}}},
        {"extra_body": {"Seed": 7}},
        {"extra_body": {"randomseed": 7}},
        {"api_key": "secret"},
        {"retries": True},
        {"timeout_s": True},
    ],
)
def test_wrong_options_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        OpenAIOptions.model_validate({"base_url": "http://host/v1", "model": "small", **wrong})


def test_a_nested_seed_is_refused_by_its_path() -> None:
    with pytest.raises(ValidationError, match=r"best_of, plugin\.0\.inner\.seed: set by the participant"):
        options("http://host/v1", extra_body={"plugin": [{"inner": {"seed": 7, "n": 1}}], "best_of": 1})


@pytest.mark.parametrize("name", ["metadata", "chat_template_kwargs", "response_format", "documents", "guided_json"])
def test_data_and_schemas_may_have_seeds(name: str) -> None:
    given = {name: {"properties": {"seed": {"type": "integer"}}, "n": 2}}
    assert options("http://host/v1", extra_body=given).extra_body == given


def test_other_fields_of_a_holder_are_kept() -> None:
    given = {
        "cache": {"no-cache": True},
        "caching": False,
        "cache_control": {"type": "ephemeral"},
        "plugin": {"cache": True},
    }
    assert options("http://host/v1", extra_body=given).extra_body == given
    given = {"nvext": {"annotations": []}, "provider": {"seed_models": ["a"], "n": 2}, "reseeded": 1}
    assert options("http://host/v1", extra_body=given).extra_body == given


async def test_the_key_reaches_workers_and_nothing_else(
    endpoint: EndpointDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_NAME, "sk-secret\n")
    engine = OpenAIEngine(options(endpoint, api_key_env=KEY_NAME, retries=0))
    await check(engine)
    assert "sk-secret" not in repr(engine) + repr(engine.options) + repr(vars(engine.options))
    monkeypatch.delenv(KEY_NAME)
    model = pickle.loads(pickle.dumps(engine)).connect()
    endpoint.will_answer(Reply({"error": {"message": "bad key sk-secret"}}, 401))
    with pytest.raises(EpisodeFailure, match=r"HTTP 401: bad key \*\*\*"):
        await model.complete(request())
    await model.close()
    assert endpoint.headers[-1]["Authorization"] == "Bearer sk-secret"


# Calls


async def test_a_plain_answer_is_understood(endpoint: EndpointDouble) -> None:
    endpoint.will_answer(Reply(answer(None, message={"reasoning": "hm"}, finish_reason="length")))
    completion = await complete(endpoint)
    assert completion.message == Message("assistant", "", reasoning="hm")
    assert (completion.finish_reason, completion.kind, completion.has_tokens) == ("length", "plain", False)
    assert (completion.prompt_tokens, completion.generated_tokens, completion.cached_tokens) == (7, 3, 4)
    standard = {"model", "messages", "temperature", "top_p", "max_tokens"}
    assert endpoint.requests[0].keys() == standard
    assert endpoint.headers[0]["X-Session-Id"] == "s1"


async def test_a_conversation_with_tools_is_sent_as_openai_has_it(endpoint: EndpointDouble) -> None:
    messages = [
        Message("user", "Play"),
        Message("assistant", "", tool_calls=(ToolCall("c1", "move", "{oops"),)),
        Message("tool", "bad JSON", tool_call_id="c1"),
    ]
    sampling = Sampling(top_k=5, stop=("END",), seed=3)
    await complete(endpoint, messages=messages, tools=(MOVE,), allowed_tools=(MOVE_NOW,), sampling=sampling)
    sent = endpoint.requests[0]
    call = {"id": "c1", "type": "function", "function": {"name": "move", "arguments": '{"arguments": "{oops"}'}}
    assert sent["messages"][1:] == [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "bad JSON", "tool_call_id": "c1"},
    ]
    assert sent["tools"] == [MOVE_NOW.as_openai()]
    assert (sent["tool_choice"], sent["parallel_tool_calls"]) == ("auto", False)
    assert (sent["top_k"], sent["stop"], sent["seed"]) == (5, ["END"], 3)
    await complete(endpoint, tools=(MOVE,), tool_choice="none")
    assert "tools" not in endpoint.requests[1]


@pytest.mark.parametrize("fields", [{"reasoning_content": "Hm."}, {"reasoning": "Hm."}])
async def test_reasoning_is_sent_back_only_where_token_ids_are_given(
    endpoint: EndpointDouble, fields: dict[str, str]
) -> None:
    said = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho", **fields}]
    messages = list(read_chat({"model": "m", "messages": said}).messages)
    assert messages[1].reasoning == "Hm."
    await complete(endpoint, messages=messages)
    await complete(endpoint, exact=True, messages=messages)
    plain, exact = (sent["messages"][1] for sent in endpoint.requests)
    assert plain == {"role": "assistant", "content": "Ho"} and exact == {**plain, "reasoning": "Hm."}


async def test_a_form_of_the_answer_is_asked_for_and_a_refusal_of_it_is_no_fault_of_the_endpoint(
    endpoint: EndpointDouble,
) -> None:
    form = {"type": "json_schema", "json_schema": {"name": "answer", "schema": {"type": "object"}, "strict": True}}
    completion = await complete(endpoint, response_format=json.dumps(form))
    assert endpoint.requests[0]["response_format"] == form
    assert completion.kind == "constrained" and completion.grammar
    endpoint.will_answer(Reply({"error": {"message": "no such format"}}, 400))
    with pytest.raises(EpisodeFailure, match="no such format") as caught:
        await complete(endpoint, response_format=json.dumps(form))
    assert (caught.value.failure.kind, caught.value.failure.where) == (FailureKind.DATA, "response_format")


async def test_an_exact_endpoint_is_told_every_sampling_parameter(endpoint: EndpointDouble) -> None:
    """Left out, they would be filled in from the checkpoint's generation config."""
    await complete(endpoint, exact=True)
    wanted = {"top_k": 0, "min_p": 0.0, "repetition_penalty": 1.0, "presence_penalty": 0.0, "return_token_ids": True}
    assert endpoint.requests[0] | wanted == endpoint.requests[0]


async def test_malformed_arguments_are_passed_through(endpoint: EndpointDouble) -> None:
    calls = [{"function": {"name": "move", "arguments": '{"position": '}}]
    endpoint.will_answer(Reply(answer(None, message={"tool_calls": calls}, finish_reason="tool_calls")))
    completion = await complete(endpoint, tools=(MOVE,), tool_choice="required")
    (call,) = completion.message.tool_calls
    assert (call.name, call.arguments) == ("move", '{"position": ') and call.id
    assert (completion.finish_reason, completion.kind) == ("stop", "constrained")


async def test_calls_of_a_message_have_ids_of_their_own(endpoint: EndpointDouble) -> None:
    calls = [{"id": id, "function": {"name": "move", "arguments": "{}"}} for id in ("c1", "c1", "c2", "c1", None)]
    endpoint.will_answer(Reply(answer(None, message={"tool_calls": calls}, finish_reason="tool_calls")))
    ids = [call.id for call in (await complete(endpoint, tools=(MOVE,))).message.tool_calls]
    assert (ids[0], ids[2]) == ("c1", "c2") and len(set(ids)) == 5
    assert ids == [call.id for call in (await complete(endpoint, tools=(MOVE,))).message.tool_calls], "by the seed"


@pytest.mark.parametrize("odd", [{"a": 1}, ["a"], True, 1.5, 0, ""])
async def test_an_id_that_is_none_is_made_anew(endpoint: EndpointDouble, odd: Any) -> None:
    calls = [{"id": id, "function": {"name": "move", "arguments": "{}"}} for id in (odd, 7, None)]
    endpoint.will_answer(Reply(answer(None, message={"tool_calls": calls}, finish_reason="tool_calls")))
    first, second, third = [call.id for call in (await complete(endpoint, tools=(MOVE,))).message.tool_calls]
    assert second == "7" and first != third and len(first) == len(third) and repr(odd) != first


async def test_retry_after_is_honoured(endpoint: EndpointDouble) -> None:
    endpoint.will_answer(Reply("slow down", 429, {"Retry-After": "0.3"}), Reply(answer()))
    completion = await complete(endpoint)
    assert completion.message.content == "Hello."
    assert endpoint.times[1] - endpoint.times[0] >= 0.3


@pytest.mark.parametrize("garbage", [Reply("<html>"), Reply({"error": {"message": "overloaded"}}), Reply("[]")])
async def test_garbage_is_tried_again_then_infra(endpoint: EndpointDouble, garbage: Reply) -> None:
    endpoint.will_answer(garbage, Reply(answer()))
    assert (await complete(endpoint)).message.content == "Hello."
    endpoint.will_answer(garbage)
    with pytest.raises(EpisodeFailure, match="not a completion"):
        await complete(endpoint)


async def test_errors_for_ever_are_infra(endpoint: EndpointDouble) -> None:
    endpoint.will_answer(Reply("boom", 500))
    with pytest.raises(EpisodeFailure, match=r"HTTP 500: boom \(tried 3 times\)") as caught:
        await complete(endpoint)
    assert caught.value.failure.kind is FailureKind.INFRA
    assert caught.value.failure.where == f"model {endpoint.base_url}"
    assert len(endpoint.requests) == 3


async def test_why_a_call_has_no_answer_is_told_once_in_a_while(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(endpoint_module, "SLOW_S", 0.0)
    model = OpenAIModel(options(f"http://127.0.0.1:{free_port()}/v1", retries=3), None, False, first_pause_s=0.001)
    with pytest.raises(EpisodeFailure):
        await model.complete(request())
    told = [record.getMessage() for record in caplog.records if record.name == endpoint_module.__name__]
    assert len(told) == 1 and "no answer in 0 s, and it is called again: " in told[0]
    assert "can't connect to 127.0.0.1" in told[0]
    assert model.take_warnings() == told and model.take_warnings() == [], "a worker tells its driver"
    await model.close()


@pytest.mark.parametrize(
    ("header", "told"),
    [
        (
            {"Retry-After": "432"},
            "no answer in 0 s, and it is called again after the 432 s for which it asks: HTTP 429: slow",
        ),
        (
            {"Retry-After": "7"},
            "no answer in 0 s, and it is called again after the 7 s for which it asks: HTTP 429: slow",
        ),
        ({"Retry-After": "1"}, None),
        ({}, None),
    ],
)
async def test_a_long_pause_for_which_an_endpoint_asks_is_told(
    endpoint: EndpointDouble, monkeypatch: pytest.MonkeyPatch, header: dict[str, str], told: str | None
) -> None:
    async def cut(pause: float) -> None:
        raise asyncio.CancelledError

    endpoint.will_answer(Reply("slow", 429, header))
    model = OpenAIModel(options(endpoint), None, False)
    with monkeypatch.context() as patched, pytest.raises(asyncio.CancelledError):
        patched.setattr(endpoint_module.asyncio, "sleep", cut)
        await model.complete(request())
    assert model.take_warnings() == ([f"model {endpoint.base_url}: {told}"] if told else [])
    await model.close()


async def test_calls_that_are_lost_at_once_each_time_are_told(
    endpoint: EndpointDouble, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Scales all seconds by 100: the pauses before the five further tries take 7.75 s at least."""
    monkeypatch.setattr(endpoint_module, "SLOW_S", endpoint_module.SLOW_S / 100)
    endpoint.will_answer(Reply({"choices": [{"message": {"content": "x"}, "finish_reason": None}]}))
    model = OpenAIModel(options(endpoint.base_url), None, False, first_pause_s=0.005)
    with pytest.raises(EpisodeFailure):
        await model.complete(request())
    [told] = [record.getMessage() for record in caplog.records if record.name == endpoint_module.__name__]
    assert "called again: not a completion" in told and "finish_reason None" in told
    await model.close()


async def test_a_call_that_is_cut_while_it_is_made_again_tells_its_deadline_why(endpoint: EndpointDouble) -> None:
    endpoint.will_answer(Reply({"error": {"message": "overloaded; your key: s3cret-key"}}, 503))
    model = OpenAIModel(options(endpoint, retries=99), "s3cret-key", False, first_pause_s=0.001)
    deadline = SharedTimer(0.05).deadline()
    with pytest.raises(TimeoutError), deadline:
        await model.complete(request())
    assert deadline.last_loss == "HTTP 503: overloaded; your key: ***"
    await model.close()


async def test_a_lost_connection_is_infra() -> None:
    model = OpenAIModel(options(f"http://127.0.0.1:{free_port()}/v1", retries=1), None, False, first_pause_s=0.01)
    with pytest.raises(EpisodeFailure, match=r"infra failure .*can't connect to 127\.0\.0\.1.*tried 2 times"):
        await model.complete(request())
    await model.close()


async def test_a_silent_endpoint_is_given_up(endpoint: EndpointDouble) -> None:
    endpoint.will_answer(Reply("", hang=True))
    model = OpenAIModel(options(endpoint, retries=0, timeout_s=0.2), None, False)
    with pytest.raises(EpisodeFailure, match="Timeout"):
        await model.complete(request())
    await model.close()


async def test_cancellation_is_not_swallowed(endpoint: EndpointDouble) -> None:
    endpoint.will_answer(Reply("", hang=True))
    call = asyncio.create_task(complete(endpoint))
    await endpoint.asked.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize(
    "said",
    [
        "This model's maximum context length is 2048 tokens. However, your prompt contains at least 2049 input tokens",
        "The prompt does not fit in the context window.",
        "Prompt doesn't fit into the model's context window",
        "Prompt tokens > context size (5000 > 4096)",
        "Not enough room in the context window for the prompt",
        "Too few tokens left in the context window.",
        "Insufficient context length for this request",
        "ran out of context window",
        "Model context size reached",
        "context_length: 4500 prompt tokens, 4096 available",
        "the request exceeds the available context size",
        "The input token count (1057001) exceeds the maximum number of tokens allowed (1048576).",
        "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens and 200 `max_new_tokens`",
        "`inputs` must have less than 4095 tokens. Given: 5000",
        "The decoder prompt (length 5000) is longer than the maximum model length of 4096",
        "max_tokens must be at least 1, got -904.",
        "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "Input is too long for requested model.",
        "too many tokens: size limit exceeded by 100 tokens.",
        "the number of input tokens 9000 cannot exceed the total tokens limit 8192 for this model",
        "input_len exceeds session_len",
        "This model's maximum prompt length is 131072 but the request contains 136973 tokens.",
        "Please reduce the length of the messages or completion. Current length is 42328 while limit is 40000",
        "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]",
        "Input length 203743 exceeds the maximum length 202752",
        "Prompt exceeds max length",
        "Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)",
        "prompt token count of 140000 exceeds the limit of 128000",
        "Prompt length (9000) exceeds maximum input length (8192)",
        "The sum of prompt length (72417.0), query length (0) should not exceed max_num_tokens (69632)",
        "The sum of prompt length (9000), query length (0) max_tokens (16) should not exceed max_seq_len (8192)",
        "default 500: The sum of prompt length (4000) and query length (0) max_tokens (2048) should not exceed max_seq_len",
        "Request body too large for gpt-4o model. Max size: 8000 tokens.",
        "tokens_limit_reached: Request body too large for DeepSeek-R1 model. Max size: 4000 tokens.",
        "too many tokens: total number of tokens (prompt and prediction) cannot exceed 2048 - received 6354.",
        "Input length (5000 tokens) exceeds the maximum allowed length (4096 tokens). Use a shorter input.",
        "Unable to submit request because the input token count is 35000 but model only supports up to 32768.",
        "Input Tokens Exceeded: Number of input tokens exceeds maximum length. Please update the input to try again.",
        "Validation: Too many input tokens. Max input tokens: 8192, request input token count: 10000",
        "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292.",
        "Prompt \u8d85\u957f",
        "Input token length too long",
        "tokens in request more than max tokens allowed",
        "litellm.ContextWindowExceededError: litellm.BadRequestError: XAIException - too much",
        "length of prompt_tokens (57535) must be less than max_seq_len (32768).",
        "Prompt length 71599 is greater than max_seq_len 65536",
        "Request length 71599 + 2048 is greater than max_seq_len 65536",
        "Request prompt has 38726 tokens in total, larger than the model input length limit 8192.",
        "Requested generation length 4096 is not possible! The provided prompt is 5000 tokens long, so generating 4096 tokens "
        "requires a sequence length of 9096, but the maximum supported sequence length is just 8192!",
        "\u8f93\u5165\u957f\u5ea6\u8d85\u8fc7\u9650\u5236",
        "The total length of all messages is too long.",
        "Conversation is longer than the maximum sequence length",
        "Input is longer than the model's maximum input length",
        "输入内容超出最大长度",
        "token数量超过上限",
        "Token limit exceeded",
        "Too many tokens",
    ],
)
@pytest.mark.parametrize("status", [400, 413, 422])
async def test_a_full_context_is_no_failure(endpoint: EndpointDouble, said: str, status: int) -> None:
    endpoint.will_answer(Reply({"error": {"message": said}}, status))
    completion = await complete(endpoint)
    assert (completion.finish_reason, completion.message.content) == ("context_full", "")
    endpoint.will_answer(Reply({"error": {"message": "no such field"}}, 400))
    with pytest.raises(EpisodeFailure, match=r"HTTP 400: no such field$"):
        await complete(endpoint)


@pytest.mark.parametrize(
    "said",
    [
        "Number of input tokens per minute exceeded: 30000",
        "Your input tokens exceed the quota of this project",
        "Rate limit of prompt tokens is exceeded",
        "输入token数超过每分钟限制",
        "the length of the input's name exceeds",
        "max_seq_len must be an integer",
    ],
)
async def test_a_rate_that_is_exceeded_is_no_full_context(endpoint: EndpointDouble, said: str) -> None:
    endpoint.will_answer(Reply({"error": {"message": said}}, 400))
    with pytest.raises(EpisodeFailure, match="HTTP 400"):
        await complete(endpoint)


async def test_no_limit_of_tokens_is_none_at_the_endpoint(endpoint: EndpointDouble) -> None:
    for limit in (MOST_TOKENS - 1, MOST_TOKENS):
        endpoint.will_answer(Reply(answer("Hi.")))
        await complete(endpoint, sampling=Sampling(max_tokens=limit))
    assert [asked.get("max_tokens") for asked in endpoint.requests] == [MOST_TOKENS - 1, None]


@pytest.mark.parametrize(
    "said",
    [
        "max_tokens is too large: 5000. This model supports at most 4096 completion tokens.",
        "This model's maximum context length is 2048 tokens. However, you requested 512 output tokens and your prompt",
        "Requests with max_tokens > 4096 must have stream=true",
        "max_tokens should be no more than 4096",
        "max_tokens must be lower than or equal to 8192",
        "max_tokens is above the allowed value",
        "max_tokens (100000) + input (20) > 8192",
    ],
)
async def test_what_asks_for_more_tokens_than_there_is_room_for_gets_the_room(
    endpoint: EndpointDouble, said: str
) -> None:
    endpoint.will_answer(Reply({"error": {"message": said}}, 400), Reply(answer("Hi.")))
    assert (await complete(endpoint)).message.content == "Hi."
    first, second = endpoint.requests
    assert "max_tokens" not in second and first == {**second, "max_tokens": first["max_tokens"]}


async def test_a_limit_has_the_name_that_the_endpoint_knows(endpoint: EndpointDouble) -> None:
    said = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    model = OpenAIModel(options(endpoint), None, exact=False, first_pause_s=0.01)
    try:
        endpoint.will_answer(Reply({"error": {"message": said}}, 400), Reply(answer("Hi.")))
        for _ in range(2):
            assert (await model.complete(request(sampling=Sampling(max_tokens=48)))).message.content == "Hi."
    finally:
        await model.close()
    limits = [(asked.get("max_tokens"), asked.get("max_completion_tokens")) for asked in endpoint.requests]
    assert limits == [(48, None), (None, 48), (None, 48)]


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "Unrecognized request argument supplied: max_tokens"}},
        {"detail": [{"loc": ["body", "max_tokens"], "msg": "Extra inputs are not permitted", "input": 48}]},
    ],
)
async def test_a_server_that_knows_no_limit_has_none(endpoint: EndpointDouble, body: Any) -> None:
    endpoint.will_answer(
        Reply(body, 400),
        Reply(json.loads(json.dumps(body).replace("max_", "max_completion_")), 400),
        Reply(answer("Hi.")),
    )
    assert (await complete(endpoint)).message.content == "Hi."
    names = [{"max_tokens", "max_completion_tokens"} & asked.keys() for asked in endpoint.requests]
    assert names == [{"max_tokens"}, {"max_completion_tokens"}, set()]


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "max_tokens must be at least 16, got 4"}},
        {"detail": [{"loc": ["body", "stop"], "msg": "field required", "input": {"max_tokens": 48}}]},
    ],
)
async def test_a_limit_that_is_refused_for_another_reason_is_kept(endpoint: EndpointDouble, body: Any) -> None:
    endpoint.will_answer(Reply(body, 400))
    with pytest.raises(EpisodeFailure, match="HTTP 400"):
        await complete(endpoint)
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, "max_tokens is too large: 5000. This model supports at most 4096 completion tokens."),
        (400, "max_tokens must be at least 1, got nothing"),
        (413, "Request too large for model `m` on tokens per minute (TPM): Limit 6000, Requested 7000"),
        (413, "Request too large for model `m`: Limit 10000, Requested 21247, please reduce your message size"),
        (422, {"detail": [{"loc": ["body"], "msg": "field required", "input": "what is a context window?"}]}),
    ],
)
async def test_other_refusals_are_no_full_context(endpoint: EndpointDouble, status: int, body: Any) -> None:
    endpoint.will_answer(Reply({"error": {"message": body}} if isinstance(body, str) else body, status))
    with pytest.raises(EpisodeFailure, match=f"HTTP {status}"):
        await complete(endpoint)


def test_what_may_change_the_drawing_of_tokens_is_known() -> None:
    def reshapes(**extra: Any) -> str:
        return OpenAIEngine(options("http://127.0.0.1:1/v1", extra_body=extra)).reshapes

    assert reshapes() == reshapes(chat_template_kwargs={"enable_thinking": False}, user="me") == ""
    assert reshapes(structured_outputs={"regex": "a"}, user="me") == "extra_body: structured_outputs"
    assert reshapes(something_new=1) == "extra_body: something_new", "what is not known to be harmless is not"


async def test_calls_go_through_the_proxy_of_the_environment(
    endpoint: EndpointDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", endpoint.base_url.removesuffix("/v1"))
    monkeypatch.setenv("no_proxy", "localhost")
    model = OpenAIModel(options("http://far.invalid/v1"), None, exact=False)
    assert (await model.complete(request())).message.content == "Hello."
    await model.close()
    assert proxy_to("http://localhost:8000/v1") is None and proxy_to("https://far.invalid/v1") is None


async def test_what_only_lax_json_spells_is_sent_and_read(endpoint: EndpointDouble) -> None:
    endpoint.will_answer(Reply(json.dumps({**answer("a\ud800"), "created": float("nan")})))
    completion = await complete(endpoint, messages=[Message("user", "b\ud800")])
    assert completion.message.content == "a\ud800"
    assert endpoint.requests[-1]["messages"][0]["content"] == "b\ud800"


async def test_an_endpoint_s_cookies_are_not_kept(endpoint: EndpointDouble) -> None:
    """A balancer's would bring all episodes to one server."""
    endpoint.will_answer(Reply(answer(), headers={"Set-Cookie": "server=1"}))
    model = OpenAIModel(options(endpoint), None, exact=False)
    for _ in range(2):
        await model.complete(request())
    await model.close()
    assert "Cookie" not in endpoint.headers[-1] and endpoint.headers[-1]["Content-Type"] == "application/json"
