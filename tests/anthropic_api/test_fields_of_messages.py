"""Checks the page's table of the fields of a request: it has all that Anthropic's client knows, and the reading does as
it says.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from anthropic.types import message_count_tokens_params, message_create_params
from anthropic.types.beta import message_count_tokens_params as beta_count_params
from anthropic.types.beta import message_create_params as beta_create_params

from ray_gym.anthropic_api.request import QUIET, read_message_request
from ray_gym.openai_api.refused import Refused

PAGE = (Path(__file__).parents[2] / "docs" / "messages.md").read_text()
TABLE = PAGE.partition("| field |")[2].partition("\n\n")[0]
FATES = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", TABLE, re.MULTILINE))
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
