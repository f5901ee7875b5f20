"""Checks the order of messages for endpoints that refuse some orders."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from endpoint_double import EndpointDouble, Reply, answer, running_endpoint
from openai_calls import complete, options, request

from ray_gym.engines.arranged import ARRANGEMENTS, arranged, with_short_ids
from ray_gym.engines.openai import OpenAIModel
from ray_gym.errors import EpisodeFailure
from ray_gym.messages import Message, ToolCall

Json = dict[str, Any]

SYSTEM, ASKED, SAID = Message("system", "s"), Message("user", "a"), Message("assistant", "b")
CALLED, DONE = Message("assistant", tool_calls=(ToolCall("c", "move", "{}"),)), Message("tool", "d", tool_call_id="c")
BEGUN = ("user", "Begin.")


@pytest.fixture
async def endpoint() -> AsyncIterator[EndpointDouble]:
    async with running_endpoint() as double:
        yield double


def spoken(request: Json) -> list[tuple[str, str]]:
    return [(one["role"], one["content"]) for one in request["messages"]]


ALTERNATE = "Conversation roles must alternate user/assistant/user/assistant/... at row 16, column 28:"


@pytest.mark.parametrize(
    ("messages", "said", "status", "told"),
    [
        ([SYSTEM], "Expected last role User or Tool for serving but got system", 400, [("system", "s"), BEGUN]),
        ([SYSTEM], "messages: at least one message is required", 400, [("system", "s"), BEGUN]),
        ([SYSTEM], "* GenerateContentRequest.contents: contents is not specified\n", 400, [("system", "s"), BEGUN]),
        ([SYSTEM], "No user query found in messages.", 400, [("system", "s"), BEGUN]),
        ([SAID, ASKED], ALTERNATE, 500, [BEGUN, ("assistant", "b"), ("user", "a")]),
        (
            [SAID, ASKED],
            "A conversation must start with a user message",
            400,
            [BEGUN, ("assistant", "b"), ("user", "a")],
        ),
        ([ASKED, ASKED], ALTERNATE, 400, [("user", "a\n\na")]),
        ([ASKED, SAID, SAID, ASKED], ALTERNATE, 500, [("user", "a"), ("assistant", "b\n\nb"), ("user", "a")]),
        ([ASKED, CALLED, DONE, ASKED], "Unexpected role 'user' after role 'tool'", 400, None),
        ([ASKED, SYSTEM], "Unexpected role 'system' after role 'user'", 400, [("user", "a"), ("user", "s")]),
    ],
)
async def test_messages_are_arranged_where_their_order_is_refused(
    endpoint: EndpointDouble, messages: list[Message], said: str, status: int, told: list[tuple[str, str]] | None
) -> None:
    endpoint.will_answer(Reply({"error": {"code": status, "message": said}}, status), Reply(answer()))
    await complete(endpoint, messages=messages)
    first, second = map(spoken, endpoint.requests)
    assert first == [(one.role, one.content) for one in messages]
    assert second == (told or [("user", "a"), ("assistant", ""), ("tool", "d\n\na")])


async def test_several_arrangements_are_tried_one_after_another(endpoint: EndpointDouble) -> None:
    endpoint.will_answer(*[Reply({"error": {"message": ALTERNATE}}, 500)] * 3, Reply(answer()))
    await complete(endpoint, messages=[SYSTEM, SAID, ASKED, ASKED])
    assert spoken(endpoint.requests[-1]) == [("system", "s"), BEGUN, ("assistant", "b"), ("user", "a\n\na")]
    assert len(endpoint.requests) == 4


async def test_an_arrangement_that_did_not_help_is_not_kept(endpoint: EndpointDouble) -> None:
    late = Reply({"error": {"message": "System message must be at the beginning."}}, 400)
    endpoint.will_answer(late, late, Reply(answer()))
    model = OpenAIModel(options(endpoint), None, exact=False)
    await model.complete(request(messages=[SYSTEM, SAID, ASKED, SYSTEM]))
    assert spoken(endpoint.requests[-1])[1:] == [("assistant", "b"), ("user", "a"), ("user", "s")]
    await model.complete(request(messages=[SYSTEM, SAID, ASKED]))
    await model.close()
    assert spoken(endpoint.requests[-1]) == [("system", "s"), ("assistant", "b"), ("user", "a")]
    [told] = model.take_warnings()
    assert "it refuses the order of messages, so in later calls a system's message after others is a user's" in told


async def test_a_prompt_that_is_too_long_teaches_no_order(endpoint: EndpointDouble) -> None:
    said = "The prompt is too long: 9000 tokens exceed the maximum context length of 8192 tokens for system message"
    full = Reply({"error": {"message": f"{said}, tools and user messages must be fewer"}}, 400)
    endpoint.will_answer(full, Reply(answer("Hi.")))
    model = OpenAIModel(options(endpoint), None, exact=False)
    long = [SYSTEM, SAID, ASKED, ASKED, CALLED, DONE, ASKED]
    assert (await model.complete(request(messages=long))).message.content == "Hi."
    first, second = endpoint.requests
    assert "max_tokens" not in second and first["messages"] == second["messages"] and model.take_warnings() == []
    await model.close()


@pytest.mark.parametrize(
    "said",
    [
        "Missing required parameter: 'messages[1].role'",
        "Invalid schema for response_format 'r': In context=('properties', 'role')",
        "Invalid schema for function 'set_heat': In context=('properties', 'temperature')",
        "messages with role 'tool' must be a response to a preceding message",
        "Your request was rejected by our role-based access control",
        "role arn:aws:iam::1:role/x is not authorized",
        "user message flagged by guardrail 'pii'",
        "Error processing user message: temporary failure, please retry",
        "The last message cannot have role assistant: prefill is not supported",
    ],
)
async def test_a_refusal_for_another_reason_is_final(endpoint: EndpointDouble, said: str) -> None:
    endpoint.will_answer(Reply({"error": {"message": said}}, 400))
    with pytest.raises(EpisodeFailure, match="HTTP 400"):
        await complete(endpoint, messages=[SYSTEM, SAID, ASKED, ASKED, CALLED, DONE, ASKED, SYSTEM])
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize(
    "said",
    [
        "upstream connect error. Received Messages=[{'role': 'user', 'content': 'Fix the jinja filter'}]",
        "upstream hiccup while rendering chat template: connection reset",
        "jinja2 is being installed",
    ],
)
async def test_another_error_of_a_server_is_tried_again(endpoint: EndpointDouble, said: str) -> None:
    endpoint.will_answer(Reply({"error": {"message": said}}, 500), Reply(answer("Hi.")))
    assert (await complete(endpoint, retries=1)).message.content == "Hi."


async def test_an_order_that_cannot_be_mended_fails_by_its_words(endpoint: EndpointDouble) -> None:
    for messages, said, status in (
        ([SYSTEM, ASKED], ALTERNATE, 500),
        ([SYSTEM], "the model is not there", 400),
        ([SYSTEM], "no message of the role", 404),
    ):
        endpoint.requests.clear()
        endpoint.will_answer(Reply({"error": {"message": said}}, status))
        with pytest.raises(EpisodeFailure, match=f"HTTP {status}: {said[:20]}"):
            await complete(endpoint, messages=messages)
        assert len(endpoint.requests) == 1


def test_calls_of_joined_messages_are_kept_and_results_stay_apart() -> None:
    call = {"id": "c", "type": "function"}
    given: list[Json] = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b", "tool_calls": [call]},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "d", "tool_call_id": "c"},
        {"role": "tool", "content": "e", "tool_call_id": "c"},
    ]
    made = {"role": "assistant", "content": "b", "tool_calls": [call, call]}
    assert arranged(given, ARRANGEMENTS) == [given[0], made, *given[3:]]
    assert arranged(given, ()) == given


MISTRAL = "Tool call id was call_abc123 but must be a-z, A-Z, 0-9, with a length of 9."


async def test_ids_of_calls_are_short_where_others_are_refused(endpoint: EndpointDouble) -> None:
    ids = ["call_abc123", "abcdefghi", "same", "ABC-4-789"]
    calls = tuple(ToolCall(id, "move", "{}") for id in ids)
    results = [Message("tool", "d", tool_call_id=id) for id in ids]
    endpoint.will_answer(Reply({"object": "error", "message": MISTRAL, "code": "3280"}, 400), Reply(answer()))
    await complete(endpoint, messages=[ASKED, Message("assistant", tool_calls=calls), *results])
    first, second = ([call["id"] for call in sent["messages"][1]["tool_calls"]] for sent in endpoint.requests)
    answered = [one["tool_call_id"] for one in endpoint.requests[1]["messages"][2:]]
    assert first == ids and second == answered and len(set(second)) == 4 and second[1] == "abcdefghi"
    assert all(len(id) == 9 and id.isalnum() and id.isascii() for id in second)


async def test_a_refusal_of_short_ids_is_final(endpoint: EndpointDouble) -> None:
    called = Message("assistant", tool_calls=(ToolCall("abcdefghi", "move", "{}"),))
    endpoint.will_answer(Reply({"message": MISTRAL}, 400))
    with pytest.raises(EpisodeFailure, match="Tool call id was"):
        await complete(endpoint, messages=[ASKED, called, Message("tool", "d", tool_call_id="abcdefghi")])
    assert len(endpoint.requests) == 1


def test_messages_without_calls_have_no_ids() -> None:
    given: list[Json] = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    assert with_short_ids(given) == given
