"""Checks which ends of an endpoint's answer are ends, and that any other loses the call."""

from __future__ import annotations

from typing import Any

import pytest
from openai_calls import request
from playing import Talk, play_script

from ray_gym.engines import openai_wire as wire
from ray_gym.messages import Message
from ray_gym.models.base import Completion
from ray_gym.openai_api.chat import chat_completion, read_chat
from ray_gym.openai_api.responses import read_responses, response


def answer(**choice: Any) -> dict[str, Any]:
    return {"choices": [{"message": {"role": "assistant", "content": "Hi."}, **choice}]}


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("stop", "stop"),
        ("tool_calls", "stop"),
        ("function_call", "stop"),
        ("STOP", "stop"),
        ("eos_token", "stop"),
        ("length", "length"),
        ("MAX_TOKENS", "length"),
        ("content_filter", "content_filter"),
        ("SAFETY", "content_filter"),
    ],
)
def test_ends_of_an_answer(given: str, read: str) -> None:
    assert wire.completion(answer(finish_reason=given), request(), False, {}).finish_reason == read


@pytest.mark.parametrize("given", ["abort", "error", "cancelled", "", None, 7, ["stop"]])
def test_what_is_no_end_loses_the_call(given: Any) -> None:
    with pytest.raises(wire.BadAnswer, match="is no end of an answer"):
        wire.completion(answer(finish_reason=given), request(), False, {})


def test_an_answer_without_an_end_loses_the_call() -> None:
    with pytest.raises(wire.BadAnswer, match="finish_reason None"):
        wire.completion(answer(), request(), False, {})


def test_a_refusal_in_the_place_of_content_is_what_was_said() -> None:
    refused = {"role": "assistant", "content": None, "refusal": "I can't."}
    read = wire.completion(answer(message=refused, finish_reason="stop"), request(), False, {})
    assert read.message.content == "I can't."


FILTERED = Completion(Message("assistant", "Once"), finish_reason="content_filter")


async def test_a_filtered_answer_of_the_policy_has_a_stop_reason_of_its_own() -> None:
    game = await play_script(Talk(), [FILTERED])
    assert game.stop == ("content_filter", "Once") and game.played.status == "completed"


async def test_a_filtered_answer_of_a_user_is_the_users_failure() -> None:
    game = await play_script(Talk(), ["Hello."], [FILTERED])
    assert game.played.failure is not None
    assert game.played.failure.kind == "user" and "content_filter" in game.played.failure.message


def test_callers_are_told_of_a_filtered_answer() -> None:
    body = {"model": "small", "messages": [{"role": "user", "content": "Hi."}]}
    told = chat_completion(FILTERED, read_chat(body), "id", 0)
    assert told["choices"][0]["finish_reason"] == "content_filter"
    whole = response(FILTERED, read_responses({"model": "small", "input": "Hi."}), "id", 0)
    assert whole["status"] == "incomplete" and whole["incomplete_details"] == {"reason": "content_filter"}
