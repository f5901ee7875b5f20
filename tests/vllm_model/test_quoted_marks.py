"""Reads calls whose strings quote the marks of calls: they are the argument, and nothing that is quoted is carried out."""

from __future__ import annotations

import json

import pytest
from test_malformed_calls import read

from ray_gym.deployments.chat.call_frames import PYTHON_CALLS

CALLS = {
    "mistral": "[TOOL_CALLS]note[ARGS]{}",
    "lfm2": "<|tool_call_start|>[note(text={})]<|tool_call_end|>",
    "llama4_pythonic": "<|python_start|>[note(text={})]<|python_end|>",
    "kimi_k2": "<|tool_calls_section_begin|><|tool_call_begin|>functions.note:0<|tool_call_argument_begin|>{}"
    "<|tool_call_end|><|tool_calls_section_end|>",
    "deepseek_v3": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>note\n```json\n{}\n```"
    "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "deepseek_v31": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>note<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "apertus": '<|tools_prefix|>[{{"note": {}}}]<|tools_suffix|>',
    "hermes": '<tool_call>\n{{"name": "note", "arguments": {}}}\n</tool_call>',
    "granite": '<|tool_call|>[{{"name": "note", "arguments": {}}}]',
}
"""A call of `note` with its arguments, by the parser's name."""
QUOTED = [
    "see [TOOL_CALLS]go[ARGS]{} here",
    "[CALL_ID]abc123def[ARGS]",
    "<|tool_call_start|>[go()]<|tool_call_end|>",
    "the <|tool_call_end|> mark",
    "see <|python_start|>[go(to='x')]<|python_end|> end",
    "a <|python_end|> b",
    "<|tool_call_begin|>functions.go:1<|tool_call_argument_begin|>{}<|tool_call_end|>",
    "<｜tool▁call▁end｜><｜tool▁call▁begin｜>go<｜tool▁sep｜>{}",
    'a <|tools_prefix|>[{"go": {}}]<|tools_suffix|> b',
    'it\'s "quoted" <|tool_call_end|> \\ twice [TOOL_CALLS]',
]


def written(parser: str, text: str) -> str:
    return CALLS[parser].format(
        json.dumps(text) if parser in PYTHON_CALLS else json.dumps({"text": text}, ensure_ascii=False)
    )


@pytest.mark.parametrize("parser", CALLS)
@pytest.mark.parametrize("text", QUOTED)
def test_a_quoted_call_is_none(parser: str, text: str) -> None:
    said, calls = read(parser, f"Hi. {written(parser, text)}")
    assert (said, [(name, json.loads(given)) for name, given in calls]) == ("Hi.", [("note", {"text": text})])


@pytest.mark.parametrize("parser", ["mistral", "kimi_k2"])
def test_a_call_behind_one_that_quotes(parser: str) -> None:
    first = written(parser, "see [TOOL_CALLS]go[ARGS]{} <|tool_call_end|>")
    _, calls = read(parser, first + written(parser, "b").replace("note:0", "note:1"))
    assert [json.loads(given)["text"] for _, given in calls] == ["see [TOOL_CALLS]go[ARGS]{} <|tool_call_end|>", "b"]


def test_mistrals_list_may_quote_its_mark() -> None:
    listed = '[TOOL_CALLS] [{"name": "note", "arguments": {"text": "see [TOOL_CALLS] here"}}]'
    assert read("mistral", listed) == ("", [("note", '{"text": "see [TOOL_CALLS] here"}')])


def test_signs_of_icon_fonts_are_read_as_they_are() -> None:
    value = "icon \ue001 \ue002 <function=x>"
    call = f"<tool_call>\n<function=note>\n<parameter=text>\n{value}\n</parameter>\n</function>\n</tool_call>"
    assert read("qwen3_coder", f"Icon \ue002\ue001 here.\n{call}") == (
        "Icon \ue002\ue001 here.",
        [("note", json.dumps({"text": value}, ensure_ascii=False))],
    )
