"""Checks that calls of data for chat templates, which have no ids, are tied to the results behind them."""

from __future__ import annotations

from typing import Any

import pytest

from ray_gym.openai_api.conversation import read_conversation, read_request_messages

USER = {"role": "user", "content": "hi"}


def asks(*names: str, **more: str) -> dict[str, Any]:
    calls = [{"type": "function", "function": {"name": name, "arguments": {"a": 1}}, **more} for name in names]
    return {"role": "assistant", "content": "", "tool_calls": calls}


def tells(content: str, **more: str) -> dict[str, Any]:
    return {"role": "tool", "content": content, **more}


def ties(messages: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Returns the name of each call with the content of its result."""
    read = read_conversation(messages)
    calls = {call["id"]: call["name"] for one in read for call in one.get("tool_calls", ())}
    assert len(calls) == sum(len(one.get("tool_calls", ())) for one in read)
    return [(calls[one["tool_call_id"]], one["content"]) for one in read if one["role"] == "tool"]


@pytest.mark.parametrize(
    ("messages", "tied"),
    [
        ([USER, asks("f"), tells("r", name="f")], [("f", "r")]),
        ([USER, asks("f"), tells("r")], [("f", "r")]),
        ([USER, asks("f", "g"), tells("1"), tells("2")], [("f", "1"), ("g", "2")]),
        ([USER, asks("f", "g"), tells("2", name="g"), tells("1", name="f")], [("g", "2"), ("f", "1")]),
        ([USER, asks("f", "f"), tells("1", name="f"), tells("2", name="f")], [("f", "1"), ("f", "2")]),
        ([USER, asks("f"), tells("1"), asks("g"), tells("2")], [("f", "1"), ("g", "2")]),
        ([USER, asks("f", id="x"), tells("1", tool_call_id="x"), asks("g"), tells("2")], [("f", "1"), ("g", "2")]),
        (
            [
                USER,
                {**asks("f", "g"), "tool_calls": [*asks("f", id="call_0")["tool_calls"], *asks("g")["tool_calls"]]},
                tells("1", tool_call_id="call_0"),
                tells("2"),
            ],
            [("f", "1"), ("g", "2")],
        ),
    ],
)
def test_results_belong_to_the_first_call_of_their_name(
    messages: list[dict[str, Any]], tied: list[tuple[str, str]]
) -> None:
    given = [dict(one) for one in messages]
    assert ties(messages) == tied
    assert messages == given, "the row itself stays as it is"


@pytest.mark.parametrize(
    ("messages", "problem"),
    [
        ([USER, asks("f"), tells("r", name="g")], "id is missing"),
        ([USER, asks("f", "g"), tells("r")], "id is missing"),
        ([USER, asks("f"), USER, tells("1")], "messages[1]: id is missing"),
        ([USER, asks("f"), {**tells("1"), "tool_call_id": ["x"]}], "messages[1]: id is missing"),
        ([USER, {**tells("1"), "tool_call_id": {}}], "the id of a call has to be text"),
        ([USER, asks("f"), tells("1"), tells("2")], "messages[3]: tool_call_id is missing"),
        ([USER, asks("f", id="x"), tells("1")], "messages[2]: tool_call_id is missing"),
        ([USER, asks("f"), tells("1", tool_call_id="x")], "messages[1]: id is missing"),
    ],
)
def test_calls_and_results_that_nothing_ties_are_refused(messages: list[dict[str, Any]], problem: str) -> None:
    with pytest.raises(ValueError) as told:
        read_conversation(messages)
    assert problem in str(told.value)


def test_requests_have_ids() -> None:
    with pytest.raises(ValueError, match="id is missing"):
        read_request_messages([USER, asks("f"), tells("r", name="f")], is_whole=True)
