"""Checks that requests get the form that an endpoint's refusals ask for, and that nobody's own options get lost by it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from endpoint_double import EndpointDouble, Reply, answer, running_endpoint
from openai_calls import MOVE, complete, options, request

from ray_gym.engines.openai import OpenAIModel
from ray_gym.errors import EpisodeFailure
from ray_gym.models.base import Sampling

Json = dict[str, Any]

CLAUDE = "`temperature` and `top_p` cannot both be specified for this model. Please use only one."
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
    assert f"it refuses {left_out}, so calls leave that out" in told


@pytest.mark.parametrize(
    ("sampling", "reply"),
    [
        (Sampling(top_p=0.9, temperature=0.5), refusal(CLAUDE)),
        (Sampling(top_p=0.9), refusal("Unsupported parameter: 'top_p' is not supported with this model.")),
        (Sampling(temperature=0.7), refusal("Unsupported value: 'temperature' does not support 0.7 with this model.")),
        (Sampling(temperature=0), refusal("`temperature` is deprecated for this model.")),
        (Sampling(), refusal("Unsupported parameter: 'stop_p' is not supported with this model.")),
        (Sampling(), refusal("top_p is too odd", 404)),
    ],
)
async def test_another_refusal_fails_by_its_words(endpoint: EndpointDouble, sampling: Sampling, reply: Reply) -> None:
    endpoint.will_answer(reply)
    with pytest.raises(EpisodeFailure, match=r"(?:top_p|temperature|stop_p)"):
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
        endpoint.will_answer(refusal("top_p is bad"), refusal("top_p was not it"))
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
