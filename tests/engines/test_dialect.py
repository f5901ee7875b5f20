"""Checks that requests get the form that an endpoint's refusals ask for, and that nobody's own options get lost by it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from endpoint_double import EndpointDouble, Reply, answer, running_endpoint
from openai_calls import MOVE, complete, options, request

from ray_gym.engines.dialect import Dialect
from ray_gym.engines.openai import OpenAIModel
from ray_gym.episode.participant import Participant
from ray_gym.episode.thread import Asked, Thread
from ray_gym.errors import EpisodeFailure
from ray_gym.messages import Message, ToolCall
from ray_gym.models.base import Completion, Sampling
from ray_gym.models.stored import restore, store

Json = dict[str, Any]

CLAUDE = "`temperature` and `top_p` cannot both be specified for this model. Please use only one."
LOST = "upstream error while sampling with temperature=1.0, top_p=1.0: worker lost"
COPIED = "{'role': 'user', 'content': 'Hello'}"
SIGNATURE = "Function call is missing a thought_signature in functionCall parts. Additional data, function call `move`."
DEEPSEEK = "Missing `reasoning_content` field in the assistant message at message index 1."
UNSIGNED = {"google": {"thought_signature": "skip_thought_signature_validator"}}
SIGNED = {"google": {"thought_signature": "abc=="}}
DETAILS = [{"type": "reasoning.encrypted", "data": "abc"}]
TOOLS: Json = {"tools": (MOVE,), "allowed_tools": (MOVE,)}


@pytest.fixture
async def endpoint() -> AsyncIterator[EndpointDouble]:
    async with running_endpoint() as double:
        yield double


def refusal(said: str, status: int = 400, **more: Any) -> Reply:
    return Reply({"error": {"message": said, **more}}, status)


def routed(said: str) -> Reply:
    """Returns the refusal of a provider behind OpenRouter."""
    return refusal("Provider returned error", metadata={"raw": json.dumps({"error": {"message": said}})})


# Fields that a model refuses


@pytest.mark.parametrize(
    ("reply", "left_out"),
    [
        (refusal(CLAUDE), "top_p"),
        (routed(CLAUDE), "top_p"),
        (Reply({"error": "Input validation error: `top_p` must be > 0.0 and < 1.0"}, 422), "top_p"),
        (refusal("Unsupported parameter: 'top_p' is not supported with this model.", param="top_p"), "top_p"),
        (Reply({"detail": [{"loc": ["body", "top_p"], "msg": "Extra inputs are not permitted"}]}, 422), "top_p"),
        (Reply(json.dumps([{"error": {"message": "Unknown name 'topP'"}}]), 400), "top_p"),
        (refusal("`temperature` is deprecated for this model."), "temperature"),
        (refusal("invalid temperature: only 0.6 is allowed for this model"), "temperature"),
        (refusal("Unsupported parameter: 'parallel_tool_calls' is not supported"), "parallel_tool_calls"),
        (refusal("openai does not support parameters: ['parallel_tool_calls']"), "parallel_tool_calls"),
        (Reply({"message": "This model doesn't support the topP field. Remove topP and try again."}, 400), "top_p"),
        (refusal("top_p cannot be used with thinking", type=None), "top_p"),
        (refusal("You cannot specify both temperature and top_p"), "top_p"),
        (refusal("Only one of temperature and top_p can be set"), "top_p"),
        (refusal("Please remove top_p from the request"), "top_p"),
        (refusal("该模型不支持 top_p 参数"), "top_p"),
        (refusal("Upstream error from X: temperature is not supported"), "temperature"),
        (Reply({"detail": [{"loc": ["body", "top_p"], "msg": "Input should be less than 1"}]}, 422), "top_p"),
        (refusal("parallel tool calls are disabled for this model"), "parallel_tool_calls"),
        (refusal("no such parameter: parallel_tool_calls"), "parallel_tool_calls"),
    ],
)
async def test_a_field_that_is_refused_is_left_out_where_it_asks_for_the_default(
    endpoint: EndpointDouble, reply: Reply, left_out: str
) -> None:
    endpoint.will_answer(reply, Reply(answer("Hi.")))
    model = OpenAIModel(options(endpoint), None, exact=False)
    for _ in range(2):
        assert (await model.complete(request(**TOOLS))).message.content == "Hi."
    await model.close()
    first, second, third = endpoint.requests
    assert first == {**second, left_out: first[left_out]} and second == third, "it is learnt"
    [told] = model.take_warnings()
    means = "it may call several tools at once" if left_out == "parallel_tool_calls" else "its own default counts"
    assert f"it refuses {left_out}, so calls leave that out, and {means}" in told


@pytest.mark.parametrize(
    ("sampling", "reply"),
    [
        (Sampling(top_p=0.9, temperature=0.5), refusal(CLAUDE)),
        (Sampling(top_p=0.9), refusal("Unsupported parameter: 'top_p' is not supported with this model.")),
        (Sampling(temperature=0.7), refusal("Unsupported value: 'temperature' does not support 0.7 with this model.")),
        (Sampling(temperature=0), refusal("`temperature` is deprecated for this model.")),
        (Sampling(), refusal("Unsupported parameter: 'stop_p' is not supported with this model.")),
        (Sampling(), refusal("top_p is unsupported", 404)),
        (Sampling(), refusal(LOST)),
        (Sampling(), refusal(LOST, type="invalid_request_error")),
        (Sampling(), refusal(f"Timeout in ChatCompletionRequest(messages=[{COPIED}], temperature=1.0, top_p=1.0)")),
    ],
)
async def test_another_refusal_fails_by_its_words(endpoint: EndpointDouble, sampling: Sampling, reply: Reply) -> None:
    endpoint.will_answer(reply)
    with pytest.raises(EpisodeFailure, match=r"(?:top_p|temperature|stop_p|Timeout)"):
        await complete(endpoint, sampling=sampling)
    assert len(endpoint.requests) == 1


async def test_of_two_that_cannot_be_together_the_one_that_is_set_stays(endpoint: EndpointDouble) -> None:
    for sampling in (Sampling(top_p=0.9), Sampling(temperature=0.5)):
        endpoint.will_answer(refusal(CLAUDE), Reply(answer()))
        await complete(endpoint, sampling=sampling)
    _, first, _, second = ((asked.get("temperature"), asked.get("top_p")) for asked in endpoint.requests)
    assert (first, second) == ((None, 0.9), (0.5, None))


async def test_fields_are_left_out_one_by_one_beside_another_name_of_the_limit(endpoint: EndpointDouble) -> None:
    names = ("max_tokens", "parallel_tool_calls", "temperature", "top_p")
    refusals = [refusal(f"Unsupported parameter: '{name}' is not supported with this model.") for name in names]
    endpoint.will_answer(*refusals, Reply(answer()))
    await complete(endpoint, **TOOLS)
    *_, last = endpoint.requests
    assert last.keys() == {"model", "messages", "max_completion_tokens", "tools", "tool_choice"}


async def test_what_does_not_help_is_not_learnt(endpoint: EndpointDouble) -> None:
    model = OpenAIModel(options(endpoint), None, exact=False)
    for _ in range(2):
        endpoint.will_answer(refusal("top_p is invalid"), refusal("top_p was not it"))
        with pytest.raises(EpisodeFailure, match="top_p was not it"):
            await model.complete(request())
    await model.close()
    assert ["top_p" in asked for asked in endpoint.requests] == [True, False] * 2 and model.take_warnings() == []


async def test_an_endpoint_of_token_ids_gets_every_field(endpoint: EndpointDouble) -> None:
    """Left out, it would be filled in from the checkpoint's generation config."""
    endpoint.will_answer(refusal(CLAUDE))
    with pytest.raises(EpisodeFailure, match="cannot both"):
        await complete(endpoint, exact=True)
    assert len(endpoint.requests) == 1


# What a model wants back with its calls


def call(id: str = "c1", **more: Any) -> Json:
    return {"id": id, "type": "function", "function": {"name": "move", "arguments": "{}"}, **more}


def called(*calls: Json, **message: Any) -> Reply:
    return Reply(answer(None, message={"tool_calls": list(calls), **message}, finish_reason="tool_calls"))


async def sent_next(endpoint: EndpointDouble, first: Reply, *then: Reply) -> list[list[Json]]:
    """Returns the assistant's messages in each request of the call after an answer, which was kept by the journal."""
    model = OpenAIModel(options(endpoint, retries=0), None, exact=False)
    thread = Thread("policy", Participant("policy", "small", Sampling(), True, 5, 5), model, "s1", 0)
    thread.append(Message("user", "Go."), 0)
    asked = Asked(Sampling(), (MOVE,), (MOVE,), "auto")
    endpoint.will_answer(first)
    thread.accept(restore(store(await model.complete(thread.request(asked, 64)))), 1)
    endpoint.requests.clear()
    for number, made in enumerate(thread.messages[1].tool_calls):
        thread.append(Message("tool", "done", tool_call_id=made.id), 2 + number)
    endpoint.will_answer(*then)
    try:
        await model.complete(thread.request(asked, 64))
    finally:
        await model.close()
    return [[one for one in sent["messages"] if one["role"] == "assistant"] for sent in endpoint.requests]


async def test_a_call_goes_back_with_its_signature(endpoint: EndpointDouble) -> None:
    first = called(call(extra_content=SIGNED), call("c2"), call("c3", extra_content=None))
    [[sent]] = await sent_next(endpoint, first, Reply(answer()))
    assert [one.get("extra_content") for one in sent["tool_calls"]] == [SIGNED, None, None]
    assert sent == {"role": "assistant", "content": "", "tool_calls": sent["tool_calls"]}


@pytest.mark.parametrize(
    "reply", [refusal(DEEPSEEK), routed("thinking is enabled but reasoning_content is missing at index 2")]
)
async def test_reasoning_goes_back_with_a_call_where_it_is_missed(endpoint: EndpointDouble, reply: Reply) -> None:
    first = called(call(), reasoning_content="Hm.")
    [[before], [after]] = await sent_next(endpoint, first, reply, Reply(answer()))
    assert "reasoning_content" not in before and after == {**before, "reasoning_content": "Hm."}


@pytest.mark.parametrize(
    "reply",
    [
        routed(SIGNATURE),
        refusal("messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`."),
        refusal("reasoning_details are missing"),
    ],
)
async def test_details_of_routers_go_back_where_they_are_missed(endpoint: EndpointDouble, reply: Reply) -> None:
    first = called(call(provider_specific_fields={"thought_signature": "s"}), reasoning_details=DETAILS)
    [[before], [after]] = await sent_next(endpoint, first, reply, Reply(answer()))
    [made] = before["tool_calls"]
    made = {**made, "provider_specific_fields": {"thought_signature": "s"}}
    assert after == {**before, "reasoning_details": DETAILS, "tool_calls": [made]}


async def test_what_is_refused_does_not_go_back_any_more(endpoint: EndpointDouble) -> None:
    first = called(call(extra_content=SIGNED), reasoning="Hm.")
    refused = refusal("Unknown name 'extra_content'")
    [[with_it], [without]] = await sent_next(endpoint, first, refused, Reply(answer()))
    assert "extra_content" in json.dumps(with_it) and "extra_content" not in json.dumps(without)
    both = [refusal(DEEPSEEK), refusal("reasoning_content must not be in the input")]
    with pytest.raises(EpisodeFailure, match="reasoning_content must not be"):
        await sent_next(endpoint, first, *both)
    assert ["reasoning_content" in json.dumps(sent) for sent in endpoint.requests] == [False, True], (
        "none is sent twice"
    )


async def test_a_field_that_was_refused_goes_back_where_it_is_missed_again(endpoint: EndpointDouble) -> None:
    """A router may send calls to several providers."""
    model = OpenAIModel(options(endpoint, retries=0), None, exact=False)
    refused = refusal("Extra inputs are not permitted: reasoning_content")
    replies = [refusal(DEEPSEEK), None, None, refused, None, refusal(DEEPSEEK), None]
    endpoint.will_answer(*(reply or Reply(answer()) for reply in replies))
    for _ in range(4):
        await model.complete(request(messages=EARLIER))
    await model.close()
    sent = ["reasoning_content" in json.dumps(one["messages"]) for one in endpoint.requests]
    assert sent == [False, True, True, True, False, False, True]


LIMIT = "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead."


async def test_what_a_call_that_ends_otherwise_has_learnt_is_kept(endpoint: EndpointDouble) -> None:
    model = OpenAIModel(options(endpoint), None, exact=False)
    replies = [refusal(LIMIT), refusal(CLAUDE), refusal("bad", code="content_filter"), Reply(answer())]
    endpoint.will_answer(*replies)
    assert (await model.complete(request())).finish_reason == "content_filter"
    await model.complete(request())
    await model.close()
    names = ["max_completion_tokens" in one for one in endpoint.requests]
    assert names == [False, True, True, True] and "top_p" not in endpoint.requests[-1]


async def test_a_call_that_fails_teaches_no_name_of_the_limit(endpoint: EndpointDouble) -> None:
    """A router may send calls to several providers."""
    model = OpenAIModel(options(endpoint), None, exact=False)
    endpoint.will_answer(refusal(LIMIT), refusal("no such field"), Reply(answer()))
    with pytest.raises(EpisodeFailure, match="no such field"):
        await model.complete(request())
    await model.complete(request())
    await model.close()
    assert ["max_tokens" in one for one in endpoint.requests] == [True, False, True]


@pytest.mark.parametrize("status", [400, 422])
async def test_a_copy_of_the_request_beside_its_problems_is_not_read(endpoint: EndpointDouble, status: int) -> None:
    problem = {"type": "extra_forbidden", "loc": ["body", "top_k"], "msg": "Extra inputs are not permitted"}
    body = {"messages": "the maximum context length was exceeded", "top_p": 1.0, "temperature": 1.0, "max_tokens": 9}
    endpoint.will_answer(Reply({"detail": [problem], "body": body}, status))
    with pytest.raises(EpisodeFailure, match="top_k: Extra inputs are not permitted"):
        await complete(endpoint)
    assert len(endpoint.requests) == 1


async def test_calls_at_once_forget_nothing_that_another_has_learnt() -> None:
    began = Dialect(exact=False)
    one = replace(began, left_out=frozenset({"top_p"}), sent_back=began.sent_back | {"reasoning_content"})
    other = replace(began, left_out=frozenset({"top_p"}), has_short_ids=True, sent_back=frozenset())
    both = began.learnt(one, began).learnt(other, began)
    assert both == replace(one, has_short_ids=True, sent_back=frozenset({"reasoning_content"}))
    assert both.learnt(began, began) == both


EARLIER = [
    Message("user", "Go."),
    Message("assistant", tool_calls=(ToolCall("c1", "move", "{}"), ToolCall("c2", "move", "{}"))),
    *(Message("tool", "done", tool_call_id=id) for id in ("c1", "c2")),
    Message("assistant", "Well."),
    Message("user", "On."),
]


async def test_calls_that_a_model_has_not_made_have_what_counts_as_none(endpoint: EndpointDouble) -> None:
    for said in (SIGNATURE, DEEPSEEK):
        endpoint.will_answer(refusal(said), Reply(answer()))
        await complete(endpoint, messages=EARLIER)
    _, signed, _, reasoned = ([sent["messages"][1], sent["messages"][4]] for sent in endpoint.requests)
    assert [one.get("extra_content") for one in signed[0]["tool_calls"]] == [UNSIGNED, None]
    assert reasoned[0]["reasoning_content"] == " " and reasoned[1] == {"role": "assistant", "content": "Well."}


async def test_a_conversation_without_calls_has_nothing_to_send_back(endpoint: EndpointDouble) -> None:
    endpoint.will_answer(refusal(SIGNATURE))
    with pytest.raises(EpisodeFailure, match="thought_signature"):
        await complete(endpoint, messages=[*EARLIER[:1], *EARLIER[4:]])
    assert len(endpoint.requests) == 1


async def test_nothing_is_kept_of_an_answer_without_calls_or_with_token_ids(endpoint: EndpointDouble) -> None:
    endpoint.will_answer(Reply(answer("Hi.", message={"reasoning_details": DETAILS})))
    assert (await complete(endpoint)).beside == ""
    endpoint.will_answer(called(call(extra_content=SIGNED)))
    assert (await complete(endpoint, exact=True, **TOOLS)).beside == ""
    kept = json.loads((await complete(endpoint, **TOOLS)).beside)
    assert kept.pop("origin") and kept == {"tool_calls": [{"extra_content": SIGNED}]}


@pytest.mark.parametrize(
    ("changed", "goes_back"),
    [({}, True), ({"retries": 1}, True), ({"model": "large"}, False), ({"base_url": "http://localhost:%s/v1"}, False)],
)
async def test_what_a_model_gave_goes_back_to_that_one_alone(
    endpoint: EndpointDouble, changed: dict[str, Any], goes_back: bool
) -> None:
    """A run may be resumed with another model, whose environment variables say which."""
    endpoint.will_answer(called(call(extra_content=SIGNED)))
    first = await complete(endpoint, **TOOLS)
    if "base_url" in changed:
        changed = {"base_url": changed["base_url"] % endpoint.base_url.split(":")[-1].split("/")[0]}
    model = OpenAIModel(options(endpoint).model_copy(update=changed), None, exact=False)
    endpoint.will_answer(Reply(answer()))
    messages = [
        Message("user", "Go."),
        first.message,
        Message("tool", "done", tool_call_id=first.message.tool_calls[0].id),
    ]
    await model.complete(request(messages=messages, beside={1: first.beside}))
    await model.close()
    assert ("extra_content" in json.dumps(endpoint.requests[-1])) == goes_back


def test_a_thread_forgets_what_was_beside_messages_that_it_forgets() -> None:
    thread = Thread("policy", Participant("policy", "small", Sampling(), True, 5, 5), None, "s1", 0)  # type: ignore[arg-type]
    for number, beside in enumerate(("{}", "", '{"a": 1}')):
        thread.accept(Completion(Message("assistant", "Hi."), beside=beside), number)
    assert thread.request(Asked(Sampling()), 9).beside == {0: "{}", 2: '{"a": 1}'}
    thread.forget(2)
    assert thread.request(Asked(Sampling()), 9).beside == {0: "{}"}
