"""Makes arguments for tool calls: some that fit the tool's schema, and some that don't."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from typing import Any

from ray_gym.messages import ToolSchema

BROKEN = ("not json", "", "[]", "null", '"x"', "{", '{"a": 1', "[" * 2_000, '{"\\ud800": 1}', "\x00", '{"a": 1e999}')
"""Arguments that no tool takes, but those of `NONE` where no parameter is required."""
NONE = ("", "null")
"""Texts that are read as no arguments."""
UNKNOWN = '{"no_such_argument": "\\u202e"}'
_DEEPEST = 4
"""Depth from which arrays are as short as the schema allows."""


def fitting_arguments(schema: ToolSchema, rng: random.Random, text: Callable[[], str]) -> str:
    """Makes the arguments of a call as JSON text that fits the schema. `text` makes the strings.

    Keywords of JSON schema beside types, bounds, lengths and choices are not looked at.
    """
    return json.dumps(_value(schema.parameters, schema.parameters.get("$defs", {}), rng, text, 0))


def broken_arguments(schema: ToolSchema) -> list[str]:
    """Makes texts that are no arguments for the schema: broken JSON, wrong types, and an unknown argument."""
    required, properties = schema.parameters.get("required", []), schema.parameters.get("properties", {})
    wrong = [arguments for arguments in BROKEN if required or arguments not in NONE]
    typed = [name for name, one in properties.items() if "type" in one]
    wrong += [json.dumps({**dict.fromkeys(required, "x"), name: {"not": ["of", "its type"]}}) for name in typed[:3]
              if properties[name]["type"] != "object"]  # fmt: skip
    return [*wrong, UNKNOWN]


def _value(
    schema: Mapping[str, Any], shared: Mapping[str, Any], rng: random.Random, text: Callable[[], str], depth: int
) -> Any:
    def inner(of: Mapping[str, Any]) -> Any:
        return _value(of, shared, rng, text, depth + 1)

    if "$ref" in schema:
        return inner(shared[schema["$ref"].rpartition("/")[2]])
    if "const" in schema or "enum" in schema:
        return rng.choice(schema.get("enum") or [schema["const"]])
    if "anyOf" in schema or "oneOf" in schema:
        return inner(rng.choice(schema.get("anyOf") or schema["oneOf"]))
    match schema.get("type"):
        case "integer":
            return rng.randint(*_bounds(schema))
        case "number":
            return rng.uniform(*_bounds(schema))
        case "boolean":
            return rng.random() < 0.5
        case "null":
            return None
        case "array":
            least = schema.get("minItems", 0)
            count = least if depth >= _DEEPEST else rng.randint(least, max(least, schema.get("maxItems", 3)))
            return [inner(schema.get("items", {})) for _ in range(min(count, 20))]
        case "object":
            required = schema.get("required", [])
            named = schema.get("properties", {}).items()
            return {name: inner(one) for name, one in named if name in required or rng.random() < 0.5}
        case _:
            return text()[: schema.get("maxLength")]


def _bounds(schema: Mapping[str, Any]) -> tuple[int, int]:
    low = schema.get("minimum", schema.get("exclusiveMinimum", -2) + 1)
    high = schema.get("maximum", schema.get("exclusiveMaximum", max(low, 10) + 1) - 1)
    return int(low), int(high)
