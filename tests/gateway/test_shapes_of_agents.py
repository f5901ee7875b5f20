"""Checks that what agents' programs send is answered at both doors, without the programs: their requests are those of the
recorded shapes (`tests/agents/shapes`), with generated texts.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from agent_shapes import OF_MCP, PROGRAMS, Call, calls_of, events_of, messages_of, told_by
from fastapi import Response
from gateway_app import TOKENS
from playing import ScriptModel
from session_door import SESSION, Door, opened
from till import Till

from ray_gym.deployments.gateway.doors.door_targets import EndpointTarget, ModelTarget
from ray_gym.openai_api.sampling import MOST_TOKENS
from ray_gym.record.soundness import sample_problems

HONOURED = {"authorization", "x-api-key", "content-type", "x-stainless-retry-count"}
"""Headers that are read at either door."""
LEFT_OUT = {
    "codex": "tools.web_search",
    "claude-code": "context_management, output_config.effort, thinking, x-anthropic-billing-header",
}


def script(program: str) -> ScriptModel:
    """Makes a model that says what it said to the program."""
    return ScriptModel([call.said for call in calls_of(program) if call.said is not None])


def headers(call: Call, key: str, without: set[str] | None = None) -> Mapping[str, str]:
    """Returns the headers of a call, with a key of this door."""
    given = {name: value.replace("KEY", key) for name, value in call.headers.items()}
    return {name: value for name, value in given.items() if without is None or name.lower() not in without}


async def ask(web: httpx.AsyncClient, call: Call, path: str, body: Any, key: str) -> httpx.Response:
    """Sends a call, and checks that it is answered as it was when it was recorded. A look at what is there, which has no
    key, may be refused.
    """
    answer = await web.request(call.method, path, json=body, headers=headers(call, key))
    assert answer.status_code == call.status or (call.said is None and 400 <= answer.status_code < 500), answer.text
    assert events_of(answer.text) == call.events
    return answer


async def in_session(door: Door, program: str) -> list[httpx.Response]:
    """Replays a program's traffic in the session; returns the answers of the model."""
    answers = []
    async with door.web() as web:
        for call in calls_of(program):
            answer = await ask(web, call, f"/v1/sessions/{SESSION}{call.path}", call.body, door.key)
            if call.said is not None:
                answers.append(answer)
    return answers


@pytest.mark.services
@pytest.mark.parametrize("program", sorted({*PROGRAMS} - {"smolagents"}))
async def test_a_session_takes_all_calls_for_one_conversation(tmp_path: Path, program: str) -> None:
    model = script(program)
    async with opened(tmp_path, model) as door:
        answers = await in_session(door, program)
        row = await door.row()
    assert {answer.headers.get("x-left-out") for answer in answers} == {LEFT_OUT.get(program)}
    [sample] = [one for one in row["samples"] if one["participant"] == "policy"]
    assert (sample["thread"], sample["fork_reason"]) == ("policy/1", None)  # its words are not the environment's
    assert sample_problems(sample) == []
    assert sum(span["generated"] for span in sample["spans"]) == len(answers) == len(model.requests)
    notes = [event["content"][0]["text"] for event in row["events"] if event["kind"] == "note"]
    assert notes == ([f"calls of policy are answered without {LEFT_OUT[program]}"] if program in LEFT_OUT else [])


async def test_each_step_of_smolagents_is_a_sample_for_it_tells_its_calls_as_texts(tmp_path: Path) -> None:
    async with opened(tmp_path, script("smolagents")) as door:
        answers = await in_session(door, "smolagents")
        row = await door.row()
    samples = [one for one in row["samples"] if one["participant"] == "policy"]
    assert len(samples) == len(answers) == 5 and not any(map(sample_problems, samples))


@pytest.mark.parametrize("program", PROGRAMS)
async def test_the_plain_door_answers_alike(tmp_path: Path, program: str) -> None:
    model, key = script(program), TOKENS["alice"]
    async with opened(tmp_path, model) as door, door.web() as web:
        for call in calls_of(program):
            if call.body is None:
                continue
            path = call.path.replace("/openai", "/v1").replace("/anthropic", "")
            answer = await ask(web, call, path, {**call.body, "model": "small"}, key)
            assert answer.headers.get("x-left-out") == LEFT_OUT.get(program)
    shown = [[(message.role, message.content) for message in request.messages] for request in model.requests]
    assert all(later[: len(earlier)] == earlier for earlier, later in pairwise(shown))


async def test_tools_that_a_server_of_its_own_cannot_read_go_to_its_model(tmp_path: Path) -> None:
    """vLLM's server has functions only."""
    forwarded: list[str] = []

    class Forwarded:
        async def answer(self, path: str, body: Any, session_id: str) -> Response:
            forwarded.append(path)
            return Response()

    path, body = "/v1/responses", next(calls_of("codex")).body
    assert body is not None
    model = script("codex")
    target = EndpointTarget((path,), cast(Any, Forwarded()), ModelTarget(model, 5))
    await target.answer(path, {**body, "stream": False}, "")
    assert (forwarded, len(model.requests)) == ([], 1)
    await target.answer(path, {**body, "tools": [one for one in body["tools"] if one["type"] == "function"]}, "")
    assert (forwarded, len(model.requests)) == ([path], 1)
    chat = "/v1/chat/completions"
    target = EndpointTarget((chat,), cast(Any, Forwarded()), ModelTarget(model, 5))
    asked = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    answer = await target.answer(chat, {**asked, "tools": [{"type": "web_search_2099"}]}, "")
    assert answer.headers["x-left-out"] == "tools.web_search_2099"
    await target.answer(chat, asked, "")
    assert (forwarded, len(model.requests)) == ([path, chat], 2)
    assert [asked.sampling.max_tokens for asked in model.requests] == [MOST_TOKENS] * 2, "nobody has set a limit"


@pytest.mark.services
@pytest.mark.parametrize("program", PROGRAMS)
async def test_other_headers_have_no_effect(tmp_path: Path, program: str) -> None:
    first = next(call for call in calls_of(program) if call.said is not None)
    names = {name.lower() for name in first.headers}
    statuses = []
    async with opened(tmp_path, ScriptModel([first.said] * 2)) as door, door.web() as web:  # type: ignore[list-item]
        for without in (set[str](), names - HONOURED):
            sent = headers(first, door.key, without)
            path = f"/v1/sessions/{SESSION}{first.path}"
            statuses.append((await web.post(path, json=first.body, headers=sent)).status_code)
        for needed in names & {"authorization", "x-api-key"}:
            refused = await web.post(path, json=first.body, headers=headers(first, door.key, {needed}))
            assert refused.status_code == 401
    assert statuses == [200, 200]


@pytest.mark.parametrize("program", OF_MCP)
async def test_a_session_answers_all_messages_of_its_mcp_client(tmp_path: Path, program: str) -> None:
    async with opened(tmp_path, environment=Till()) as door, door.web() as web:
        for call in messages_of(program):
            path = f"/v1/sessions/{SESSION}{call.path}"
            answer = await web.request(call.method, path, json=call.body, headers=headers(call, door.key))
            assert (answer.status_code, told_by(answer.text)) == (call.status, call.events), answer.text
        calls = [event for event in door.session.episode.events if event.kind == "tool_call"]
        assert door.session.episode.state == [60, 10]
    assert [one.error is None for one in calls] == [True, False, True]


@pytest.mark.parametrize(
    ("kind", "status"),
    [("application/json; charset=utf-8", 200), ("text/plain", 415), ("application/jsonx", 415), (None, 415)],
)
async def test_a_services_doors_take_json_by_its_content_type(tmp_path: Path, kind: str | None, status: int) -> None:
    given = {} if kind is None else {"Content-Type": kind}
    body = b'{"model": "small", "messages": [{"role": "user", "content": "Hi"}]}'
    async with opened(tmp_path, ScriptModel(["x"] * 2)) as door, door.web() as web:
        for path, key in ((f"/v1/sessions/{SESSION}/openai", door.key), ("/v1", TOKENS["alice"])):
            headers = {**given, "Authorization": f"Bearer {key}"}
            answer = await web.post(f"{path}/chat/completions", content=body, headers=headers)
            assert answer.status_code == status, answer.text
