"""Checks which words of an endpoint's error are shown: also those of the provider behind a router."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from endpoint_double import EndpointDouble, Reply, answer, running_endpoint
from openai_calls import check, complete, options
from processor import slowness

from ray_gym.engines.endpoint import error_text
from ray_gym.engines.openai import OpenAIEngine
from ray_gym.errors import EpisodeFailure, UserError

Json = dict[str, Any]

LIMITED = "qwen/qwen3:free is temporarily rate-limited upstream"


@pytest.fixture
async def endpoint() -> AsyncIterator[EndpointDouble]:
    async with running_endpoint() as double:
        yield double


def routed(raw: str, code: int = 429) -> Json:
    """Returns an error of a provider behind OpenRouter."""
    metadata = {"raw": raw, "provider_name": "Chutes"}
    return {"error": {"message": "Provider returned error", "code": code, "metadata": metadata}}


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (routed(LIMITED), f"Provider returned error: {LIMITED}"),
        (routed(json.dumps({"error": {"message": "no top_p"}})), "Provider returned error: no top_p"),
        (routed(json.dumps({"detail": "no top_p"})), "Provider returned error: no top_p"),
        (routed(json.dumps({"detail": [{"loc": ["a"], "msg": "no"}]})), "Provider returned error: a: no"),
        ([{"error": {"code": 400, "message": "no\nsignature"}}], "no signature"),
        ({"error": {"message": json.dumps({"error": {"message": "inner"}})}}, "inner"),
        ({"error": {"message": "A: B", "innererror": {"message": "B"}}}, "A: B"),
        ({"base_resp": {"status_code": 1002, "status_msg": "rate limit"}}, "rate limit"),
        ({"error_code": 336, "error_msg": "too often"}, "too often"),
        ({"error": "Not Found"}, "Not Found"),
        ({"detail": "Not Found"}, "Not Found"),
        (
            {"detail": [{"loc": ["body", "a", 0], "msg": "Not permitted", "input": "x"}, {"loc": [], "msg": "Bad"}]},
            "body.a.0: Not permitted; Bad",
        ),
        ({"detail": [{"msg": "Bad"}]}, "Bad"),
        ({"object": "error", "message": {"detail": [{"loc": ["body", "top_k"], "msg": "Extra"}]}}, "body.top_k: Extra"),
        ({"error": {"message": json.dumps({"detail": "inner"})}}, "inner"),
        ({"error": {"message": "P", "metadata": {"raw": json.dumps({"detail": "inner"})}}}, "P: inner"),
        ({"detail": {"error": {"message": "inner"}}}, "inner"),
        ({"detail": json.dumps({"message": "inner"})}, "inner"),
        ({"code": 400, "msg": "no such model"}, "no such model"),
        ({"detail": ["Bad", {"input": "x"}, {"msg": "Worse"}]}, "Bad; Worse"),
        ({"detail": []}, '{"detail": []}'),
        ({"error": {"message": ""}}, '{"error": {"message": ""}}'),
        ([], "[]"),
    ],
)
def test_the_words_of_the_innermost_error_are_shown(body: Any, told: str) -> None:
    assert error_text(json.dumps(body)) == told


def test_few_of_many_errors_are_told_in_time() -> None:
    began = time.process_time()
    for many in ([{"message": f"no {number}"} for number in range(10**4)], [{"message": "no 0"}] * 10**4):
        assert error_text(json.dumps(many)).startswith("no 0") and time.process_time() - began < 3 * slowness()
    assert error_text(json.dumps([{"message": text} for text in "aabacb"])) == "a: b: c"


async def test_an_error_in_the_place_of_an_answer_is_told_with_its_code(endpoint: EndpointDouble) -> None:
    for body in (routed(LIMITED), {**answer(), **routed(LIMITED)}):
        endpoint.will_answer(Reply(body))
        with pytest.raises(EpisodeFailure, match=f"Provider returned error: {LIMITED} \\(code 429\\)"):
            await complete(endpoint, retries=0)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"error_code": 336, "error_msg": "\u8bf7\u6c42\u8fc7\u591a"}, r"\u8bf7\u6c42\u8fc7\u591a \(code 336\)"),
        ({"problem": "\u8bf7\u6c42\u8fc7\u591a"}, r'\{"problem": "\u8bf7\u6c42\u8fc7\u591a"\}'),
    ],
)
async def test_an_error_is_told_in_its_own_letters(endpoint: EndpointDouble, body: Any, told: str) -> None:
    endpoint.will_answer(Reply(body))
    with pytest.raises(EpisodeFailure, match=f"no choices in the answer: {told}"):
        await complete(endpoint, retries=0)


async def test_why_a_provider_refuses_a_request_is_told(endpoint: EndpointDouble) -> None:
    endpoint.will_answer(Reply(routed(json.dumps({"error": {"message": "no such field"}}), 400), 400))
    with pytest.raises(EpisodeFailure, match="HTTP 400: Provider returned error: no such field"):
        await complete(endpoint)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_redirection_is_told_with_where_it_leads(endpoint: EndpointDouble, status: int) -> None:
    endpoint.will_answer(Reply("", status, {"Location": "https://far.invalid/v2"}))
    with pytest.raises(EpisodeFailure, match=f"HTTP {status}: it leads to https://far.invalid/v2, .*: set base_url"):
        await complete(endpoint)
    assert len(endpoint.requests) == 1
    endpoint.models = Reply("", status, {"Location": "https://far.invalid/v2"})
    with pytest.raises(UserError, match=f"answered HTTP {status}: it leads to https://far.invalid/v2"):
        await check(OpenAIEngine(options(endpoint)))
