"""Reads generated well-formed calls in every format of which the frames are known: each keeps its name and arguments."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_malformed_calls import read

from ray_gym.deployments.chat.call_frames import FRAMES

Arguments = dict[str, Any]
Writer = Callable[[Arguments], str]

PIECES = [
    *("a", "ü", "你好", "😀", " ", "\n", "\t", '"', "'", "<", ">", "{", "}", "[", "]", "(", ")", ",", ":", "=", "\\"),
    *(
        "\\n",
        "5",
        "-1.5",
        "true",
        "null",
        "&lt;",
        "<b>x</b>",
        "<text>",
        "`",
        "# c",
        ";",
        "call:x",
        "%s",
        "--",
        "\u2028",
    ),
]
texts = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)
scalars = texts | st.integers() | st.booleans() | st.none() | st.floats(allow_nan=False, allow_infinity=False)
keys = st.sampled_from(["a", "b_c", "x1"])
nested = st.recursive(scalars, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(keys, inner, max_size=2))
arguments = st.dictionaries(st.sampled_from(["text", "to", "n", "is_ok", "from_"]), nested, max_size=4)
spaces = st.sampled_from(["", "\n", " ", "\n\n  "])


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else as_json(value)


def functions(tag: str) -> Writer:
    def write(given: Arguments) -> str:
        inside = "".join(f"<parameter={key}>\n{as_text(value)}\n</parameter> " for key, value in given.items())
        return f"<{tag}> <function=note> {inside}</function> </{tag}>"

    return write


def of_glm(given: Arguments) -> str:
    pairs = (f"<arg_key>{key}</arg_key> <arg_value>{as_text(value)}</arg_value> " for key, value in given.items())
    return f"<tool_call>note {''.join(pairs)}</tool_call>"


def of_minimax(given: Arguments) -> str:
    inside = "".join(f'<parameter name="{key}">{as_text(value)}</parameter> ' for key, value in given.items())
    return f'<minimax:tool_call> <invoke name="note"> {inside}</invoke> </minimax:tool_call>'


def of_json(before: str, after: str, key: str = "arguments") -> Writer:
    return lambda given: before + as_json({"name": "note", key: given}) + after


def of_python(before: str, after: str) -> Writer:
    return lambda given: f"{before}note({', '.join(f'{key}={value!r}' for key, value in given.items())}){after}"


def braced(before: str, after: str, mark: str) -> Writer:
    def write(value: Any) -> str:
        if isinstance(value, dict):
            return "{" + ",".join(f"{key}:{write(inner)}" for key, inner in value.items()) + "}"
        if isinstance(value, list):
            return "[" + ",".join(map(write, value)) + "]"
        return f"{mark}{value}{mark}" if isinstance(value, str) else as_json(value)

    return lambda given: f"{before}call:note{write(given)}{after}"


WRITERS: dict[str, Writer] = {
    **dict.fromkeys(("qwen3_xml", "qwen3_coder", "mimo", "step3p5"), functions("tool_call")),
    "seed_oss": functions("seed:tool_call"),
    **dict.fromkeys(("glm45", "glm47"), of_glm),
    "minimax_m2": of_minimax,
    **dict.fromkeys(("hermes", "qwen3_json", "granite4"), of_json("<tool_call> ", "\n</tool_call>")),
    "longcat": of_json("<longcat_tool_call>", "</longcat_tool_call>"),
    "granite": of_json("<|tool_call|>[", "]"),
    "phi4_mini_json": of_json("functools[", "]"),
    **dict.fromkeys(("llama3_json", "llama4_json"), of_json("", "", "parameters")),
    "mistral": lambda given: f"[TOOL_CALLS]note{as_json(given)}",
    "kimi_k2": lambda given: (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.note:0"
        f"<|tool_call_argument_begin|>{as_json(given)}<|tool_call_end|><|tool_calls_section_end|>"
    ),
    "deepseek_v31": lambda given: (
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>note<｜tool▁sep｜>"
        f"{as_json(given)}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
    ),
    "deepseek_v3": lambda given: (
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>note\n```json\n"
        f"{as_json(given)}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
    ),
    "pythonic": of_python("[", "]"),
    "llama4_pythonic": of_python("<|python_start|>[", "]<|python_end|>"),
    "olmo3": of_python("<function_calls>\n", "\n</function_calls>"),
    "lfm2": of_python("<|tool_call_start|>[", "]<|tool_call_end|>"),
    "functiongemma": braced("<start_function_call>", "<end_function_call>", "<escape>"),
    "gemma4": braced("<|tool_call>", "<tool_call|>", '<|"|>'),
}


@pytest.mark.parametrize("parser", sorted(FRAMES.keys() & WRITERS.keys()))
@settings(max_examples=60, deadline=None)
@given(given=arguments)
def test_a_valid_call_keeps_its_name_and_its_arguments(parser: str, given: Arguments) -> None:
    words, calls = read(parser, WRITERS[parser](given))
    assert words == "" and [(name, set(json.loads(arguments))) for name, arguments in calls] == [("note", set(given))]


@pytest.mark.parametrize("parser", sorted(FRAMES.keys() & WRITERS.keys()))
@settings(max_examples=10, deadline=None)
@given(space=spaces)
def test_a_call_without_arguments_keeps_its_name(parser: str, space: str) -> None:
    text = WRITERS[parser]({})
    if parser.startswith("deepseek"):  # its parser in vLLM reads no lines
        space = space.replace("\n", " ")
    for empty in ("{}", "()") if parser not in ("pythonic", "llama4_pythonic", "olmo3") else ():
        text = text.replace(empty, f"{empty[0]}{space}{empty[1]}")
    _, ((name, arguments),) = read(parser, text)
    assert name == "note" and json.loads(arguments) == {}
