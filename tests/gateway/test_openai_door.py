"""Tests the OpenAI-compatible door in front of models that know messages only, with the official client."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator
from typing import Any

import httpx
import openai
import pytest
from door_app import door_app
from fastapi import Response

from ray_gym.deployments.gateway.doors.door_targets import ModelTarget
from ray_gym.engines.refusals import RefusedByEndpoint
from ray_gym.engines.scripted_model import ScriptedModel
from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.messages import Message, tool_call_message
from ray_gym.models.base import Completion, CompletionRequest
from ray_gym.models.tokenizers import TokenizerDigest
from ray_gym.openai_api.refused import Refused, service_unavailable, too_many_requests
from ray_gym.service.api import ModelInfo

TOOL: Any = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
HELLO: Any = [{"role": "user", "content": "Hello"}]


def player(request: CompletionRequest, rng: random.Random) -> Message:
    """Calls a tool that must be called, and says back what it heard last."""
    if request.tool_choice == "required":
        return tool_call_message(request.allowed_tools[0].name, {"at": 1}, "call_1")
    return Message("assistant", f"You said: {request.messages[-1].content}", reasoning="Let me see.")


class Failing:
    """This model raises the failure that it is given, or never answers."""

    def __init__(self, failure: Exception | None) -> None:
        self.failure = failure
        self.asked, self.cancelled = asyncio.Event(), asyncio.Event()

    async def complete(self, request: CompletionRequest) -> Completion:
        self.asked.set()
        if self.failure is not None:
            raise self.failure
        try:
            await asyncio.Event().wait()
        finally:
            self.cancelled.set()
        raise AssertionError

    async def close(self) -> None: ...


class Listening:
    """Tells under which session it was asked."""

    async def answer(self, path: str, body: Any, session_id: str) -> Response:
        return Response(json.dumps({"path": path, "session": session_id}), media_type="application/json")


@pytest.fixture
async def web() -> AsyncIterator[httpx.AsyncClient]:
    failures = {
        "data": EpisodeFailure(FailureKind.DATA, "chat template", "roles must alternate"),
        "infra": EpisodeFailure(FailureKind.INFRA, "model http://inside:8000", "no answer"),
        "broken": EpisodeFailure(FailureKind.ENVIRONMENT, "scripted player", "KeyError: 'secret'"),
    }
    targets: dict[str, Any] = {name: ModelTarget(Failing(failure), 5) for name, failure in failures.items()}
    targets |= {"slow": ModelTarget(Failing(None), 0.05), "listening": Listening()}
    targets["scripted"] = ModelTarget(ScriptedModel(player, {}, 0), 5)
    transport = httpx.ASGITransport(app=door_app(targets))
    async with httpx.AsyncClient(transport=transport, base_url="http://door") as web:
        yield web


@pytest.fixture
def client(web: httpx.AsyncClient) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(api_key="none", base_url="http://door/v1", http_client=web, max_retries=0)


async def test_a_conversation_with_tools(client: openai.AsyncOpenAI) -> None:
    assert [model.id async for model in client.models.list()][-2:] == ["scripted", "slow"]
    forced = await client.chat.completions.create(
        model="scripted", messages=HELLO, tools=[TOOL], tool_choice="required"
    )
    said = forced.choices[0].message
    assert forced.choices[0].finish_reason == "tool_calls" and said.tool_calls
    result: Any = {"role": "tool", "tool_call_id": said.tool_calls[0].id, "content": "A door."}
    told = await client.chat.completions.create(
        model="scripted", messages=[*HELLO, said.model_dump(exclude_none=True), result], tools=[TOOL]
    )
    assert told.choices[0].message.content == "You said: A door."
    assert told.model == "scripted" and told.usage is not None


async def test_a_model_by_its_name(client: openai.AsyncOpenAI) -> None:
    model = await client.models.retrieve("scripted")
    assert (model.id, model.object) == ("scripted", "model")
    for other in ("other", "a/b"):
        with pytest.raises(openai.NotFoundError, match="there is no model") as missing:
            await client.models.retrieve(other)
        assert missing.value.code == "model_not_found"


async def test_a_model_has_the_digest_of_its_tokenizer() -> None:
    digest = TokenizerDigest(3, "ab", (1, 2))

    class Up:
        def tokenizer(self) -> TokenizerDigest:
            return digest

    class Gone:
        def tokenizer(self) -> TokenizerDigest:
            raise EpisodeFailure(FailureKind.INFRA, "model app x", "no replica")

    names = ("up", "gone", "without")
    door = door_app(dict.fromkeys(names, Listening()), {"up": Up(), "gone": Gone()})
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=door), base_url="http://door") as web:
        up, gone, without = [await web.get(f"/v1/models/{name}") for name in names]
    assert ModelInfo.model_validate_json(up.content).tokenizer == digest and up.json()["id"] == "up"
    assert without.json() == {
        "id": "without",
        "object": "model",
        "created": 0,
        "owned_by": "ray_gym",
        "tokenizer": None,
    }
    assert gone.status_code == 503 and "no replica of the model can be reached" in gone.text


async def test_a_model_that_can_keep_to_no_form_says_so(client: openai.AsyncOpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="can't follow one") as refused:
        await client.chat.completions.create(model="scripted", messages=HELLO, response_format={"type": "json_object"})
    assert refused.value.param == "response_format"


async def test_a_streamed_answer(client: openai.AsyncOpenAI) -> None:
    stream = await client.chat.completions.create(model="scripted", messages=HELLO, stream=True)
    chunks = [chunk async for chunk in stream]
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "You said: Hello"
    assert chunks[-1].choices[0].finish_reason == "stop"


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"model": "other", "messages": HELLO}, 404, "model_not_found"),
        ({"model": 3, "messages": HELLO}, 400, "invalid_request"),
        ({"messages": HELLO}, 400, "invalid_request"),
        ([], 400, "invalid_request"),
        ({"model": "scripted"}, 400, "invalid_request"),
        ({"model": "scripted", "messages": HELLO, "n": 3}, 400, "invalid_request"),
        ({"model": "data", "messages": HELLO}, 400, "invalid_request"),
        ({"model": "infra", "messages": HELLO}, 503, "unavailable"),
        ({"model": "broken", "messages": HELLO}, 502, "model_failed"),
        ({"model": "slow", "messages": HELLO}, 503, "unavailable"),
    ],
)
async def test_errors_have_one_shape_and_tell_nothing_of_the_inside(
    web: httpx.AsyncClient, body: Any, status: int, code: str
) -> None:
    answer = await web.post("/v1/chat/completions", json=body)
    problem = answer.json()["error"]
    assert (answer.status_code, problem["code"]) == (status, code)
    assert problem["message"] and problem["type"] and "inside" not in answer.text and "secret" not in answer.text
    assert ("Retry-After" in answer.headers) == (status == 503)


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (
            EpisodeFailure(FailureKind.ENVIRONMENT, "scripted player (mine.py:4)", "ValueError: no"),
            ["model m: environment in scripted player (mine.py:4): ValueError: no"],
        ),
        (EpisodeFailure(FailureKind.USER, "model", "gone"), ["model m: user in model: gone"]),
        (EpisodeFailure(FailureKind.INFRA, "model", "HTTP 401", retry=False), ["model m: infra in model: HTTP 401"]),
        (EpisodeFailure(FailureKind.INFRA, "model", "refused"), ["model m: infra in model: refused"]),
        (
            RefusedByEndpoint("model", "HTTP 500: boom", True, service_unavailable("the model's endpoint failed")),
            ["model m: infra in model: HTTP 500: boom"],
        ),
        (
            RefusedByEndpoint("model", "HTTP 503: full", True, service_unavailable("the model's endpoint failed")),
            ["model m: infra in model: HTTP 503: full"],
        ),
        (RefusedByEndpoint("model", "HTTP 429: slow", True, too_many_requests("slow", 5)), []),
        (RefusedByEndpoint("model", "HTTP 400: no", False, Refused(400, "invalid_request", "no")), []),
        (EpisodeFailure(FailureKind.DATA, "chat template", "roles must alternate"), []),
    ],
)
@pytest.mark.parametrize(
    ("path", "said"), [("chat/completions", {"messages": HELLO}), ("responses", {"input": "Hello"})]
)
async def test_a_failure_of_which_the_caller_has_no_words_is_noted(
    failure: EpisodeFailure, told: list[str], path: str, said: dict[str, Any]
) -> None:
    noted: list[str] = []

    async def note(words: str) -> None:
        noted.append(words)

    app = door_app({"m": ModelTarget(Failing(failure), 5, note)})
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://door") as web:
        answer = await web.post(f"/v1/{path}", json={"model": "m", **said})
    assert (answer.status_code >= 500) == bool(told) and noted == told


async def test_completions_say_that_the_model_has_messages_only(client: openai.AsyncOpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="messages only"):
        await client.completions.create(model="scripted", prompt="Hello")


async def test_a_model_that_takes_messages_has_responses_too(client: openai.AsyncOpenAI) -> None:
    said = await client.responses.create(model="scripted", input="Hello")
    assert said.output_text
    with pytest.raises(openai.BadRequestError, match="previous_response_id is not followed"):
        await client.responses.create(model="scripted", input="And?", previous_response_id=said.id)


async def test_a_session_is_its_callers_own(web: httpx.AsyncClient) -> None:
    async def session(**headers: str) -> str:
        answer = await web.post("/v1/responses", json={"model": "listening"}, headers=headers)
        assert answer.json()["path"] == "/v1/responses"
        return str(answer.json()["session"])

    name = "X-Session-ID"
    mine, theirs = await session(**{name: "one"}), await session(**{name: "one", "X-Caller": "another"})
    assert mine == await session(**{name: "one"}) and len({mine, theirs, await session(**{name: "two"})}) == 3
    assert "one" not in mine and await session() == ""
    for wrong in ("", "x" * 257, "é"):
        answer = await web.post(
            "/v1/responses", json={"model": "listening"}, headers=[(b"X-Session-ID", wrong.encode())]
        )
        assert answer.status_code == 400


async def test_a_client_who_goes_away_ends_the_call() -> None:
    model, sent = Failing(None), asyncio.Queue[Any]()
    app = door_app({"slow": ModelTarget(model, 60)})
    body = json.dumps({"model": "slow", "messages": HELLO}).encode()
    sent.put_nowait({"type": "http.request", "body": body, "more_body": False})
    headers = [(b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/v1/chat/completions", "query_string": b"", "headers": headers}

    async def send(message: Any) -> None: ...

    call = asyncio.ensure_future(app(scope, sent.get, send))
    await asyncio.wait_for(model.asked.wait(), 5)
    sent.put_nowait({"type": "http.disconnect"})
    await asyncio.wait_for(call, 5)
    assert model.cancelled.is_set()
