"""Gives the arguments of calls the types of the tool's schema, in formats that write every value as text.

vLLM's parsers would do so, but know no `$ref`, and spell values anew: 12345678901234567890 as a float, and 01 as 1 where a
text may be meant. So they are given schemas without properties, with which they change no value. The parsers of some further
formats give types all the same: they are given the schemas that a `$ref` is for.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from typing import Any

from ray_gym.deployments.chat.call_spelling import Call
from ray_gym.deployments.chat.schema_refs import put_in
from ray_gym.json_pointers import look_up
from ray_gym.messages import ToolSchema

TEXT_VALUES = frozenset(
    {
        *("qwen3_xml", "qwen3_coder", "mimo", "step3p5", "seed_oss", "glm45", "glm47", "ling3", "minimax_m2", "gemma4"),
        *("hy_v3", "hy_v4", "step3"),
    }
)
"""Tool parsers of formats in which values are text, whatever their type."""
JSON_VALUES = frozenset({"kimi_k2", "mistral", "granite", "inkling"})
"""Tool parsers of formats in which values are JSON, which vLLM changes by the schema all the same."""
_TYPES = {
    bool: "boolean",
    int: "integer",
    float: "number",
    dict: "object",
    list: "array",
    type(None): "null",
    str: "string",
}
_ALTERNATIVES = ("anyOf", "oneOf", "allOf")


def tools_for_parser(tool_parser: str | None, tools: Sequence[ToolSchema]) -> list[dict[str, Any]]:
    """Returns tools in OpenAI's form, as one of vLLM's parsers is given them."""
    if tool_parser in TEXT_VALUES | JSON_VALUES:
        return [ToolSchema(tool.name, "", {"type": "object", "properties": {}}).as_openai() for tool in tools]
    return [ToolSchema(tool.name, tool.description, put_in(tool.parameters)).as_openai() for tool in tools]


def give_types(tool_parser: str | None, calls: Sequence[Call], tools: Sequence[ToolSchema]) -> list[Call]:
    """Returns calls of a parser with the values that their tool's schema asks for, each as the model wrote it: a text
    stays one unless it is JSON of another type that the schema allows.
    """
    if tool_parser not in TEXT_VALUES:
        return list(calls)
    schemas = {tool.name: tool.parameters for tool in tools}
    return [(id, name, _type_arguments(text, schemas[name]) if name in schemas else text) for id, name, text in calls]


def _type_arguments(arguments: str, schema: dict[str, Any]) -> str:
    try:
        return _spell(json.loads(arguments), schema, schema)
    except (ValueError, RecursionError):
        return arguments


def _spell(value: Any, schema: Any, root: dict[str, Any]) -> str:
    """Returns the JSON of a value in which texts have the types of its schema. `root`: schema that its `$ref`s are in."""
    schemas = _alternatives(schema, root)
    if isinstance(value, dict):
        known = {key: each for one in reversed(schemas) for key, each in _entries(one, "properties").items()}
        others = next((one["additionalProperties"] for one in schemas if "additionalProperties" in one), None)
        items = (f"{_dump(key)}: {_spell(each, known.get(key, others), root)}" for key, each in value.items())
        return f"{{{', '.join(items)}}}"
    if isinstance(value, list):
        of_items = next((one["items"] for one in schemas if "items" in one), None)
        return f"[{', '.join(_spell(each, of_items, root) for each in value)}]"
    return _spell_text(value, _types(schemas)) if isinstance(value, str) else _dump(value)


def _spell_text(text: str, types: set[str]) -> str:
    """Returns the JSON of a value that is written as text, and may have some types."""
    from vllm.tool_parsers.utils import coerce_to_schema_type

    written = text.strip()
    made, type_ = _decode(written)
    if type_ != "string" and (type_ in types or (type_ == "integer" and "number" in types)):
        return written
    if "string" not in types and type_ is None and (literal := _decode_python(written)) is not None:
        value, type_ = literal
        if type_ in types:
            return _dump(value)
    if "string" not in types or written.lower() in ("null", "true", "false"):
        coerced = _dump(coerce_to_schema_type(text, sorted(types)))
        return written if type_ is not None and coerced == _dump(made) else coerced
    return _dump(text)


def _decode(text: str) -> tuple[Any, str | None]:
    """Returns the value of a text that is JSON, and its type; (None, None) for any other, and numbers without end."""
    try:
        value = json.loads(text)
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError):
        return None, None
    return value, _TYPES[type(value)]


def _decode_python(text: str) -> tuple[Any, str] | None:
    """Returns the list, the object or the None that a text is as Python writes it, and its type in JSON; None for another."""
    try:
        value = ast.literal_eval(text)
        json.dumps(value, allow_nan=False)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None
    return (value, _TYPES[type(value)]) if value is None or isinstance(value, list | dict) else None


def types_of(schema: Any, root: dict[str, Any]) -> set[str]:
    """Returns the names of the types that a schema allows, also by those that it refers to in `root`; a text, if it says
    nothing of types.
    """
    return _types(_alternatives(schema, root))


def _types(schemas: Sequence[Mapping[str, Any]]) -> set[str]:
    """Returns the names of the types that one of several schemas allows; a text, if they say nothing of types."""
    types: set[str] = set()
    for schema in schemas:
        given = schema.get("type")
        own = {each for each in (given if isinstance(given, list) else [given]) if isinstance(each, str)}
        values = [*_list(schema, "enum"), *([schema["const"]] if "const" in schema else [])]
        own |= {_TYPES[type(value)] for value in values if type(value) in _TYPES}
        own |= {"object"} if "properties" in schema else {"array"} if "items" in schema else set()
        types |= own or (set() if schema.keys() & {"$ref", *_ALTERNATIVES} else {"string"})
    return types or {"string"}


def _alternatives(schema: Any, root: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns a schema, and all those that it refers to or is made of, each once, since they may refer to themselves."""
    found: dict[int, dict[str, Any]] = {}
    left = [schema]
    while left:
        one = left.pop(0)
        if not isinstance(one, dict) or id(one) in found:
            continue
        found[id(one)] = one
        left += [look_up(one.get("$ref"), root), *(each for name in _ALTERNATIVES for each in _list(one, name))]
    return list(found.values())


def _entries(schema: Mapping[str, Any], name: str) -> dict[str, Any]:
    given = schema.get(name)
    return given if isinstance(given, dict) else {}


def _list(schema: Mapping[str, Any], name: str) -> list[Any]:
    given = schema.get(name)
    return given if isinstance(given, list) else []


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
