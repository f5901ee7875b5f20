"""Tests Anthropic's Messages API at both doors, with the official client and without."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anthropic
import httpx
import pytest
from door_app import door_app
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from gateway_app import TOKENS
from session_door import SESSION, Door, opened

from ray_gym.deployments.gateway.doors import pings
from ray_gym.deployments.gateway.doors.door_targets import ModelTarget
from ray_gym.deployments.gateway.doors.messages_door import messages_router
from ray_gym.deployments.gateway.guards import errors
from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.messages import Message
from ray_gym.models.base import Completion, CompletionRequest

HELLO: Any = [{"role": "user", "content": "Hello"}]
TAKE: Any = {"name": "take", "description": "Take.", "input_schema": {"type": "object", "properties": {}}}
BODY = {"model": "small", "max_tokens": 64, "messages": HELLO}
DOORS = ("/v1/messages", f"/v1/sessions/{SESSION}/anthropic/v1/messages")


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    async with opened(tmp_path) as door:
        yield door


@pytest.mark.parametrize("in_session", [False, True])
async def test_a_conversation_with_tools(door: Door, in_session: bool) -> None:
    client = door.anthropic(in_session)
    asked: Any = {"model": "small", "max_tokens": 64, "system": "You are a customer.", "tools": [TAKE]}
    said = await client.messages.create(messages=[{"role": "user", "content": "buy"}], **asked)
    assert (said.stop_reason, said.role, said.model) == ("tool_use", "assistant", "small")
    thinking, call = said.content
    assert thinking.type == "thinking" and thinking.thinking == "I think"
    assert call.type == "tool_use" and call.input == {"item": "pen", "count": 1}
    result: Any = {"type": "tool_result", "tool_use_id": call.id, "content": "sold out", "is_error": True}
    messages: Any = [
        {"role": "user", "content": "buy"},
        {"role": "assistant", "content": said.content},
        {"role": "user", "content": [result]},
    ]
    async with client.messages.stream(messages=messages, **asked) as stream:
        texts = [text async for text in stream.text_stream]
        told = await stream.get_final_message()
    assert texts == ["re: sold out"] and told.stop_reason == "end_turn"
    assert told.usage.output_tokens == len("re: sold out\n") and said._request_id


async def test_a_count_of_tokens(door: Door) -> None:
    for in_session in (False, True):
        counted = await door.anthropic(in_session).messages.count_tokens(model="small", messages=HELLO, tools=[TAKE])
        assert counted.input_tokens == len("Hello")
    with pytest.raises(anthropic.NotFoundError, match="has no chat template here"):
        await door.anthropic(False).messages.count_tokens(model="mute", messages=HELLO)


async def test_a_sessions_model_is_listed(door: Door) -> None:
    client = door.anthropic(True)
    [listed] = [model async for model in client.models.list()]
    assert (listed.id, listed.type) == ("policy", "model") and await client.models.retrieve("policy") == listed
    with pytest.raises(anthropic.NotFoundError, match="there is no model 'other'"):
        await client.models.retrieve("other")


async def test_the_key_may_be_in_either_header(door: Door) -> None:
    plain, session = DOORS
    async with door.web() as web:
        for path, key in ((plain, TOKENS["alice"]), (session, door.key)):
            for headers in ({"x-api-key": key}, {"Authorization": f"Bearer {key}"}):
                answer = await web.post(path, json=BODY, headers={"anthropic-version": "2023-06-01", **headers})
                assert answer.status_code == 200, answer.text
        both = {"Authorization": f"bearer {door.key}", "x-api-key": "another service's"}
        assert (await web.post(session, json=BODY, headers=both)).status_code == 200


@pytest.mark.parametrize("path", DOORS)
async def test_errors_have_anthropics_form(door: Door, path: str) -> None:
    alice, picture = {"x-api-key": TOKENS["alice"]}, [{"role": "user", "content": [{"type": "image"}]}]
    cases: list[tuple[dict[str, str], Any, int, str, str]] = [
        ({}, BODY, 401, "authentication_error", "a token is needed"),
        ({"x-api-key": "wrong"}, BODY, 401, "authentication_error", "no token of the service"),
        (alice, {**BODY, "max_tokens": "x"}, 400, "invalid_request_error", "max_tokens"),
        (alice, [], 400, "invalid_request_error", "object"),
        (alice, {**BODY, "messages": picture}, 400, "invalid_request_error", "only text can be read"),
    ]
    async with door.web() as web:
        for headers, body, status, kind, told in cases:
            answer = await web.post(path, json=body, headers={**headers, "X-Request-ID": "r1"})
            said = answer.json()
            assert (answer.status_code, said["type"], said["error"]["type"]) == (status, "error", kind)
            assert told in said["error"]["message"] and said["request_id"] == answer.headers["request-id"] == "r1"
        answer = await web.get(path, headers=alice)
        assert answer.status_code == 405 and answer.json()["type"] == "error"
        other = await web.post("/v1/sessions/other/anthropic/v1/messages", json=BODY, headers={"x-api-key": door.key})
        assert (other.status_code, other.json()["error"]["type"]) == (403, "permission_error")
        elsewhere = await web.post("/v1/chat/completions", json=BODY)
        assert elsewhere.json()["error"]["code"] == "no_token"


async def test_a_model_that_is_not_there(door: Door) -> None:
    with pytest.raises(anthropic.NotFoundError, match="there is no model 'other'"):
        await door.anthropic(False).messages.create(model="other", max_tokens=5, messages=HELLO)


async def test_a_stream_is_told_in_its_events(door: Door) -> None:
    async with door.web(TOKENS["alice"]) as web:
        answer = await web.post("/v1/messages?beta=true", json={**BODY, "stream": True, "mcp_servers": [{"url": "x"}]})
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["x-left-out"] == "mcp_servers"
    names = [line.removeprefix("event: ") for line in answer.text.splitlines() if line.startswith("event: ")]
    blocks = ["content_block_start", "content_block_delta", "content_block_stop"]
    thought = [blocks[0], blocks[1], *blocks[1:]]
    assert names == ["message_start", "ping", *thought, *blocks, "message_delta", "message_stop"]


async def test_after_the_end_an_agent_gets_an_empty_message(door: Door) -> None:
    await door.row()
    said = await door.anthropic().messages.create(model="policy", max_tokens=5, messages=HELLO)
    assert said.stop_reason == "end_turn" and [block.type for block in said.content] == ["text"]


class Answering:
    """Gives the completion, or raises the failure, that it is given."""

    def __init__(self, answer: Completion | EpisodeFailure) -> None:
        self._answer = answer
        self.asked: list[CompletionRequest] = []

    async def complete(self, request: CompletionRequest) -> Completion:
        self.asked.append(request)
        if isinstance(self._answer, EpisodeFailure):
            raise self._answer
        return self._answer

    async def close(self) -> None: ...


def app_of(model: Answering) -> FastAPI:
    targets: Any = {"small": ModelTarget(model, 5)}
    app = door_app(targets)
    app.include_router(messages_router(targets, lambda request: "local"))
    errors.register(app)
    return app


async def post(app: FastAPI, **more: Any) -> httpx.Response:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://door") as web:
        return await web.post("/v1/messages", json={**BODY, **more})


@pytest.mark.parametrize(
    ("answer", "status", "kind", "told"),
    [
        (Completion(Message("assistant"), "context_full", prompt_tokens=9), 400, "invalid_request_error", "too long"),
        (EpisodeFailure(FailureKind.DATA, "chat template", "no"), 400, "invalid_request_error", "no"),
        (EpisodeFailure(FailureKind.INFRA, "http://inside", "gone"), 529, "overloaded_error", "can't be reached"),
        (EpisodeFailure(FailureKind.ENVIRONMENT, "player", "KeyError"), 500, "api_error", "the model failed"),
    ],
)
async def test_failures_of_the_model(answer: Any, status: int, kind: str, told: str) -> None:
    said = await post(app_of(Answering(answer)), stream=True)
    assert (said.status_code, said.json()["error"]["type"]) == (status, kind)
    assert told in said.json()["error"]["message"] and "inside" not in said.text


async def test_what_a_model_is_asked() -> None:
    model = Answering(Completion(Message("assistant", "café \ud800")))
    said = await post(
        app_of(model),
        max_tokens=32000,
        temperature=0.2,
        stop_sequences=["END"],
        tools=[TAKE],
        tool_choice={"type": "tool", "name": "take", "disable_parallel_tool_use": True},
    )
    assert json.loads(said.text)["content"][0]["text"] == "café \ud800"
    [asked] = model.asked
    assert (asked.sampling.max_tokens, asked.sampling.temperature, asked.sampling.stop) == (32000, 0.2, ("END",))
    assert (asked.tool_choice, asked.parallel_tool_calls, asked.allowed_tools[0].name) == ("required", False, "take")


async def test_thoughts_in_an_answer_are_told_apart() -> None:
    said = await post(app_of(Answering(Completion(Message("assistant", "<think>secret</think>Hello.")))))
    assert [(block["type"], block.get("thinking", block.get("text"))) for block in said.json()["content"]] == [
        ("thinking", "secret"),
        ("text", "Hello."),
    ]


class Slow:
    """Answers once it may."""

    def __init__(self, failure: EpisodeFailure | None = None) -> None:
        self.asked, self.may_answer, self.left = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._failure = failure

    async def complete(self, request: CompletionRequest) -> Completion:
        self.asked.set()
        try:
            await self.may_answer.wait()
        except asyncio.CancelledError:
            self.left.set()
            raise
        if self._failure is not None:
            raise self._failure
        return Completion(Message("assistant", "At last."))

    async def close(self) -> None: ...


async def streamed(model: Slow, monkeypatch: pytest.MonkeyPatch) -> StreamingResponse:
    monkeypatch.setattr(pings, "PING_S", 0.01)
    answer = await ModelTarget(model, 5).answer("/v1/messages", {**BODY, "stream": True}, "")
    assert isinstance(answer, StreamingResponse)
    return answer


def types_of(events: list[Any]) -> list[str]:
    return [event.split("\n")[0].removeprefix("event: ") for event in events]


@pytest.mark.parametrize(
    ("failure", "last"),
    [(None, "message_stop"), (EpisodeFailure(FailureKind.INFRA, "m", "gone"), "error")],
)
async def test_a_stream_that_waits_for_its_answer_is_kept_open(
    failure: EpisodeFailure | None, last: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Slow(failure)
    found = []
    async for event in (await streamed(model, monkeypatch)).body_iterator:
        found.append(event)
        if len(found) == 3:
            model.may_answer.set()
    assert types_of(found)[:3] == ["ping"] * 3 and types_of(found)[-1] == last
    assert types_of(found).count("message_start") == (failure is None)
    if failure is not None:
        assert json.loads(str(found[-1]).split("data: ")[1])["error"]["type"] == "overloaded_error"


async def test_a_generation_ends_with_its_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Slow()
    body: Any = (await streamed(model, monkeypatch)).body_iterator
    await anext(body)
    await body.aclose()
    async with asyncio.timeout(5):
        await model.left.wait()


async def test_a_generation_ends_with_its_request() -> None:
    model = Slow()
    asking = asyncio.create_task(ModelTarget(model, 5).answer("/v1/messages", {**BODY, "stream": True}, ""))
    async with asyncio.timeout(5):
        await model.asked.wait()
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        await model.left.wait()
