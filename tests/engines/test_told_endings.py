"""Checks errors that tell of a model's answer: one that a filter withholds, and a call that can't be read."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from endpoint_double import EndpointDouble, Json, Reply, answer, running_endpoint
from openai_calls import MOVE, complete, options, request
from playing import Talk, play_script

from ray_gym.engines.endings import is_context_full, own_words, read_ending
from ray_gym.engines.openai import OpenAIModel
from ray_gym.errors import EpisodeFailure
from ray_gym.messages import Message, ToolCall


@pytest.fixture
async def endpoint() -> AsyncIterator[EndpointDouble]:
    async with running_endpoint() as double:
        yield double


def error(message: str = "no", **more: Any) -> Json:
    return {"error": {"message": message, **more}}


FILTERED: list[tuple[int, Json]] = [
    (400, error(code="content_filter", param="prompt")),
    (400, error(code=None, innererror={"code": "ResponsibleAIPolicyViolation"})),
    (
        400,
        error(
            "Invalid prompt: your prompt was flagged as potentially violating our usage policy.", code="invalid_prompt"
        ),
    ),
    (400, error(code="content_policy_violation")),
    (400, error(code="data_inspection_failed")),
    (400, {"code": "DataInspectionFailed", "message": "Input data may contain inappropriate content."}),
    (400, error(code="InputTextSensitiveContentDetected.PolicyViolation")),
    (400, error(code="OutputTextRiskDetection")),
    (400, error("Content Exists Risk", code="invalid_request_error")),
    (400, error("The request was rejected because it was considered high risk", type="content_filter")),
    (400, error("系统检测到输入或生成内容可能包含不安全或敏感内容", code="1301")),
    (400, error("Output blocked by content filtering policy", type="invalid_request_error")),
    (400, error("litellm.ContentPolicyViolationError: OpenAIException", code="400")),
    (400, error("{'error': 'Violated guardrail policy', 'bedrock_guardrail_response': {}}", type="None", code="400")),
    (400, {"error": {"message": {"error": "Violated guardrail policy", "aporia_ai_response": {}}, "code": "400"}}),
    (400, error('{"error": "Violated OpenAI moderation policy"}', code="400")),
    (400, error("Violated content safety policy")),
    (200, {"choices": None, "base_resp": {"status_code": 1026, "status_msg": "input new_sensitive"}}),
    (200, {"id": "x", "choices": None, "base_resp": {"status_code": 1027, "status_msg": "output sensitive"}}),
    (400, {"base_resp": {"status_code": 1026, "status_msg": "input new_sensitive (1026)"}}),
    (403, error("Input was flagged", code=403)),
    (403, error(code=403, metadata={"reasons": ["violence"], "flagged_input": "..."})),
    (403, {"code": "The caller does not have permission", "error": "Content violates usage guidelines."}),
    (424, {"error": [{"code": 2016, "message": "Prompt blocked due to security configurations"}]}),
    (400, error("Provider returned error", metadata={"raw": json.dumps(error(code="content_filter"))})),
    (451, error(type="censorship_blocked")),
    (200, error("Output was flagged", code=403)),
]


@pytest.mark.parametrize(("status", "body"), FILTERED)
async def test_an_error_of_a_filter_is_a_withheld_answer(endpoint: EndpointDouble, status: int, body: Json) -> None:
    endpoint.will_answer(Reply(body, status))
    found = await complete(endpoint, response_format='{"type": "json_object"}')
    assert (found.finish_reason, found.message.content, found.message.tool_calls) == ("content_filter", "", ())
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, error("Invalid Responses API request", code="invalid_prompt")),
        (403, error("Your request was blocked.")),
        (403, error("The organization violated our usage policy.")),
        (400, {"base_resp": {"status_code": 2013, "status_msg": "invalid params"}}),
        (403, "<html>Your request was flagged as suspicious</html>"),
        (401, error("Input was flagged")),
        (400, {"detail": [{"msg": "bad", "input": "the content was flagged", "type": "value_error"}]}),
    ],
)
async def test_other_refusals_stay_the_endpoints(endpoint: EndpointDouble, status: int, body: Json | str) -> None:
    endpoint.will_answer(Reply(body, status))
    with pytest.raises(EpisodeFailure, match=f"HTTP {status}"):
        await complete(endpoint)


def test_errors_deep_within_one_another_are_not_read() -> None:
    body: Json = error(code="content_filter")
    for _ in range(5000):
        body = {"error": body}
    assert read_ending(body, request()) is None


async def test_a_users_filter_by_status_is_the_users_failure(endpoint: EndpointDouble) -> None:
    endpoint.will_answer(Reply(error(code="content_filter"), 400))
    withheld = await complete(endpoint)
    game = await play_script(Talk(), ["Hello."], [withheld])
    assert game.played.failure is not None
    assert game.played.failure.kind == "user" and "content_filter" in game.played.failure.message
    game = await play_script(Talk(), [withheld])
    assert game.stop == ("content_filter", "") and game.played.status == "completed"


def failed(written: Any, message: str = "Failed to call a function.", code: str = "tool_use_failed") -> Reply:
    return Reply(error(message, type="invalid_request_error", code=code, failed_generation=written), 400)


@pytest.mark.parametrize(
    ("written", "name", "arguments"),
    [
        ('<function=move{"position": 1}</function>', "", '<function=move{"position": 1}</function>'),
        ('{"name": "move", "arguments": {"position": "x"}}', "move", '{"position": "x"}'),
        ('[{"name": "move", "parameters": {"position": 1}}]', "", '{"name": "move", "parameters": {"position": 1}}'),
        ({"name": "move", "arguments": {}}, "move", "{}"),
        ("", "", ""),
        ("[]", "", "[]"),
    ],
)
async def test_a_call_that_the_endpoint_cannot_read_is_the_models(
    endpoint: EndpointDouble, written: Any, name: str, arguments: str
) -> None:
    endpoint.will_answer(failed(written))
    found = await complete(endpoint, tools=(MOVE,))
    (call,) = found.message.tool_calls
    assert (call.name, call.arguments, found.finish_reason) == (name, arguments, "stop") and call.id
    assert isinstance(call, ToolCall) and len(endpoint.requests) == 1


@pytest.mark.parametrize(
    ("reply", "more"),
    [
        (failed("I move.", "Tool choice is required, but model did not call a tool"), {"tools": (MOVE,)}),
        (failed("I move.", code="output_parse_failed"), {}),
        (failed("I move.", code="json_validate_failed"), {"response_format": '{"type": "json_object"}'}),
        (failed("I move."), {"tools": (MOVE,), "tool_choice": "none"}),
    ],
)
async def test_what_is_no_call_is_the_models_text(endpoint: EndpointDouble, reply: Reply, more: dict[str, Any]) -> None:
    endpoint.will_answer(reply)
    found = await complete(endpoint, **more)
    assert (found.message.content, found.message.tool_calls, found.finish_reason) == ("I move.", (), "stop")


HTML = {"Content-Type": "text/html"}


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (
            Reply("<html>\n<title>Log in</title>", headers=HTML),
            r"no JSON \(text/html; charset=utf-8\): '<html> <title>Log in</title>'",
        ),
        (Reply('data: {"id": 1}\n\n', headers={"Content-Type": "text/event-stream"}), r"a stream of events \(SSE"),
        (Reply("data: [DONE]"), r"a stream of events \(SSE, text/plain; charset=utf-8\)"),
        (Reply(""), r"the body is empty \(text/plain"),
        (Reply('{"choices": ['), r"broken JSON \(text/plain.*Expecting value.*\): '\{\"choices\": \['"),
        (Reply("[" * 100_000), "nested too deeply"),
        (Reply("\x1b[2J"), r"no JSON .*: '\\x1b\[2J'"),
    ],
)
async def test_an_answer_that_is_no_json_is_described(endpoint: EndpointDouble, reply: Reply, told: str) -> None:
    endpoint.will_answer(reply)
    with pytest.raises(EpisodeFailure, match=f"not a completion: .*{told}"):
        await complete(endpoint, retries=0)


async def test_a_compressed_answer_is_named(endpoint: EndpointDouble) -> None:
    endpoint.will_answer(Reply(answer(), compressed=True))
    with pytest.raises(EpisodeFailure, match=r"the body is compressed \(gzip\), though no compression was asked for"):
        await complete(endpoint, retries=0)


@pytest.mark.parametrize("status", [408, 409, 425, 429, 498, 500])
async def test_statuses_that_pass_are_tried_again(endpoint: EndpointDouble, status: int) -> None:
    endpoint.will_answer(Reply("not now", status), Reply(answer("Hi.")))
    assert (await complete(endpoint)).message.content == "Hi."


COPY = "Invalid schema for function 'f': None is not of type 'object'. Received Messages=[{'role': 'user', 'content': '%s'}]"


@pytest.mark.parametrize(
    "said",
    [
        "Unrecognized request argument supplied: context_length",
        "Unsupported parameters: context_window, max_tokens",
        "Extra inputs are not permitted: extra_body.context_size",
        COPY % "What is the maximum context window?",
        COPY % "The prompt is too long",
        COPY % "Your request was flagged by customs",
    ],
)
async def test_what_only_mentions_a_context_or_a_filter_is_a_fault(endpoint: EndpointDouble, said: str) -> None:
    for body in (error(said, code="400"), {"error": {"message": json.dumps(error(said))}}):
        endpoint.will_answer(Reply(body, 400))
        with pytest.raises(EpisodeFailure, match="HTTP 400"):
            await complete(endpoint)


COPIED = "[{'role': 'user', 'content': 'a] \\'[ %s'}, {'content': [\"it's\", '\\\\']}]"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (f"messages={COPIED} flagged: The response was filtered by our content management policy.", "content_filter"),
        (f"inputs = .. messages={COPIED}: `inputs` tokens + `max_new_tokens` must be <= 4096", "context_full"),
        ("Messages = [1] and messages=[]: the prompt is too long", "context_full"),
        ("messages=[SystemMessage(content='a')] The prompt is too long", "context_full"),
        ("The prompt is too long. Received Messages=[{'content': 'and it is cu", "context_full"),
    ],
)
async def test_words_behind_a_copy_of_messages_count(endpoint: EndpointDouble, said: str, reason: str) -> None:
    endpoint.will_answer(Reply(error(said.replace("%s", "x")), 400))
    assert (await complete(endpoint)).finish_reason == reason


@pytest.mark.parametrize("said", ["The prompt is too long", "roles must alternate", "Your request was flagged by"])
@pytest.mark.parametrize("body", ["%s", "Bad Request: %s", '{"error": {"message": "%s"}}', '{"error": %s'])
def test_own_words_are_those_around_a_copy_in_any_body(said: str, body: str) -> None:
    copied = "nope. Received Messages=[{'role': 'user', 'content': '%s [['}] (HTTP 400)"
    assert own_words(body % (copied % said)) == body % "nope. Received  (HTTP 400)"


@pytest.mark.parametrize("within", ["detail", "error", "message"])
def test_a_problem_of_a_field_is_told_without_the_copy_of_its_value(within: str) -> None:
    problem = {"loc": ["body", "top_k"], "msg": "not permitted", "input": "The prompt is too long", "type": "extra"}
    assert own_words(json.dumps({within: {"detail": [problem]}})) == json.dumps(
        {within: {"detail": ["top_k: not permitted"]}}
    )
    assert not is_context_full(json.dumps({within: {"detail": [problem]}}))


@pytest.mark.parametrize(
    "copied", ["messages=[" * 10**5, "messages=['" + "\\'" * 10**5, "messages=[" + "'" * 10**5 + "\\"]
)
def test_a_copy_is_found_in_time(copied: str) -> None:
    began = time.monotonic()
    assert own_words(f"nope {copied}") == "nope " and time.monotonic() - began < 5


async def test_a_first_prompt_that_is_too_long_is_told(endpoint: EndpointDouble) -> None:
    model = OpenAIModel(options(endpoint), None, exact=False)
    endpoint.will_answer(Reply(error("This model's maximum context length is 2048 tokens."), 400))
    later = [Message("user", "Hello"), Message("assistant", "Hi."), Message("user", "Ho.")]
    for messages, warnings in ((later[:1], 1), (later, 0)):
        assert (await model.complete(request(messages=messages))).finish_reason == "context_full"
        told = model.take_warnings()
        assert len(told) == warnings and all("maximum context length is 2048" in one for one in told)
    await model.close()
