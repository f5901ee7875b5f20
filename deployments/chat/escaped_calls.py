"""Reads the tool calls of FunctionGemma: call:NAME{KEY:VALUE,...}, in which texts are between two <escape>, and numbers,
truth values, lists and objects are bare. Of all values, vLLM's parser reads only texts that are in no list or object.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ray_gym.deployments.chat.call_pieces import Attempt
from ray_gym.deployments.chat.call_spelling import Call, is_name, read_bare_name
from ray_gym.deployments.chat.call_values import types_of
from ray_gym.deployments.chat.quoted_tags import Tags, reveal
from ray_gym.each_key_once import RepeatedKey, each_key_once
from ray_gym.messages import ToolSchema

PARSER = "functiongemma"
"""Name of vLLM's parser of this format."""
TAGS = Tags(
    "<escape>", "<escape>", "<start_function_call>", "<end_function_call>", r"<escape>|<(?:start|end)_function_call>"
)
"""Tags of texts, and of calls."""

_CALL = re.compile(r"call:([^\s{]+)\s*(?=\{)")
_PART = re.compile(
    r'<escape>(?P<text>.*?)<escape>|(?P<json>"(?:[^"\\]|\\.)*+")|(?P<bare>[^<"{}\[\]:,]+)(?P<colon>:)?|(?P<mark>:|,\s*(?P<last>[}\]])?)',
    re.DOTALL,
)


def read(attempts: Sequence[Attempt], tools: Sequence[ToolSchema]) -> list[Call]:
    """Returns the calls that a model began. One that can't be read has no name, unless it is a name and nothing else."""
    return [_read_call(attempt.written, tools) or ("", *read_bare_name(attempt.written)) for attempt in attempts]


def _read_call(written: str, tools: Sequence[ToolSchema]) -> Call | None:
    """Returns the call that a text is; None for a text that is none. The last brace may be missing."""
    found = _CALL.match(written)
    if found is None or not is_name(found[1], [tool.name for tool in tools]):
        return None
    arguments = reveal(_PART.sub(_as_json, TAGS.hide(written[found.end() :])))
    schema = next((tool.parameters for tool in tools if tool.name == found[1]), {})
    for text in (arguments, arguments + "}"):
        try:
            return "", found[1], _with_types(text, json.loads(text, object_pairs_hook=each_key_once), schema)
        except RepeatedKey:  # whoever reads the arguments refuses them
            return "", found[1], text
        except (ValueError, RecursionError):
            pass
    return None


def _as_json(part: re.Match[str]) -> str:
    """Returns a part of a call's arguments as JSON. Numbers and the like stay as they are."""
    if part["text"] is not None:
        return json.dumps(part["text"], ensure_ascii=False)
    if part["mark"] is not None:
        return part["last"] or f"{part['mark'].strip()} "
    bare = (part["bare"] or "").strip()
    if bare and part["colon"]:
        return f"{json.dumps(bare, ensure_ascii=False)}: "
    return part["json"] or ("null" if bare == "None" else bare) + (": " if part["colon"] else "")


def _with_types(text: str, arguments: Mapping[str, Any], schema: dict[str, Any]) -> str:
    """Returns arguments as JSON text. `arguments`: the same, decoded. A text in the place of an argument that can't be one,
    as its schema says, is read as JSON: models put numbers between <escape>, too.
    """
    properties = schema.get("properties", {})
    made = {key: _typed(value, types_of(properties.get(key), schema)) for key, value in arguments.items()}
    return text if made == arguments else json.dumps(made, ensure_ascii=False)


def _typed(value: Any, types: Collection[str]) -> Any:
    if not isinstance(value, str) or "string" in types:
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value
