"""Checks that tools whose names endpoints refuse have others there, and that agents get their own names back."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from ray_gym.engines import openai_wire as wire
from ray_gym.engines.tool_names import sent_name
from ray_gym.messages import Message, ToolCall
from ray_gym.models.base import CompletionRequest, Sampling
from ray_gym.openai_api.responses import read_responses, response

LONG = "look_" + "x" * 40
SPACE = {"type": "namespace", "name": "mcp__files_of_the_project", "tools": [{"type": "function", "name": LONG}]}
HELLO = {"role": "user", "content": "Hi"}


def sent(items: list[Any], exact: bool = False) -> tuple[Any, Any, Any]:
    """Returns a request of an agent, as it is read, as a model gets it, and the body for an endpoint."""
    asked = read_responses({"model": "m", "input": items, "tools": [SPACE, {"type": "function", "name": "look"}]})
    request = asked.request(Sampling(), "s", 1)
    return asked, request, wire.request_body(request, "m", exact, {})


def names(body: Any) -> list[str]:
    return [tool["function"]["name"] for tool in body["tools"]]


def test_a_long_name_of_a_namespaces_tool_goes_there_and_back() -> None:
    asked, request, body = sent([HELLO])
    short, plain = names(body)
    assert plain == "look" and len(short) == 64 and short.endswith(f"_{LONG}")
    call = {"id": "c", "type": "function", "function": {"name": short, "arguments": "{}"}}
    answer = {"choices": [{"message": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}
    said = wire.completion(wire.read(json.dumps(answer).encode()), request, False, {})
    assert said.message.tool_calls[0].name == f"{SPACE['name']}__{LONG}", "the record has the whole name"
    [item] = response(said, asked, "r", 1)["output"]
    assert (item["namespace"], item["name"]) == (SPACE["name"], LONG)
    _, _, later = sent([HELLO, item, {"type": "function_call_output", "call_id": "c", "output": "x"}])
    assert later["messages"][1]["tool_calls"][0]["function"]["name"] == short
    assert names(later) == [short, plain]


def test_an_endpoint_that_gives_token_ids_has_the_whole_name() -> None:
    assert names(sent([HELLO], exact=True)[2]) == [f"{SPACE['name']}__{LONG}", "look"]


@pytest.mark.parametrize("name", ["a.b", "a b", "é" * 3, "x" * 65, "x" * 500, "mcp.files/look"])
def test_other_names_become_ones_that_endpoints_take(name: str) -> None:
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", sent_name(name))
    assert sent_name(name) == sent_name(name) != sent_name(f"{name}.") and sent_name(name) != name


@pytest.mark.parametrize("name", ["look", "x" * 64, "a-b_C9"])
def test_names_that_endpoints_take_stay(name: str) -> None:
    assert sent_name(name) == name


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(
    ("written", "arguments"),
    [
        ("", "{}"),
        ('{"text": ', '{"arguments": "{\\"text\\": "}'),
        ("[1]", '{"arguments": "[1]"}'),
        ("null", "{}"),
        ('{"x": NaN}', '{"arguments": "{\\"x\\": NaN}"}'),
        pytest.param("[" * 100_000, '{"arguments": "' + "[" * 100_000 + '"}', id="deep"),
        ('{"x": "\\ud83d"}', '{"x": "?"}'),
        (' {"n":1e5, "x":"\\u4f60"}\n', ' {"n":1e5, "x":"\\u4f60"}\n'),
    ],
)
def test_a_bad_call_is_sent_as_one_that_endpoints_take(written: str, arguments: str, exact: bool) -> None:
    """They refuse the whole conversation for arguments that are no JSON object; the record has what the model wrote."""
    said = Message("assistant", tool_calls=(ToolCall("c", "look", written), ToolCall("d", "", written)))
    request = CompletionRequest([said], Sampling(), "s", 1)
    calls = wire.request_body(request, "m", exact, {})["messages"][0]["tool_calls"]
    assert [call["function"] for call in calls] == [
        {"name": name, "arguments": arguments} for name in ("look", "unreadable_call")
    ]
    assert said.tool_calls[0].arguments == written
