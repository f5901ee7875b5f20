"""Checks that a model at an endpoint has the limits a minute of its options, and that tries of a call are counted."""

from __future__ import annotations

import pytest
from endpoint_double import EndpointDouble, Reply, answer, running_endpoint
from openai_calls import options, request
from pydantic import ValidationError

from ray_gym.engines.openai import OpenAIModel
from ray_gym.models.engine import Paced


async def calls_counted(endpoint: EndpointDouble, **limits: float) -> int:
    """Makes a call whose first two tries the endpoint refuses, and returns the further tries that were counted."""
    endpoint.will_answer(Reply({}, 429), Reply({}, 503), Reply(answer()))
    model = OpenAIModel(options(endpoint, **limits), None, False, first_pause_s=0.01)
    counted: list[int] = []
    if model.rate is not None:
        model.rate.count_again = lambda: counted.append(1)  # type: ignore[method-assign]
    try:
        await model.complete(request())
    finally:
        await model.close()
    return len(counted)


async def test_further_tries_of_a_call_are_counted() -> None:
    async with running_endpoint() as endpoint:
        assert await calls_counted(endpoint, requests_per_minute=100) == 2
        assert await calls_counted(endpoint) == 0 and len(endpoint.requests) == 6


async def test_a_model_has_the_limits_of_its_options() -> None:
    none = OpenAIModel(options("http://localhost:1/v1"), None, False)
    some = OpenAIModel(options("http://localhost:1/v1", tokens_per_minute=1000), None, False)
    assert isinstance(none, Paced) and none.rate is None and some.rate is not None


@pytest.mark.parametrize("name", ["requests_per_minute", "tokens_per_minute"])
@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), True])
def test_limits_that_are_none_are_refused(name: str, value: float) -> None:
    with pytest.raises(ValidationError, match=name):
        options("http://localhost:1/v1", **{name: value})
