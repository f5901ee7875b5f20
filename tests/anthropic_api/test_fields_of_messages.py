"""Checks the page's table of the fields of a request: it has all that Anthropic's client knows, and the reading does as
it says.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from anthropic.types import content_block_param, message_count_tokens_params, message_create_params, tool_param
from anthropic.types.beta import beta_content_block_param, beta_tool_param, beta_tool_result_block_param
from anthropic.types.beta import message_count_tokens_params as beta_count_params
from anthropic.types.beta import message_create_params as beta_create_params

from ray_gym.anthropic_api.blocks import LEFT_OUT
from ray_gym.anthropic_api.request import QUIET, read_message_request
from ray_gym.openai_api.refused import Refused

PAGE = (Path(__file__).parents[2] / "docs" / "messages.md").read_text()
TABLE = PAGE.partition("| field |")[2].partition("\n\n")[0]
FATES = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", TABLE, re.MULTILINE))
BLOCKS = dict(
    re.findall(r"^\| `(\w+)` \| [^|]* \| (.*) \|$", PAGE.partition("| block |")[2].partition("\n\n")[0], re.MULTILINE)
)
BODY = {"model": "small", "max_tokens": 8, "messages": [{"role": "user", "content": "x"}]}
VALUE: Any = {"type": "create", "some": [1]}


def published() -> set[str]:
    """Returns the names of all fields that a request may have."""
    creating = [message_create_params.MessageCreateParamsBase, beta_create_params.MessageCreateParamsBase]
    counting = [
        message_count_tokens_params.MessageCountTokensParams,
        beta_count_params.MessageCountTokensParams,
    ]
    return {name for kind in (*creating, *counting) for name in kind.__annotations__} | {"stream", "output_format"}


def test_the_page_has_every_published_field() -> None:
    assert published() - FATES.keys() == set()
    assert {name for name, fate in FATES.items() if fate.startswith("no effect")} == QUIET


@pytest.mark.parametrize("name", sorted(name for name, fate in FATES.items() if fate.startswith("left out")))
def test_what_is_left_out_is_told(name: str) -> None:
    assert read_message_request({**BODY, name: VALUE}).left_out == (name,)


@pytest.mark.parametrize("name", sorted(QUIET))
def test_what_has_no_effect_is_taken_whatever_it_is(name: str) -> None:
    for value in (VALUE, "x", 3, True, None, []):
        assert read_message_request({**BODY, name: value}) == read_message_request(BODY)


@pytest.mark.parametrize("name", sorted(name for name, fate in FATES.items() if fate.startswith("refused")))
def test_what_is_refused_is_named(name: str) -> None:
    with pytest.raises(Refused, match=rf"^invalid_request: {name}") as refused:
        read_message_request({**BODY, name: VALUE})
    assert refused.value.param == name
    assert read_message_request({**BODY, name: None}) == read_message_request(BODY)


@pytest.mark.parametrize("name", sorted(name for name, fate in FATES.items() if fate.startswith("honoured")))
def test_what_is_honoured_is_read(name: str) -> None:
    with pytest.raises(Refused) as refused:
        read_message_request({**BODY, name: object()})
    assert (refused.value.param or "").startswith(name)


def published_blocks() -> dict[str, set[str]]:
    """Returns the fields of all blocks that a message and a tool's result may have, by their types."""
    found: dict[str, set[str]] = {}
    for union in (
        content_block_param.ContentBlockParam,
        beta_content_block_param.BetaContentBlockParam,
        beta_tool_result_block_param.Content,
    ):
        for block in get_args(union):
            if hasattr(block, "__required_keys__"):  # beside those of requests, it has the classes of answers
                [kind] = get_args(get_type_hints(block)["type"])
                found.setdefault(kind, set()).update(block.__annotations__)
    return found


def test_the_page_has_every_published_block() -> None:
    assert BLOCKS.keys() == published_blocks().keys()
    assert {kind for kind, fate in BLOCKS.items() if fate.startswith("left out")} == LEFT_OUT


@pytest.mark.parametrize("kind", sorted(LEFT_OUT))
def test_a_block_that_is_left_out_is_told(kind: str) -> None:
    said = [{"type": "text", "text": "x"}, {"type": kind, "content": [{"type": "image"}], "some": 1}]
    asked = read_message_request({**BODY, "messages": [{"role": "user", "content": said}]})
    assert asked.left_out == (f"messages.{kind}",)
    assert asked.messages == read_message_request(BODY).messages


def test_published_fields_of_tools_that_are_left_out_are_told() -> None:
    names = {name for kind in (tool_param.ToolParam, beta_tool_param.BetaToolParam) for name in kind.__annotations__}
    tool = {"name": "read", "input_schema": {"type": "object"}, "type": "custom", "description": "Reads."}
    asked = read_message_request({**BODY, "tools": [{**dict.fromkeys(names, True), **tool}]})
    assert asked.left_out == ("tools.input_examples",)
