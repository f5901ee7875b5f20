"""Makes the grammar that holds an answer's text to the form that a caller asks for (`response_format`)."""

from __future__ import annotations

import json
from typing import Any

from ray_gym.deployments.chat.token_engine import Grammar
from ray_gym.deployments.chat.tool_format import compact
from ray_gym.errors import EpisodeFailure, FailureKind

FIELD = "response_format"


def grammar_of(response_format: str, calls: Grammar | None) -> Grammar:
    """Returns the grammar of an answer. `calls`: the grammar of a tool call, if the answer may be one instead.
    Errors: EpisodeFailure (data).
    """
    words = compact({"type": "json_schema", "json_schema": _schema(response_format)}, parallel=True)
    if calls is None:
        return _tag(words)
    if calls.kind != "structural_tag":
        problem = "this model's calls have no form of their own: leave out response_format, or set tool_choice to none"
        raise EpisodeFailure(FailureKind.DATA, FIELD, problem)
    return _tag({"type": "or", "elements": [words, json.loads(calls.text)["format"]]})


def _tag(form: Any) -> Grammar:
    return Grammar("structural_tag", json.dumps({"type": "structural_tag", "format": form}), asked_by=FIELD)


def _schema(response_format: str) -> Any:
    asked = json.loads(response_format)
    return asked["json_schema"]["schema"] if asked["type"] == "json_schema" else {"type": "object"}
