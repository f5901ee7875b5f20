"""Tests the running service with the real small model: the official client at its door, and black-box agents that play
captured episodes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import openai
import pytest
from served import TOKEN, Served
from transformers import AutoTokenizer

from examples import anthropic_agent, captured_session, langgraph_agent, openai_agent, openai_responses_agent
from ray_gym.client import Client, SessionRequest
from ray_gym.deployments.small_model import checkpoint_dir
from ray_gym.deployments.vllm.hardware import cpu_dtype
from ray_gym.models.tokenizers import TokenizerDigest
from ray_gym.record.soundness import sample_problems
from ray_gym.trainers.recorded_logprobs import Grammars, Reference, sample_logprobs

pytestmark = [pytest.mark.ray, pytest.mark.engine, pytest.mark.models]

QUESTION: Any = [{"role": "user", "content": "What is the weather in Rome?"}]
CITY = {"type": "object", "properties": {"city": {"type": "string", "enum": ["Oslo", "Rome"]}}, "required": ["city"]}
WEATHER: Any = {"name": "get_weather", "description": "The weather of a city.", "parameters": CITY}
TOOLS: Any = [{"type": "function", "function": WEATHER}]
GREEDY: Any = {"model": "small", "temperature": 0.0}


@pytest.fixture(scope="module")
def client(small_model_service: Served) -> Iterator[openai.OpenAI]:
    """Yields the official client, as a caller with a session of its own."""
    headers = {"X-Session-ID": "a-conversation"}
    url = f"{small_model_service.url}/v1"
    with openai.OpenAI(base_url=url, api_key=TOKEN, max_retries=0, default_headers=headers) as client:
        yield client


def test_models_are_listed_for_callers_only(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == ["clerk", "small"]
    with pytest.raises(openai.AuthenticationError) as refused:
        client.with_options(api_key="another-0123456789").models.list()
    assert refused.value.status_code == 401 and refused.value.code


def test_a_models_tokenizer_can_be_compared_with_ones_own(small_model_service: Served) -> None:
    with Client(small_model_service.url, TOKEN) as client:
        assert client.model("small").tokenizer == TokenizerDigest.of(AutoTokenizer.from_pretrained(checkpoint_dir()))
        assert client.model("clerk").tokenizer is None


def test_chat_whole_streamed_and_as_a_completion(client: openai.OpenAI) -> None:
    asked: Any = {"messages": QUESTION, "max_tokens": 8, **GREEDY}
    whole = client.chat.completions.create(
        logprobs=True, top_logprobs=2, extra_body={"return_token_ids": True}, **asked
    )
    said = whole.choices[0]
    assert said.logprobs is not None and said.logprobs.content is not None and said.finish_reason == "length"
    assert len(said.logprobs.content) == len(whole.model_dump()["choices"][0]["token_ids"]) == 8
    assert len(said.logprobs.content[0].top_logprobs) == 2 and whole.usage is not None
    *chunks, last = client.chat.completions.create(stream=True, stream_options={"include_usage": True}, **asked)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == said.message.content
    assert len(chunks) > 2 and last.usage is not None
    assert (last.usage.prompt_tokens, last.usage.completion_tokens) == (whole.usage.prompt_tokens, 8)
    prompt = whole.model_dump()["prompt_token_ids"]
    assert client.completions.create(prompt=prompt, max_tokens=8, **GREEDY).choices[0].text == said.message.content


def test_tools_whole_and_streamed(client: openai.OpenAI) -> None:
    asked: Any = {"messages": QUESTION, "tools": TOOLS, "max_tokens": 32, "parallel_tool_calls": False, **GREEDY}
    whole = client.chat.completions.create(tool_choice="required", **asked).choices[0]
    assert whole.message.tool_calls is not None and whole.finish_reason == "tool_calls"
    (call,) = whole.message.tool_calls
    assert call.type == "function" and json.loads(call.function.arguments)["city"] in ("Oslo", "Rome")
    with client.chat.completions.stream(tool_choice="required", **asked) as stream:
        streamed = stream.get_final_completion().choices[0]
    assert [one.function.arguments for one in streamed.message.tool_calls or ()] == [call.function.arguments]
    result: Any = {"role": "tool", "tool_call_id": call.id, "content": "Sunny."}
    told = client.chat.completions.create(**{**asked, "messages": [*QUESTION, whole.message, result], "max_tokens": 4})
    assert told.choices[0].message.content or told.choices[0].message.tool_calls


def test_responses_whole_and_streamed(client: openai.OpenAI) -> None:
    asked: Any = {"input": "What is the weather in Rome?", "max_output_tokens": 8, **GREEDY}
    whole = client.responses.create(**asked)
    assert whole.output_text and whole.usage is not None and whole.usage.output_tokens == 8
    with client.responses.stream(**asked) as stream:
        deltas = [event.delta for event in stream if event.type == "response.output_text.delta"]
        assert "".join(deltas) == whole.output_text == stream.get_final_response().output_text


def test_errors_have_their_classes(client: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError, match="there is no model"):
        client.chat.completions.create(model="other", messages=QUESTION)
    with pytest.raises(openai.BadRequestError) as refused:
        client.chat.completions.create(model="small", messages=QUESTION, max_tokens=10**6)
    assert refused.value.code == "invalid_request"


@pytest.mark.parametrize(
    "agent", [openai_agent.agent, openai_responses_agent.agent, langgraph_agent.agent, anthropic_agent.agent]
)
def test_an_agents_episode_is_recorded_token_by_token(
    small_model_service: Served, agent: captured_session.Agent
) -> None:
    def base_url_of(session: Any) -> str:
        is_anthropics = agent is anthropic_agent.agent
        return str(session.anthropic_base_url if is_anthropics else session.openai_base_url)

    request = SessionRequest(task={"size": 40}, seed=7)
    with small_model_service.client() as client:
        played = captured_session.play(client, agent, request, must_call=True, base_url_of=base_url_of)
    assert played.score is not None and played.score.status == "completed"
    row = small_model_service.row("bazaar:Bazaar", played.id)
    [sample] = [sample for sample in row["samples"] if sample["participant"] == "policy"]
    assert (sample["thread"], sample["fork_reason"]) == ("policy", None)
    assert_spans_are_the_events(sample, row["events"])
    turns = [event for event in row["events"] if event["kind"] == "message" and event["participant"] == "user"]
    called = [event for event in row["events"] if event["kind"] == "tool_call"]
    assert turns and len(called) >= 2 and row["turns"] >= 3
    assert_forward_pass_agrees(sample)


def test_an_answer_in_the_form_that_an_agent_asks_for(small_model_service: Served) -> None:
    form: Any = {"type": "json_schema", "json_schema": {"name": "place", "schema": CITY}}
    wrong: Any = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "string", "pattern": "("}}}
    with (
        small_model_service.client() as client,
        client.open_session(SessionRequest(task={"size": 40}, seed=7)) as session,
    ):
        with openai.OpenAI(base_url=session.openai_base_url, api_key=session.api_key, max_retries=0) as agent:
            with pytest.raises(openai.BadRequestError) as refused:
                agent.chat.completions.create(model="policy", messages=QUESTION, response_format=wrong)
            assert refused.value.param == "response_format"
            said = agent.chat.completions.create(model="policy", messages=QUESTION, response_format=form)
        assert json.loads(said.choices[0].message.content or "")["city"] in ("Oslo", "Rome")
        session.score()
    [sample] = [
        one
        for one in small_model_service.row("bazaar:Bazaar", session.opened.id)["samples"]
        if one["participant"] == "policy"
    ]
    [span] = [span for span in sample["spans"] if span["generated"]]
    assert span["kind"] == "constrained" and "Oslo" in span["sampling"]["grammar"]
    assert_forward_pass_agrees(sample)


def assert_spans_are_the_events(sample: dict[str, Any], events: list[dict[str, Any]]) -> None:
    """No token is left out, the mask is on what was generated, and every span says what its event says."""
    tokenizer, position = AutoTokenizer.from_pretrained(checkpoint_dir()), 0
    assert sample_problems(sample) == []
    for span in sample["spans"]:
        assert span["start"] == position
        position = span["end"]
        event, tokens = events[span["event_seq"]], sample["token_ids"][span["start"] : span["end"]]
        said = tokenizer.decode(tokens)
        text = "".join(part["text"] for part in event["content"])
        if not span["generated"]:
            assert event["participant"] == "policy" or text in said
        elif event["tool_calls"]:
            calls = [f"{call['name']} {call['arguments']}" for call in event["tool_calls"]]
            assert said.startswith("\n".join(calls))  # a stop string may have cut it
        else:
            assert text in tokenizer.decode(tokens, skip_special_tokens=True)  # a model may say <|endoftext|> midway
    assert position == len(sample["token_ids"])
    spoken = [event["seq"] for event in events if event["kind"] == "message" and event["thread"] == "policy"]
    assert [span["event_seq"] for span in sample["spans"] if span["generated"]] == spoken


def assert_forward_pass_agrees(sample: dict[str, Any]) -> None:
    """The engine has had as its prompt, at every step, what the sample says: logprobs computed anew from it are those recorded."""
    reference, grammars = Reference(checkpoint_dir()), Grammars.of(checkpoint_dir())
    computed, at_edge = sample_logprobs(sample, reference, grammars)
    differences = np.abs(computed.numpy() - np.array(sample["logprobs"])[np.array(sample["loss_mask"], dtype=bool)])
    mean, largest = (2e-5, 2e-4) if cpu_dtype() == "float32" else (0.1, 2.0)
    assert differences.mean() <= mean and differences.max() <= largest and at_edge == 0
