"""Checks the table of items in docs/service.md: it has all types of items that OpenAI's client knows, and the reading of
Responses does as it says.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from openai.types.beta.beta_response_input_item_param import BetaResponseInputItemParam
from openai.types.responses.response_input_item_param import ResponseInputItemParam

from ray_gym.openai_api.input_items import LEFT_OUT
from ray_gym.openai_api.refused import Refused
from ray_gym.openai_api.request import MOST_TOOLS, ApiRequest
from ray_gym.openai_api.responses import read_responses

PAGE = (Path(__file__).parents[2] / "docs" / "service.md").read_text()
TABLE = PAGE.partition("### Items of a Responses request")[2].partition("\n## ")[0]
FATES = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", TABLE, re.MULTILINE))
HELLO: dict[str, Any] = {"role": "user", "content": "Hello"}
CALL = {"type": "function_call", "call_id": "1", "name": "look", "arguments": "{}"}
FREE = {"type": "custom_tool_call", "call_id": "1", "name": "patch", "input": "x"}
LOOK = {"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}}
BODY = {"model": "small", "tools": [LOOK]}
HONOURED: dict[str, list[Any]] = {
    "message": [{"type": "message", **HELLO}],
    "function_call": [CALL, {**CALL, "type": "function_call_output", "output": "x"}],
    "function_call_output": [CALL, {"type": "function_call_output", "call_id": "1", "output": "x"}],
    "custom_tool_call": [FREE, {"type": "custom_tool_call_output", "call_id": "1", "output": "x"}],
    "custom_tool_call_output": [FREE, {"type": "custom_tool_call_output", "call_id": "1", "output": "x"}],
    "reasoning": [{"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "Hm."}]}],
    "additional_tools": [{"type": "additional_tools", "role": "developer", "tools": [{**LOOK, "name": "move"}]}],
}
"""Items of each type that is honoured, after which a conversation can go on."""
HONOURED["function_call"][1].pop("name")
HONOURED["function_call"][1].pop("arguments")
VALUES: dict[str, Any] = {
    "async": True,
    "agent": {"agent_name": "root"},
    "caller": {"type": "program", "caller_id": "p"},
    "status": "completed",
    "phase": "commentary",
    "namespace": "files",
    "name": "look",
    "encrypted_content": "xyz",
}
"""A value of each field of these items beside those above; of other fields, any text does."""


def read(*items: Any, **more: Any) -> ApiRequest:
    return replace(read_responses({**BODY, "input": [HELLO, *items], **more}), echo={})


def types_of(item: Any) -> set[str]:
    """Returns the types that an item's field `type` may say."""
    hint = get_type_hints(item)["type"]
    return {one for inner in (hint, *get_args(hint)) for one in get_args(inner) if isinstance(one, str)}


PUBLISHED = [
    (kind, item)
    for of in (ResponseInputItemParam, BetaResponseInputItemParam)
    for item in get_args(of)
    for kind in types_of(item)
]


def test_the_page_has_every_published_item() -> None:
    assert FATES.keys() == {kind for kind, _ in PUBLISHED}
    assert {kind for kind, fate in FATES.items() if fate.startswith("left out")} == LEFT_OUT
    assert {kind for kind, fate in FATES.items() if fate.startswith("honoured")} == HONOURED.keys()


@pytest.mark.parametrize("kind", sorted(LEFT_OUT))
def test_what_is_left_out_is_named(kind: str) -> None:
    asked = read({"type": kind, "id": "x", "call_id": "c", "content": [], "some": {"more": [1]}})
    assert asked.left_out == (f"input.{kind}",) and replace(asked, left_out=()) == read()


@pytest.mark.parametrize("kind", HONOURED)
def test_what_is_honoured_changes_what_is_asked(kind: str) -> None:
    asked = read(*HONOURED[kind])
    assert not asked.left_out and asked != read()


@pytest.mark.parametrize(
    ("kind", "field"),
    sorted({(kind, field) for kind, item in PUBLISHED if kind in HONOURED for field in item.__annotations__}),
)
def test_no_published_field_of_an_item_that_is_honoured_ends_an_agent(kind: str, field: str) -> None:
    whole = [{field: VALUES.get(field, "x"), **one} if one["type"] == kind else one for one in HONOURED[kind]]
    named = (f"input.{field}",) if field in ("agent", "async", "caller") and kind != "additional_tools" else ()
    assert read(*whole).left_out == named


def test_a_call_that_the_model_made_itself_is_as_any() -> None:
    asked = read({**CALL, "caller": {"type": "direct"}, "async": False}, HONOURED["function_call"][1])
    assert asked == read(*HONOURED["function_call"])


@pytest.mark.parametrize("item", [{"type": "item_reference", "id": "msg_1"}, {"id": "msg_1"}])
def test_a_reference_is_refused_as_its_words_are_not_here(item: dict[str, Any]) -> None:
    with pytest.raises(Refused, match=r"item_reference 'msg_1': items are not stored here.*send the item itself"):
        read(item)


def test_tools_are_added_once_and_are_few() -> None:
    [added] = HONOURED["additional_tools"]
    asked = read(added, {**added, "tools": [LOOK, *added["tools"]]}, tools=[LOOK], tool_choice="required")
    assert [tool.name for tool in asked.tools] == ["look", "move"] == [tool.name for tool in asked.allowed_tools]
    many = [{**LOOK, "name": f"tool_{number}"} for number in range(MOST_TOOLS)]
    with pytest.raises(Refused, match="tools: more than"):
        read({**added, "tools": many})
    with pytest.raises(Refused, match="'additional_tools' can't be read"):
        read({**added, "tools": json.dumps(many[0])})
