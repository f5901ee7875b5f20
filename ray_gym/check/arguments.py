"""Makes arguments for tool calls: some that fit the tool's schema, and some that don't."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from typing import Any

from ray_gym.json_pointers import look_up
from ray_gym.messages import ToolSchema

BROKEN = ("not json", "", "[]", "null", '"x"', "{", '{"a": 1', "[" * 2_000, '{"\\ud800": 1}', "\x00", '{"a": 1e999}')
"""Arguments that no tool takes, but those of `NONE` where no parameter is required."""
NONE = ("", "null")
"""Texts that are read as no arguments."""
UNKNOWN = '{"no_such_argument": "\\u202e"}'
_DEEPEST = 4
"""Depth from which arrays and objects are as short as the schema allows."""
_TOO_DEEP = 12
"""Depth from which there are texts only, since a schema may ask for itself."""


def fitting_arguments(schema: ToolSchema, rng: random.Random, text: Callable[[], str]) -> str:
    """Makes the arguments of a call as JSON text that fits the schema. `text` makes the strings.

    Keywords of JSON schema beside types, references, bounds, lengths and choices are not looked at.
    """
    return json.dumps(_value(schema.parameters, schema.parameters, rng, text, 0))


def broken_arguments(schema: ToolSchema) -> list[str]:
    """Makes texts that are no arguments for the schema: broken JSON, wrong types, and an unknown argument."""
    required, properties = schema.parameters.get("required", []), schema.parameters.get("properties", {})
    wrong = [arguments for arguments in BROKEN if required or arguments not in NONE]
    typed = [name for name, one in properties.items() if "type" in _mapping(one)]
    wrong += [json.dumps({**dict.fromkeys(required, "x"), name: {"not": ["of", "its type"]}}) for name in typed[:3]
              if properties[name]["type"] != "object"]  # fmt: skip
    return [*wrong, UNKNOWN]


def _value(schema: Any, root: Mapping[str, Any], rng: random.Random, text: Callable[[], str], depth: int) -> Any:
    """Makes a value that fits a schema, which may also be true, false or missing. `root`: schema that its `$ref`s are in."""

    def inner(of: Any) -> Any:
        return _value(of, root, rng, text, depth + 1)

    schema = _mapping(schema)
    if depth >= _TOO_DEEP:
        return text()
    if "$ref" in schema:
        return inner(look_up(schema["$ref"], root))
    if "const" in schema or schema.get("enum"):
        return rng.choice(schema.get("enum") or [schema["const"]])
    if alternatives := schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf"):
        ends = [one for one in alternatives if "$ref" not in _mapping(one)] if depth >= _DEEPEST else []
        return inner(rng.choice(ends or alternatives))
    kind = schema.get("type")
    match rng.choice(kind) if isinstance(kind, list) else kind:
        case "integer":
            return rng.randint(*_bounds(schema))
        case "number":
            return rng.uniform(*_bounds(schema))
        case "boolean":
            return rng.random() < 0.5
        case "null":
            return None
        case "array":
            return [inner(schema.get("items")) for _ in range(_length(schema, rng, depth))]
        case "object":
            required, optional = schema.get("required", []), 0.5 if depth < _DEEPEST else 0
            named = schema.get("properties", {}).items()
            return {name: inner(one) for name, one in named if name in required or rng.random() < optional}
        case _:
            return text()[: int(schema["maxLength"]) if "maxLength" in schema else None]


def _length(schema: Mapping[str, Any], rng: random.Random, depth: int) -> int:
    """Returns how long an array that fits a schema is."""
    least = int(schema.get("minItems", 0))
    if depth >= _DEEPEST or schema.get("items") is False:
        return min(least, 20)
    return min(rng.randint(least, max(least, int(schema.get("maxItems", 3)))), 20)


def _mapping(schema: Any) -> Mapping[str, Any]:
    return schema if isinstance(schema, Mapping) else {}


def _bounds(schema: Mapping[str, Any]) -> tuple[int, int]:
    low = schema.get("minimum", schema.get("exclusiveMinimum", -2) + 1)
    high = schema.get("maximum", schema.get("exclusiveMaximum", max(low, 10) + 1) - 1)
    return int(low), int(high)
