"""Checks the table of docs/service.md: it has all fields that OpenAI's client knows, and the reading of chat completions
and of Responses does as it says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from openai.types import shared_params
from openai.types.beta import response_create_params as beta_params
from openai.types.chat import chat_completion_stream_options_param as chat_stream
from openai.types.chat import completion_create_params as chat_params
from openai.types.responses import response_create_params as response_params
from openai.types.responses import response_text_config_param as text_params

from ray_gym.openai_api.refused import Refused
from ray_gym.openai_api.request import ApiRequest
from ray_gym.play.dialects import CHAT, RESPONSES, Dialect

PAGE = (Path(__file__).parents[2] / "docs" / "service.md").read_text()
TABLE = PAGE.partition("### Fields of OpenAI's requests")[2].partition("\n## ")[0]
ROWS = [
    (name, api, fate) for name, api, fate in re.findall(r"^\| `([\w.]+)` \| (\w+) \| (.*) \|$", TABLE, re.MULTILINE)
]
APIS = {"chat": CHAT, "Responses": RESPONSES}
LOOK = {"type": "function", "function": {"name": "look"}}
BODIES: dict[str, dict[str, Any]] = {
    "chat": {"model": "small", "messages": [{"role": "user", "content": "x"}], "tools": [LOOK], "max_tokens": 9},
    "Responses": {"model": "small", "input": "x", "tools": [LOOK]},
}
VALUES: dict[str, Any] = {
    "model": "large",
    "messages": [{"role": "user", "content": "y"}],
    "input": "y",
    "instructions": "Be kind.",
    "previous_response_id": "resp_1",
    "tools": [],
    "tool_choice": "none",
    "parallel_tool_calls": False,
    "stream": True,
    "stream_options.include_usage": True,
    "temperature": 0.5,
    "top_p": 0.5,
    "presence_penalty": 0.5,
    "frequency_penalty": 0.5,
    "stop": ["."],
    "seed": 3,
    "max_tokens": 5,
    "max_completion_tokens": 5,
    "max_output_tokens": 5,
    "logprobs": True,
    "include": ["message.output_text.logprobs"],
    "response_format": {"type": "json_object"},
    "text.format": {"type": "json_object"},
    "text.verbosity": "low",
    "verbosity": "high",
    "reasoning_effort": "low",
    "reasoning.effort": "none",
    "reasoning.context": "all_turns",
    "reasoning.mode": "pro",
    "reasoning.summary": "auto",
    "web_search_options": {},
    "max_tool_calls": 3,
    "truncation": "auto",
    "context_management": [{"type": "compaction", "compact_threshold": 5}],
    "moderation": {"model": "x"},
    "background": True,
    "background_options": {"completion_window": "2h"},
    "access_programs": {"cyber": "standard"},
    "image": {"context_compression": "enabled"},
    "multi_agent": {"enabled": True},
    "metadata": {"a": "b"},
    "store": True,
    "prediction": {"type": "content", "content": "x"},
    "prompt_cache_options.prewarm": True,
    "n": 2,
    "top_logprobs": 1,
    "logit_bias": {"5": 1},
    "modalities": ["text", "audio"],
    "audio": {"format": "wav", "voice": "x"},
    "functions": [{"name": "f"}],
    "function_call": {"name": "f"},
    "conversation": "conv_1",
    "prompt": {"id": "x"},
}
"""A value of each field that asks for something; of other fields, any text does."""


@pytest.mark.parametrize("choice", ["auto", "none", None])
def test_an_old_choice_among_no_functions_asks_for_nothing(choice: str | None) -> None:
    assert CHAT.read({**BODIES["chat"], "function_call": choice}) == CHAT.read(BODIES["chat"])


def published(api: str) -> set[str]:
    """Returns the names of all fields that a request may have, and of those in some of its objects."""
    if api == "chat":
        kinds: list[Any] = [chat_params.CompletionCreateParamsStreaming]
        inner = {
            "stream_options": chat_stream.ChatCompletionStreamOptionsParam,
            "prompt_cache_options": chat_params.PromptCacheOptions,
        }
    else:
        kinds = [response_params.ResponseCreateParamsStreaming, beta_params.ResponseCreateParamsStreaming]
        inner = {
            "stream_options": response_params.StreamOptions,
            "prompt_cache_options": response_params.PromptCacheOptions,
            "reasoning": shared_params.Reasoning,
            "text": text_params.ResponseTextConfigParam,
        }
    names = {name for kind in kinds for name in kind.__annotations__} - {"betas"}  # which is a header
    dotted = {f"{of}.{name}" for of, kind in inner.items() for name in kind.__annotations__}
    assert inner.keys() <= names
    return (names - inner.keys()) | dotted


def fates(word: str) -> list[tuple[str, str]]:
    """Returns the fields whose fate begins with a word, each after its API."""
    return [(api, name) for name, of, fate in ROWS for api in APIS if of in (api, "both") and fate.startswith(word)]


def read(api: str, name: str = "", value: Any = None) -> ApiRequest:
    """Returns what is read of a body with a field; of the plain body without one. Errors: Refused."""
    of, _, inner = name.partition(".")
    more: Mapping[str, Any] = {of: {inner: value} if inner else value} if name else {}
    dialect: Dialect = APIS[api]
    return replace(dialect.read({**BODIES[api], **more}), echo={})


@pytest.mark.parametrize("api", APIS)
def test_the_page_has_every_published_field_and_says_what_becomes_of_it(api: str) -> None:
    told = [name for word in ("honoured", "no effect", "left out", "refused") for of, name in fates(word) if of == api]
    assert sorted(told) == sorted(published(api))
    assert VALUES.keys() <= {name for name, _, _ in ROWS}


@pytest.mark.parametrize(("api", "name"), fates("honoured"))
def test_what_is_honoured_changes_what_is_asked(api: str, name: str) -> None:
    asked = read(api, name, VALUES[name])
    assert asked != read(api) and not asked.left_out
    with pytest.raises(Refused) as refused:
        read(api, name, object())
    assert (refused.value.param or "").startswith(name)


@pytest.mark.parametrize(("api", "name"), fates("no effect"))
def test_what_has_no_effect_changes_nothing(api: str, name: str) -> None:
    for value in (VALUES.get(name, "x"), {"some": [1]}, None):
        assert read(api, name, value) == read(api)


@pytest.mark.parametrize(("api", "name"), fates("left out"))
def test_what_is_left_out_is_named(api: str, name: str) -> None:
    for value in (VALUES[name], {"some": [1]}):
        asked = read(api, name, value)
        assert asked.left_out == (name,) and replace(asked, left_out=()) == read(api)
    assert read(api, name, None) == read(api)


@pytest.mark.parametrize(("api", "name"), fates("refused"))
def test_what_is_refused_is_named(api: str, name: str) -> None:
    with pytest.raises(Refused, match=rf"^invalid_request: {name}") as refused:
        read(api, name, VALUES[name])
    assert (refused.value.status, refused.value.param) == (400, name)
    assert read(api, name, None) == read(api)


def test_what_asks_a_router_ends_no_agent() -> None:
    asks = {"thinking": {"type": "enabled"}, "reasoning": {"effort": "high"}, "provider": {"sort": "price"}}
    asked = CHAT.read({**BODIES["chat"], **asks, "usage": {"include": True}, "cache_control": {"type": "ephemeral"}})
    assert asked.left_out == ("provider", "reasoning", "thinking")
