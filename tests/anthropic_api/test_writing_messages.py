"""Checks the answers of the Messages API: whole, and as events in their order."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ray_gym.anthropic_api.answer import UNSIGNED, message, message_events
from ray_gym.anthropic_api.errors import messages_error, messages_status, speaks_messages
from ray_gym.anthropic_api.request import read_message_request
from ray_gym.messages import Message, ToolCall
from ray_gym.models.base import Completion
from ray_gym.openai_api.json_body import parse_json
from ray_gym.openai_api.refused import Refused, service_unavailable, too_many_requests
from ray_gym.openai_api.request import ApiRequest
from ray_gym.play.capture import canonical_form

ASKED = ApiRequest("small", (Message("user", "x"),), sampling={"stop": ("END",)})
SAID = Message("assistant", "I look.", "Hm.", (ToolCall("c1", "look", '{"at": 1}'), ToolCall("c2", "look", "")))
USAGE = {"prompt_tokens": 12, "cached_tokens": 8, "generated_tokens": 5}


def events(completion: Completion) -> list[dict[str, Any]]:
    found = []
    for event in message_events(completion, ASKED, "msg_1"):
        name, data = event.removesuffix("\n\n").split("\n")
        found.append(json.loads(data.removeprefix("data: ")))
        assert name == f"event: {found[-1]['type']}"
    return found


def test_a_whole_message() -> None:
    assert message(Completion(SAID, **USAGE), ASKED, "msg_1") == {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "small",
        "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": UNSIGNED},
            {"type": "text", "text": "I look.", "citations": None},
            {"type": "tool_use", "id": "c1", "name": "look", "input": {"at": 1}},
            {"type": "tool_use", "id": "c2", "name": "look", "input": {}},
        ],
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {
            "input_tokens": 4,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 8,
            "output_tokens": 5,
        },
    }


@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        (r'{"a\ud83d": ["x\ud83d", "\ud83d\ude00"]}', {"a?": ["x?", "\U0001f600"]}),
        (r'"x\ud83d"', {"arguments": r'"x\ud83d"'}),
        ('{"a": 123456789012345678901234567890}', {"arguments": '{"a": 123456789012345678901234567890}'}),
        ('{"a": ' * 70 + "1" + "}" * 70, {"arguments": '{"a": ' * 70 + "1" + "}" * 70}),
        ('{"a": ' * 5000 + "1" + "}" * 5000, {"arguments": '{"a": ' * 5000 + "1" + "}" * 5000}),
    ],
)
def test_whatever_a_model_writes_can_be_sent_back(arguments: str, given: Any) -> None:
    said = Message("assistant", tool_calls=(ToolCall("c1", "look", arguments),))
    whole = message(Completion(said), ASKED, "msg_1")
    assert whole["content"][0]["input"] == given
    [delta] = [one["delta"] for one in events(Completion(said)) if one["type"] == "content_block_delta"]
    assert json.loads(delta["partial_json"]) == given
    told = [{"type": "tool_result", "tool_use_id": "c1", "content": "done"}]
    turns = [("user", "x"), ("assistant", whole["content"]), ("user", told)]
    asked = {"model": "m", "max_tokens": 1, "messages": [{"role": role, "content": held} for role, held in turns]}
    again = read_message_request(parse_json(json.dumps(asked).encode()))
    assert canonical_form(again.messages[1]) == canonical_form(said)


def test_the_order_of_events() -> None:
    found = events(Completion(SAID, **USAGE))
    told = [(one["type"], one.get("index"), one.get("delta", {}).get("type")) for one in found]
    assert told == [
        ("message_start", None, None),
        ("ping", None, None),
        ("content_block_start", 0, None),
        ("content_block_delta", 0, "thinking_delta"),
        ("content_block_delta", 0, "signature_delta"),
        ("content_block_stop", 0, None),
        ("content_block_start", 1, None),
        ("content_block_delta", 1, "text_delta"),
        ("content_block_stop", 1, None),
        ("content_block_start", 2, None),
        ("content_block_delta", 2, "input_json_delta"),
        ("content_block_stop", 2, None),
        ("content_block_start", 3, None),
        ("content_block_delta", 3, "input_json_delta"),
        ("content_block_stop", 3, None),
        ("message_delta", None, None),
        ("message_stop", None, None),
    ]
    started = found[0]["message"]
    assert (started["content"], started["stop_reason"], started["usage"]["output_tokens"]) == ([], None, 0)
    blocks = [one["content_block"] for one in found if one["type"] == "content_block_start"]
    assert [block.get("text", block.get("thinking", block.get("input"))) for block in blocks] == ["", "", {}, {}]
    assert found[-2]["delta"] == {"stop_reason": "tool_use", "stop_sequence": None}
    assert found[-2]["usage"]["output_tokens"] == 5 and found[-2]["usage"]["input_tokens"] == 4


def test_silence_is_an_empty_text() -> None:
    silent = Completion(Message("assistant"))
    assert message(silent, ASKED, "m")["content"] == [{"type": "text", "text": "", "citations": None}]
    assert [one["type"] for one in events(silent)][2:4] == ["content_block_start", "content_block_stop"]


@pytest.mark.parametrize(
    ("completion", "reason"),
    [
        (Completion(Message("assistant", "x")), "end_turn"),
        (Completion(Message("assistant", "x"), stop_text="END"), "stop_sequence"),
        (Completion(Message("assistant", "x"), stop_text="the config's own"), "end_turn"),
        (Completion(SAID, stop_text="END"), "tool_use"),
        (Completion(Message("assistant", "x"), "length"), "max_tokens"),
        (Completion(Message("assistant", "x"), "context_full"), "model_context_window_exceeded"),
        (Completion(Message("assistant", "x"), "content_filter"), "refusal"),
    ],
)
def test_reasons_to_stop(completion: Completion, reason: str) -> None:
    told = message(completion, ASKED, "m")
    assert told["stop_reason"] == reason
    assert told["stop_sequence"] == ("END" if reason == "stop_sequence" else None)


@pytest.mark.parametrize("arguments", ["{", "3", "[1]", '{"a": NaN}', '{"a": 1e999}', "[" * 100_000])
def test_arguments_that_are_no_object_are_held_in_one(arguments: str) -> None:
    said = Message("assistant", tool_calls=(ToolCall("c", "look", arguments),))
    [block] = message(Completion(said), ASKED, "m")["content"]
    assert block["input"] == {"arguments": arguments}
    [delta] = [one["delta"] for one in events(Completion(said)) if one["type"] == "content_block_delta"]
    assert json.loads(delta["partial_json"]) == {"arguments": arguments}


@pytest.mark.parametrize(
    ("refused", "status", "kind"),
    [
        (Refused(400, "invalid_request", "x"), 400, "invalid_request_error"),
        (Refused(401, "no_token", "x"), 401, "authentication_error"),
        (Refused(403, "wrong_session", "x"), 403, "permission_error"),
        (Refused(404, "model_not_found", "x"), 404, "not_found_error"),
        (Refused(409, "key_reused", "x"), 409, "invalid_request_error"),
        (Refused(413, "body_too_large", "x"), 413, "request_too_large"),
        (Refused(422, "invalid_request", "x"), 422, "invalid_request_error"),
        (too_many_requests("x", 1), 429, "rate_limit_error"),
        (Refused(500, "internal_error", "x"), 500, "api_error"),
        (Refused(502, "model_failed", "x"), 500, "api_error"),
        (service_unavailable("x"), 529, "overloaded_error"),
        (Refused(504, "timeout", "x"), 504, "timeout_error"),
    ],
)
def test_errors(refused: Refused, status: int, kind: str) -> None:
    assert messages_status(refused) == status
    assert messages_error(refused, "r1") == {
        "type": "error",
        "error": {"type": kind, "message": "x"},
        "request_id": "r1",
    }


@pytest.mark.parametrize(
    ("path", "speaks"),
    [
        ("/v1/messages", True),
        ("/v1/messages/count_tokens", True),
        ("/v1/sessions/s1/anthropic/v1/messages", True),
        ("/v1/sessions/s1/messages", False),
        ("/v1/sessions/s1/openai/responses", False),
        ("/v1/messages2", False),
        ("/v1/chat/completions", False),
    ],
)
def test_paths_whose_errors_have_that_form(path: str, speaks: bool) -> None:
    assert speaks_messages(path) is speaks
