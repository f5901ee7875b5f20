"""Makes the grammar for a request's `response_format`, which constrains the text of the answer."""

from __future__ import annotations

import json
from typing import Any

from ray_gym.deployments.chat.token_engine import Grammar
from ray_gym.deployments.chat.tool_format import compact
from ray_gym.errors import EpisodeFailure, FailureKind

FIELD = "response_format"


def grammar_of(response_format: str, calls: Grammar | None) -> Grammar:
    """Returns the grammar of an answer that is JSON text as a request's `response_format` asks or, if `calls` is given,
    tool calls instead.

    `response_format`: JSON text in the form of chat completions (`json_schema` or `json_object`). `calls`: grammar of
    tool calls; None if the answer may be no calls. Errors: EpisodeFailure (data) if the grammar of the calls is no
    structural tag.
    """
    words = compact({"type": "json_schema", "json_schema": _schema(response_format)}, parallel=True)
    if calls is None:
        return _tag(words)
    if calls.kind != "structural_tag":
        problem = "this model's calls have no tags of their own: leave out response_format, or set tool_choice to none"
        raise EpisodeFailure(FailureKind.DATA, FIELD, problem)
    return _tag({"type": "or", "elements": [words, json.loads(calls.text)["format"]]})


def _tag(form: Any) -> Grammar:
    return Grammar("structural_tag", json.dumps({"type": "structural_tag", "format": form}), field=FIELD)


def _schema(response_format: str) -> Any:
    asked = json.loads(response_format)
    return asked["json_schema"]["schema"] if asked["type"] == "json_schema" else {"type": "object"}
