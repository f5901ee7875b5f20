"""Reads calls in which every value is written as text, with the types of the tool's schema, with vLLM's own parsers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from call_texts import CALL_TEXTS
from test_malformed_calls import tool_format

from ray_gym.deployments.chat.schema_refs import MOST_WITHIN, put_in
from ray_gym.deployments.chat.token_engine import Generation
from ray_gym.messages import ToolSchema

FUNCTION = "<tool_call>\n<function=note>\n<parameter=x>\nVALUE\n</parameter>\n</function>\n</tool_call>"
GLM = "<tool_call>note\n<arg_key>x</arg_key>\n<arg_value>VALUE</arg_value></tool_call>"


def value_call(parser: str) -> str:
    """Returns a call of note with the argument x, whose value is VALUE."""
    texts = CALL_TEXTS[parser]
    return texts.begin + texts.note.replace("text<", "x<").replace('"text"', '"x"').replace("ü", "VALUE") + texts.end


TEXTS = {
    "qwen3_coder": FUNCTION,
    "qwen3_xml": FUNCTION,
    "step3p5": FUNCTION,
    "mimo": FUNCTION.replace("\nVALUE\n", "VALUE"),
    "seed_oss": FUNCTION.replace("tool_call>", "seed:tool_call>"),
    "glm45": GLM,
    "glm47": GLM,
    "minimax_m2": '<minimax:tool_call>\n<invoke name="note">\n<parameter name="x">VALUE</parameter>\n</invoke>\n</minimax:tool_call>',
    **{parser: value_call(parser) for parser in ("hy_v3", "hy_v4", "step3")},
}
"""Calls with one value that is text, by the tool parser."""
JSON = {
    "kimi_k2": "<|tool_calls_section_begin|><|tool_call_begin|>functions.note:0<|tool_call_argument_begin|>"
    '{"x": VALUE}<|tool_call_end|><|tool_calls_section_end|>',
    "mistral": '[TOOL_CALLS]note{"x": VALUE}',
    "inkling": '<|content_invoke_tool_json|>{"name": "note", "args": {"x": VALUE}}<|end_message|>',
    "granite": '<|tool_call|>[{"name": "note", "arguments": {"x": VALUE}}]',
    "hermes": '<tool_call>\n{"name": "note", "arguments": {"x": VALUE}}\n</tool_call>',
}
"""Calls with one value that is JSON, by the tool parser."""
NODE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "n": {"type": "integer"},
        "s": {"type": "string"},
        "next": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]},
        "sizes": {"type": "object", "additionalProperties": {"type": "number"}},
    },
}
DEFS = {
    "Node": NODE,
    "Level": {"enum": [1, 2]},
    "Size": {"type": "integer"},
    "Zip": {"type": "string"},
    "Loop": {"anyOf": [{"$ref": "#/$defs/Loop"}, {"type": "integer"}]},
    "Of/Slash": {"$ref": "#/$defs/Node", "description": "A node."},
}


def arguments(tool_parser: str, call: str, schema: Any) -> str:
    """Returns the arguments of the one call in an answer. `schema`: that of the argument x."""
    tool = ToolSchema("note", "", {"type": "object", "properties": {"x": schema}, "$defs": DEFS})
    answer = Generation([], np.zeros(0, np.int32), np.zeros(0, np.float32), call, truncated=False)
    (made,) = tool_format(tool_parser).parse(answer, (tool,), None, 7).tool_calls
    assert made.name == "note"
    return made.arguments


@pytest.mark.parametrize("tool_parser", TEXTS)
@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"$ref": "#/$defs/Node"}, '{"n": 1, "s":"Köln"}'),
        ({"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]}, '{"next": {"n": 2}}'),
        ({"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]}, "null"),
        ({"$ref": "#/$defs/Of~1Slash", "default": None}, '{"n": 1}'),
        ({"$ref": "#/$defs/Level"}, "2"),
        ({"$ref": "#/$defs/Loop"}, "3"),
        ({"const": 1}, "1"),
        ({"properties": {"a": {}}}, '{"a": 1}'),
        ({"type": "number"}, "12345678901234567890"),
        ({"type": "number"}, "1.50"),
        ({"type": "object"}, '{"k": 1, "k": 2}'),
        ({"type": ["string", "integer"]}, "5"),
        ({"type": "boolean"}, "true"),
        ({"type": "array", "items": {"type": "string"}}, '["a",  "b"]'),
    ],
)
def test_values_are_as_the_model_wrote_them(tool_parser: str, schema: Any, value: str) -> None:
    assert arguments(tool_parser, TEXTS[tool_parser].replace("VALUE", value), schema) == f'{{"x": {value}}}'


@pytest.mark.parametrize("tool_parser", TEXTS)
@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": ["string", "integer"]}, "01"),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, "1_000"),
        ({"type": ["string", "boolean"]}, "1"),
        ({"type": ["string", "number"]}, "+49"),
        ({"type": "string"}, "5"),
        ({"$ref": "#/$defs/Nothing"}, "5"),
        ({"type": "integer"}, "five"),
        ({"type": "number"}, "1e999"),
        ({}, "5"),
        (True, "5"),
        ({"type": [{}], "anyOf": {}, "enum": 3}, "5"),
    ],
)
def test_texts_stay_texts(tool_parser: str, schema: Any, value: str) -> None:
    assert arguments(tool_parser, TEXTS[tool_parser].replace("VALUE", value), schema) == f'{{"x": "{value}"}}'


@pytest.mark.parametrize(
    ("schema", "value", "wanted"),
    [
        ({"type": "integer"}, "007", "7"),
        ({"type": "array"}, "['a', None]", '["a", null]'),
        ({"$ref": "#/$defs/Node"}, "{'n': 1}", '{"n": 1}'),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "None", "null"),
        ({"type": ["array", "string"]}, "['a']", "\"['a']\""),
        ({"type": "integer"}, "['a']", "\"['a']\""),
        ({"type": "boolean"}, "True", "true"),
        ({"type": "boolean"}, "1", "true"),
        ({"type": ["boolean", "string"]}, "False", "false"),
        ({"type": ["string", "null"]}, "NULL", "null"),
        ({"type": "int"}, "5", "5"),
        ({"type": "str"}, "5", '"5"'),
    ],
)
def test_other_spellings_of_values_are_read(schema: Any, value: str, wanted: str) -> None:
    assert arguments("glm45", GLM.replace("VALUE", value), schema) == f'{{"x": {wanted}}}'


@pytest.mark.parametrize("tool_parser", JSON)
@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "number"}, "12345678901234567890"),
        ({"type": ["string", "integer"]}, '"01"'),
        ({"type": "integer"}, '"5"'),
        ({"$ref": "#/$defs/Level"}, "1"),
        ({}, "5"),
    ],
)
def test_the_schema_changes_no_json(tool_parser: str, schema: Any, value: str) -> None:
    assert arguments(tool_parser, JSON[tool_parser].replace("VALUE", value), schema) == f'{{"x": {value}}}'


def test_values_within_values_have_their_types() -> None:
    written = '<|tool_call>call:note{x:{n:5,s:<|"|>5<|"|>,next:{n:1,next:{n:2}},sizes:{a:1.50}}}<tool_call|>'
    wanted = '{"x": {"n": 5, "s": "5", "next": {"n": 1, "next": {"n": 2}}, "sizes": {"a": 1.50}}}'
    assert arguments("gemma4", written, {"$ref": "#/$defs/Node"}) == wanted


OTHERS = ("poolside_v1", "minicpm5", "k2_horizon", "deepseek_v32", "deepseek_v4", "deepseek_v41", "dots", "minimax_m3")
"""Parsers of further formats that give values the types of the schema."""


@pytest.mark.parametrize("tool_parser", OTHERS)
@pytest.mark.parametrize(
    ("schema", "value", "wanted"),
    [
        ({"$ref": "#/$defs/Size"}, "2", "2"),
        ({"anyOf": [{"$ref": "#/$defs/Size"}, {"type": "null"}]}, "2", "2"),
        ({"$ref": "#/$defs/Zip"}, "12", '"12"'),
        ({"$ref": "#/$defs/Node"}, '{"s": "5"}', '{"s": "5"}'),
    ],
)
def test_types_behind_a_reference_are_given_to_parsers(tool_parser: str, schema: Any, value: str, wanted: str) -> None:
    call = value_call(tool_parser).replace('string="true"', 'string="false"')
    if tool_parser == "minimax_m3":  # its arguments have tags of their own
        call = call.replace("text>", "x>")
        value = value.replace('{"s": "5"}', "]<]minimax[>[<s>5]<]minimax[>[</s>")
    assert arguments(tool_parser, call.replace("VALUE", value), schema) == f'{{"x": {wanted}}}'


def test_a_schema_that_refers_to_itself_is_put_in() -> None:
    made = put_in({"properties": {"x": {"$ref": "#/$defs/Node"}}, "$defs": DEFS})["properties"]["x"]
    for _ in range(MOST_WITHIN):
        assert made["properties"]["s"] == {"type": "string"}
        made = made["properties"]["next"]["anyOf"][0]
    assert made == {"type": "object"}


def test_schemas_that_refer_to_one_another_are_put_in_fast() -> None:
    many = {f"k{index}": {"$ref": "#/$defs/All"} for index in range(1000)}
    made = put_in({"properties": {"x": {"$ref": "#/$defs/All"}}, "$defs": {"All": {"properties": many}}})
    assert made["properties"]["x"]["properties"]["k7"]["properties"]["k8"]["properties"]["k9"] == {"type": "object"}
