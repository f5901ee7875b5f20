"""Gives an endpoint's messages back to it with what it gave beside their calls. Some can't go on without it:

* Gemini 3 signs its calls, in `extra_content` (https://ai.google.dev/gemini-api/docs/thought-signatures).
* DeepSeek and Kimi want the reasoning of messages with calls (https://api-docs.deepseek.com/guides/thinking_mode).
* Routers have both in `reasoning_details` (OpenRouter), and in `thinking_blocks` and `provider_specific_fields` (LiteLLM).
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from ray_gym.engines.spelled import elements, members, value_of
from ray_gym.messages import Message
from ray_gym.models.base import CompletionRequest

Json = dict[str, Any]

GIVEN = "extra_content"
"""Field of a call that goes back from the start: only endpoints that document so give one."""
_REASONING, _DETAILS, _SIGNATURE = "reasoning_content", "reasoning_details", "thought_signature"
"""Names of what goes back after a refusal: a message's recorded reasoning; all other fields; a signature of calls that have
none.
"""
_BESIDE_MESSAGES, _BESIDE_CALLS = ("reasoning_details", "thinking_blocks"), (GIVEN, "provider_specific_fields")
_ORIGIN = "origin"
"""Field of what is kept: id of the model that gave it."""
_NO_REASONING = " "
"""Reasoning of a message with calls that has none, as those of a task: DeepSeek and Kimi count "" as missing."""
_UNSIGNED = {"google": {"thought_signature": "skip_thought_signature_validator"}}
"""Gemini takes this in the place of the signature of a call that it has not made itself, as those of a task."""
_ASKED: Mapping[str, re.Pattern[str]] = {
    GIVEN: re.compile("extra_content"),
    _REASONING: re.compile("reasoning_content"),
    _DETAILS: re.compile(
        r"reasoning_(?:content|details)|thought_?signature|thinking_blocks|redacted_thinking|thinking.{0,3} block",
        re.IGNORECASE,
    ),
    _SIGNATURE: re.compile(r"thought_?signature", re.IGNORECASE),
}
"""Words of refusals that are about it: because it is missing, or because it is there."""


def read_given(message: Mapping[str, Any]) -> str:
    """Returns what an answer's message has beside its `tool_calls`, as the JSON text of a message with nothing else; "" if
    there is nothing, or no call. `message`: its fields, each as the JSON text that came (`msgspec.Raw`), or decoded.
    Errors: ValueError for bytes that are no UTF-8.
    """
    calls = [_given_of(members(call), _BESIDE_CALLS) for call in elements(message.get("tool_calls"))]
    given = _given_of(message, _BESIDE_MESSAGES) if calls else {}
    if any(calls):
        given["tool_calls"] = calls
    return json.dumps(given) if given else ""


def with_origin(beside: str, origin: str) -> str:
    """Returns what an answer's message has beside its calls (see `read_given`), with the id of the model that gave it."""
    return json.dumps({_ORIGIN: origin, **json.loads(beside)}) if beside else ""


def of_origin(beside: Mapping[int, str], origin: str) -> dict[int, str]:
    """Returns what the model with the id `origin` gave itself: a run may be resumed with another one."""
    return {index: given for index, given in beside.items() if json.loads(given).get(_ORIGIN, origin) == origin}


def _given_of(fields: Mapping[str, Any], names: Sequence[str]) -> Json:
    found = {name: value_of(fields[name]) for name in names if name in fields}
    return {name: value for name, value in found.items() if value}


def asked_back(words: str) -> frozenset[str]:
    """Returns the names of what a refusal is about, of that which can be sent back."""
    return frozenset(name for name, pattern in _ASKED.items() if pattern.search(words))


def sent_back(messages: Sequence[Json], request: CompletionRequest, names: Collection[str]) -> list[Json]:
    """Returns the messages of a request's body, in which those of the assistant have what is named in `names`."""
    return [
        _with_given(body, message, request.beside.get(index, ""), names) if message.role == "assistant" else body
        for index, (body, message) in enumerate(zip(messages, request.messages, strict=True))
    ]


def _with_given(body: Json, message: Message, beside: str, names: Collection[str]) -> Json:
    given = json.loads(beside) if beside else {}
    more = {name: given[name] for name in _BESIDE_MESSAGES if name in given and _DETAILS in names}
    if _REASONING in names and (message.reasoning or message.tool_calls):
        more["reasoning_content"] = message.reasoning or _NO_REASONING
    if message.tool_calls:
        fields = [name for name in _BESIDE_CALLS if (GIVEN if name == GIVEN else _DETAILS) in names]
        more["tool_calls"] = [
            call | {name: value for name, value in (of_call or {}).items() if name in fields}
            for call, of_call in zip_longest(body["tool_calls"], given.get("tool_calls", ()))
        ]
        if _SIGNATURE in names and not given:
            more["tool_calls"][0][GIVEN] = _UNSIGNED
    return {**body, **more}
