"""Checks the OpenAI-compatible API of models that are endpoints: what is forwarded, and how failures are reported."""

from __future__ import annotations

import json
import pickle
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any

import httpx
import openai
import pytest
from conftest import free_port
from door_app import door_app
from endpoint_double import EndpointDouble, Reply, answer, running_endpoint

from ray_gym.deployments.gateway.app import targets_of
from ray_gym.deployments.gateway.doors.door_targets import DoorTarget, EndpointTarget
from ray_gym.deployments.gateway.doors.messages_door import messages_router
from ray_gym.deployments.gateway.guards import errors
from ray_gym.deployments.vllm_endpoint.engine import VllmEndpointEngine
from ray_gym.engines import endpoint_door
from ray_gym.engines.endpoint_door import EndpointDoor
from ray_gym.engines.openai import OpenAIEngine, OpenAIOptions
from ray_gym.engines.refusals import RefusedByEndpoint
from ray_gym.models.door import PATHS, DoorHead, DoorPart, DoorRequest
from ray_gym.models.engine import OpensDoor
from ray_gym.openai_api.refused import Refused

KEY = "sk-of-the-service-only"
HELLO: Any = [{"role": "user", "content": "Hello"}]
RESPONSE: Any = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "model": "large",
    "status": "completed",
    "output": [
        {
            "type": "message",
            "id": "m",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "Hello.", "annotations": []}],
        }
    ],
    "parallel_tool_calls": True,
    "tools": [],
    "tool_choice": "auto",
}


@pytest.fixture
async def endpoint() -> AsyncIterator[EndpointDouble]:
    async with running_endpoint() as double:
        yield double


@pytest.fixture
async def web(endpoint: EndpointDouble, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[httpx.AsyncClient]:
    monkeypatch.setenv("ENDPOINT_KEY", KEY)
    options = OpenAIOptions(
        base_url=endpoint.base_url,
        model="large",
        api_key_env="ENDPOINT_KEY",
        timeout_s=0.5,
        extra_body={"provider": "here"},
    )
    door = OpenAIEngine(options).open_door()
    transport = httpx.ASGITransport(door_app({"judge": DoorTarget(door)}))
    async with httpx.AsyncClient(transport=transport, base_url="http://door") as web:
        yield web
    await door.close()


@pytest.fixture
def client(web: httpx.AsyncClient) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(api_key="callers-own", base_url="http://door/v1", http_client=web, max_retries=0)


async def test_every_path_is_passed_on_under_the_services_name_and_key(
    client: openai.AsyncOpenAI, endpoint: EndpointDouble
) -> None:
    text = {"id": "c", "object": "text_completion", "created": 1, "model": "large"}
    choice = {"index": 0, "text": " world", "finish_reason": "stop", "logprobs": None}
    endpoint.will_answer(Reply(answer()), Reply({**text, "choices": [choice]}), Reply(RESPONSE))
    chat = await client.chat.completions.create(
        model="judge", messages=HELLO, n=2, logprobs=True, extra_headers={"X-Session-ID": "mine"}
    )
    completion = await client.completions.create(model="judge", prompt=["Hello"], extra_body={"provider": "there"})
    response = await client.responses.create(model="judge", input="Hello", store=True)
    assert chat.choices[0].message.content == response.output_text == "Hello."
    assert completion.choices[0].text == " world"
    assert endpoint.paths == ["/v1/chat/completions", "/v1/completions", "/v1/responses"]
    assert [(asked["model"], asked["provider"]) for asked in endpoint.requests] == [("large", "here")] * 3
    assert endpoint.requests[0]["n"] == 2 and endpoint.requests[1]["prompt"] == ["Hello"]
    assert endpoint.requests[2]["store"] is False and "store" not in endpoint.requests[0]
    assert {headers["Authorization"] for headers in endpoint.headers} == {f"Bearer {KEY}"}
    assert endpoint.headers[0]["X-Session-Id"] not in ("", "mine")


async def test_a_stream_is_passed_on(client: openai.AsyncOpenAI, endpoint: EndpointDouble) -> None:
    pieces = [{"id": "c", "choices": [{"index": 0, "text": text, "finish_reason": None}]} for text in ("one", "two")]
    events = "".join(f"data: {json.dumps(piece)}\n\n" for piece in pieces) + "data: [DONE]\n\n"
    endpoint.will_answer(Reply(events, headers={"Content-Type": "text/event-stream"}))
    stream = await client.completions.create(model="judge", prompt="Hello", stream=True)
    assert [chunk.choices[0].text async for chunk in stream] == ["one", "two"]


@pytest.mark.parametrize(
    ("reply", "status", "code", "told"),
    [
        (Reply({"error": {"message": "too hot", "param": "temperature"}}, 400), 400, "invalid_request", "too hot"),
        (Reply({"error": {"message": f"wrong key {KEY}"}}, 422), 400, "invalid_request", "wrong key ***"),
        (Reply({"detail": "Not Found"}, 404), 400, "not_offered", "has no /v1/responses"),
        (Reply({"error": {"message": f"bad {KEY}"}}, 401), 502, "model_failed", "does not let the service in"),
        (Reply("", 302, {"Location": "http://elsewhere"}), 502, "model_failed", "HTTP 302"),
        (Reply({"error": {"message": "Your input was flagged"}}, 403), 400, "content_filter", "was flagged"),
        (Reply("no room", 498), 503, "unavailable", "HTTP 498"),
        (Reply("slow down", 429, {"Retry-After": "7"}), 429, "too_many", "slow down"),
        (Reply("broken inside", 500), 503, "unavailable", "HTTP 500"),
        (Reply("", hang=True), 503, "unavailable", "in time"),
    ],
)
async def test_what_goes_wrong_there_is_told_without_its_secrets(
    web: httpx.AsyncClient, endpoint: EndpointDouble, reply: Reply, status: int, code: str, told: str
) -> None:
    endpoint.will_answer(reply)
    answer = await web.post("/v1/responses", json={"model": "judge", "input": "Hello"})
    problem = answer.json()["error"]
    assert (answer.status_code, problem["code"]) == (status, code)
    assert told in problem["message"] and KEY not in answer.text and "inside" not in answer.text
    assert problem["param"] == {"too hot": "temperature", "has no /v1/responses": "model"}.get(told)
    assert answer.headers.get("Retry-After") == ({429: "7", 503: "5"}.get(status))
    assert len(endpoint.requests) == 1, "nothing is tried again"


CUSTOM: Any = {"type": "custom", "custom": {"name": "note"}}


@pytest.mark.parametrize("path", ["messages", "chat/completions"])
@pytest.mark.parametrize(
    ("reply", "status", "code", "kind", "told", "retry_after"),
    [
        (Reply("slow down", 429, {"Retry-After": "17"}), 429, "too_many", "rate_limit_error", "slow down", "17"),
        (Reply({"error": {"message": "no quota"}}, 429), 429, "too_many", "rate_limit_error", "no quota", "5"),
        (
            Reply({"error": {"message": f"bad {KEY}", "param": "x"}}, 400),
            400,
            "invalid_request",
            "invalid_request_error",
            "bad ***",
            None,
        ),
        (Reply({"detail": "Not Found"}, 404), 400, "not_offered", "invalid_request_error", "Not Found", None),
        (Reply({"error": {"message": f"bad {KEY}"}}, 401), 502, "model_failed", "api_error", "(HTTP 401)", None),
        (Reply({"error": {"message": "no access"}}, 403), 502, "model_failed", "api_error", "(HTTP 403)", None),
        (Reply("broken inside", 500), 503, "unavailable", "overloaded_error", "failed (HTTP 500)", "5"),
    ],
)
async def test_what_an_endpoint_refuses_is_the_same_where_it_is_asked_as_in_episodes(
    endpoint: EndpointDouble,
    monkeypatch: pytest.MonkeyPatch,
    path: str,
    reply: Reply,
    status: int,
    code: str,
    kind: str,
    told: str,
    retry_after: str | None,
) -> None:
    monkeypatch.setenv("ENDPOINT_KEY", KEY)
    noted: list[str] = []

    async def note(words: str) -> None:
        noted.append(words)

    options = OpenAIOptions(base_url=endpoint.base_url, model="large", api_key_env="ENDPOINT_KEY")
    targets = targets_of({"judge": OpenAIEngine(options)}, note)
    app = door_app(targets)
    app.include_router(messages_router(targets, lambda request: "local"))
    errors.register(app)
    endpoint.will_answer(reply)
    asked = {"model": "judge", "messages": HELLO, "max_tokens": 9}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://door") as web:
        answer = await web.post(f"/v1/{path}", json=asked if path == "messages" else {**asked, "tools": [CUSTOM]})
    problem = answer.json()["error"]
    if path == "messages":
        assert (answer.status_code, problem["type"]) == ({502: 500, 503: 529}.get(status, status), kind)
    else:
        assert (answer.status_code, problem["code"]) == (status, code)
    assert told in problem["message"] and KEY not in answer.text and "inside" not in answer.text
    assert answer.headers.get("Retry-After") == retry_after
    assert len(endpoint.requests) == 1, "nothing is tried again"
    assert [KEY in words for words in noted] == [False] * (status >= 500)


def test_a_refusal_of_an_endpoint_reaches_other_processes_whole() -> None:
    refused = Refused(429, "too_many", "slow down", retry_after_s=17)
    copied = pickle.loads(pickle.dumps(RefusedByEndpoint("model m", "HTTP 429: slow down", True, refused)))
    assert isinstance(copied, RefusedByEndpoint) and copied.refused.retry_after_s == 17 and copied.retry
    assert str(copied) == "infra failure in model m: HTTP 429: slow down" and copied.failure == copied.to_keep().failure


@pytest.mark.parametrize(
    ("path", "body", "param"),
    [
        ("responses", {"input": "x", "previous_response_id": "resp_of_another"}, "previous_response_id"),
        ("responses", {"input": "x", "background": True}, "background"),
        ("responses", {"input": "x", "prompt": {"id": "pmpt_1"}}, "prompt"),
        ("responses", {"input": [{"type": "item_reference", "id": "x"}]}, "input"),
        ("responses", {"input": "x", "tools": [{"type": "mcp", "server_url": "http://inside"}]}, "tools"),
        ("chat/completions", {"messages": HELLO, "web_search_options": {"x": 1}}, "web_search_options"),
        ("chat/completions", {"messages": [{"role": "user", "content": [{"type": "file", "file": {}}]}]}, "messages"),
    ],
)
async def test_nothing_is_reached_that_is_the_services_own(
    web: httpx.AsyncClient, endpoint: EndpointDouble, path: str, body: Any, param: str
) -> None:
    answer = await web.post(f"/v1/{path}", json={"model": "judge", **body})
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, param) and not endpoint.requests


class Full:
    """Imitates the API of a replica whose queue is full."""

    async def answer(self, request: DoorRequest, session_id: str) -> AsyncGenerator[DoorPart, None]:
        yield DoorHead(429, "application/json")
        yield b'{"error": {"message": "the queue is full", "code": 429}}'


async def test_who_is_refused_by_a_replica_for_others_is_told_when_to_come_back() -> None:
    app = door_app({"small": DoorTarget(Full())})
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://door") as http:
        answer = await http.post("/v1/chat/completions", json={"model": "small", "messages": HELLO})
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "1")


async def test_an_endpoint_that_is_gone_is_told() -> None:
    door = EndpointDoor(OpenAIOptions(base_url=f"http://127.0.0.1:{free_port()}/v1", model="x"), None)
    with pytest.raises(Refused, match="can't be reached") as refused:
        await anext(door.answer(DoorRequest("/v1/completions", b"{}"), ""))
    assert refused.value.status == 503
    assert any("Connect" in words for words in refused.value.__notes__)
    await door.close()


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (Reply({"error": {"message": f"bad {KEY}"}}, 401), ["model judge: HTTP 401: bad ***"]),
        (Reply("CUDA out of memory", 500), ["model judge: HTTP 500: CUDA out of memory"]),
        (Reply("too hot", 400), []),
        (Reply("slow down", 429), []),
        (Reply("", hang=True), []),
    ],
)
async def test_what_the_caller_is_not_told_is_noted(
    endpoint: EndpointDouble, monkeypatch: pytest.MonkeyPatch, reply: Reply, told: list[str]
) -> None:
    monkeypatch.setenv("ENDPOINT_KEY", KEY)
    noted: list[str] = []

    async def note(words: str) -> None:
        noted.append(words)

    endpoint.will_answer(reply)
    options = OpenAIOptions(base_url=endpoint.base_url, model="large", api_key_env="ENDPOINT_KEY", timeout_s=0.5)
    app = door_app(targets_of({"judge": OpenAIEngine(options)}, note))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://door") as web:
        await web.post("/v1/completions", json={"model": "judge", "prompt": "Hello"})
    assert noted == told


def test_which_paths_are_passed_on() -> None:
    address: Any = {"base_url": "http://127.0.0.1:9/v1", "model": "x"}
    engine = OpenAIEngine(OpenAIOptions(**address))
    target = targets_of({"judge": engine})["judge"]
    assert isinstance(target, EndpointTarget) and target.passes == PATHS
    assert isinstance(engine, OpensDoor) and VllmEndpointEngine.passes == PATHS[1:]


async def test_an_answer_is_bounded_and_who_leaves_ends_it(
    endpoint: EndpointDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    door = EndpointDoor(OpenAIOptions(base_url=endpoint.base_url, model="large"), None)
    asked = DoorRequest("/v1/completions", b'{"prompt": "x"}')
    endpoint.will_answer(Reply("data: 1\n\n", headers={"Content-Type": "text/event-stream"}, stalls=True))
    async with aclosing(door.answer(asked, "")) as parts:
        assert [await anext(parts), await anext(parts)] == [DoorHead(200, "text/event-stream"), b"data: 1\n\n"]
    await endpoint.left.wait()
    monkeypatch.setattr(endpoint_door, "MOST_BYTES", 100)
    endpoint.will_answer(Reply("x" * 101))
    with pytest.raises(Refused) as refused:
        [part async for part in door.answer(asked, "")]
    assert refused.value.status == 502
    await door.close()
