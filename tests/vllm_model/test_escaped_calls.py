"""Reads the calls of FunctionGemma, whose texts are between two <escape>, and all other values bare."""

from __future__ import annotations

import numpy as np
import pytest
from test_malformed_calls import tool_format

from ray_gym.deployments.chat import call_frames, escaped_calls
from ray_gym.deployments.chat.token_engine import Generation
from ray_gym.messages import ToolSchema

TYPES = {"text": "string", "n": "number", "i": "integer", "b": "boolean", "l": "array", "o": "object"}
NOTE = ToolSchema("note", "", {"type": "object", "properties": {key: {"type": kind} for key, kind in TYPES.items()}})


def read(*calls: str, names: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    text = "".join(f"<start_function_call>{call}<end_function_call>" for call in calls)
    tools = [NOTE, *(ToolSchema(name, "", {"type": "object"}) for name in names)]
    said, attempts = call_frames.cut("functiongemma", f"One. {text} Two.", [tool.name for tool in tools])
    assert said == "One.  Two."
    return [(name, arguments) for _, name, arguments in escaped_calls.read(attempts, tools)]


@pytest.mark.parametrize(
    ("written", "arguments"),
    [
        ("n:1.50,b:true,text:<escape>a<escape>", '{"n": 1.50, "b": true, "text": "a"}'),
        ("l:[<escape>a<escape>]", '{"l": ["a"]}'),
        ("o:{k:<escape>v<escape>}", '{"o": {"k": "v"}}'),
        ("i:-3,l:[1,[false,null],{a-b:None}]", '{"i": -3, "l": [1, [false, null], {"a-b": null}]}'),
        ("o:{<escape>k: 1<escape> : [ ]},n:12345678901234567890", '{"o": {"k: 1": []}, "n": 12345678901234567890}'),
        ('text:<escape>{a:1,\n"b"}, <b><escape>', '{"text": "{a:1,\\n\\"b\\"}, <b>"}'),
        ('"text":"a, b: \\"c\\"",l:[1,]', '{"text": "a, b: \\"c\\"", "l": [1]}'),
        ("n:<escape>3<escape>,text:<escape>3<escape>", '{"n": 3, "text": "3"}'),
        ("", "{}"),
    ],
)
def test_all_values_are_read(written: str, arguments: str) -> None:
    assert read(f"call:note{{{written}}}") == [("note", arguments)]
    assert read(f"call:note{{{written}") == [("note", arguments)], "a brace is missing"


@pytest.mark.parametrize("written", ["text:abc", "text:<escape>a", "n:1 n:2", "n:", "l:" + "[" * 100_000])
def test_a_value_that_cannot_be_read_spoils_its_call_alone(written: str) -> None:
    bad = f"call:note{{{written}}}"
    assert read(bad, "call:note{n:1}") == [("", bad), ("note", '{"n": 1}')]


@pytest.mark.parametrize("name", ["über", "fs.read-file", "mcp__a/b", "no"])
def test_any_tool_may_be_called(name: str) -> None:
    assert read(f"call:{name}{{x:1}}", names=(name,)) == [(name, '{"x": 1}')]


def test_the_tool_format_reads_them() -> None:
    text = "So: <start_function_call>call:note{b:false,o:{}}<end_function_call>"
    answer = Generation([], np.zeros(0, np.int32), np.zeros(0, np.float32), text, truncated=False)
    message = tool_format("functiongemma").parse(answer, (NOTE,), None, 7)
    assert message.content == "So:"
    assert [(call.name, call.arguments) for call in message.tool_calls] == [("note", '{"b": false, "o": {}}')]


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"$ref": "#/$defs/Size"}, "42"),
        ({"allOf": [{"$ref": "#/$defs/Size"}]}, "42"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "42"),
        ({"type": ["integer", "null"]}, "42"),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, '"42"'),
        ({}, '"42"'),
    ],
)
def test_types_may_be_behind_a_reference_or_several(schema: dict[str, object], value: str) -> None:
    parameters = {"type": "object", "properties": {"text": schema}, "$defs": {"Size": {"type": "integer"}}}
    written = "<start_function_call>call:note{text:<escape>42<escape>}<end_function_call>"
    _, attempts = call_frames.cut("functiongemma", written, ["note"])
    (call,) = escaped_calls.read(attempts, [ToolSchema("note", "", parameters)])
    assert call[2] == f'{{"text": {value}}}'
