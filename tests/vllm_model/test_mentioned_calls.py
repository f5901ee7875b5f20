"""Reads answers that show a call, or the definition of a tool, in prose and code: they are words, in formats without marks."""

from __future__ import annotations

import numpy as np
import pytest
from test_malformed_calls import tool_format

from ray_gym.deployments.chat.token_engine import Generation
from ray_gym.messages import ToolSchema

TOOLS = (
    ToolSchema("search", "", {"type": "object", "properties": {"query": {"type": "string"}}}),
    ToolSchema("add", "", {"type": "object", "properties": {"a": {"type": "integer"}}}),
)


def read(parser: str, text: str) -> tuple[str, list[str]]:
    answer = Generation([], np.zeros(0, np.int32), np.zeros(0, np.float32), text, truncated=False)
    message = tool_format(parser, None).parse(answer, TOOLS, None, 7)
    return message.content, [call.name for call in message.tool_calls]


@pytest.mark.parametrize(
    ("parser", "text"),
    [
        (
            "pythonic",
            "Here is code:\n\n```python\ndef f():\n    return [search(query='a')]\n\nprint(f())\n```\nIt prints x.",
        ),
        ("pythonic", "```python\nimport x\n[search(query='a')]\n```"),
        ("pythonic", "def f():\n    return [search(query='a')]"),
        ("pythonic", "matrix[add(a=1)][0]"),
        ("pythonic", "```python\n[search(query='a')]\n```\nis how you call it."),
        ("pythonic", "> [search(query='a')]"),
        ("pythonic", "for x in [search(query='a')]:"),
        (
            "llama3_json",
            'The schema: {"type": "function", "function": {"name": "search", "parameters": {"type": "object"}}}',
        ),
        ("llama3_json", "search.call() is a method."),
        ("llama3_json", 'Write `{"name": "search", "parameters": {}}`, and wait.'),
        ("xlam", 'The format `[{"name": "search", "arguments": {"query": "x"}}]` is used.'),
        ("xlam", 'The tools are: [{"name": "search", "description": "d"}, {"name": "add", "description": "e"}]'),
        ("xlam", '[{"name": "search"}, {"name": "add"}]'),
        ("xlam", '[{"name": "search", "description": "d", "parameters": {"type": "object"}}]'),
        ("xlam", '[{"name": "Ann", "parameters": {"x": 1}}]'),
    ],
)
def test_they_are_words(parser: str, text: str) -> None:
    assert read(parser, text) == (text, [])


@pytest.mark.parametrize(
    ("parser", "mark"),
    [
        *((parser, "<function=") for parser in ("qwen3_xml", "qwen3_coder", "step3p5", "mimo", "seed_oss")),
        *((parser, "<function=add>") for parser in ("qwen3_xml", "seed_oss")),
        ("mistral", "[TOOL_CALLS]"),
        ("hermes", "<tool_call>"),
    ],
)
def test_a_mark_between_backquotes_is_words(parser: str, mark: str) -> None:
    for text in (f"The mark is `{mark}` here.", f"`{mark}`", f"I write `{mark}`, and `{mark}` again."):
        assert read(parser, text) == (text, [])


@pytest.mark.parametrize(
    ("parser", "text", "words", "names"),
    [
        ("pythonic", "Hi [search(query='a')]", "Hi", ["search"]),
        ("pythonic", "Sure:\n```python\n[search(query='a')]\n```", "Sure:", ["search"]),
        ("pythonic", "```python\n[search(query='a')]\n[add(a=1)]\n```", "", ["search", "add"]),
        (
            "llama3_json",
            '{"type": "function", "function": {"name": "search", "parameters": {"query": "x"}}}',
            "",
            ["search"],
        ),
        ("llama3_json", 'search.call(\n  query="x"\n)', "", ["search"]),
        ("llama3_json", 'Sure: `{"name": "search", "parameters": {"query": "x"}}`', "Sure: ``", ["search"]),
        ("xlam", '```json\n[{"name": "search", "arguments": {"query": "x"}}]\n```', "", ["search"]),
        ("xlam", '[{"name": "nix", "arguments": {"query": "x"}}]', "", ["nix"]),
    ],
)
def test_calls_stay_calls(parser: str, text: str, words: str, names: list[str]) -> None:
    assert read(parser, text) == (words, names)


CALLED = "<tool_call>\n<function=add>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>"
KIMI = (
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.add:0<|tool_call_argument_begin|>"
    '{"a": 1}<|tool_call_end|><|tool_calls_section_end|>'
)
FUNCTIONS = ("qwen3_coder", "qwen3_xml", "mimo", "step3p5", "seed_oss")


@pytest.mark.parametrize(
    ("parser", "call", "words"),
    [
        *(
            (parser, CALLED.replace("tool_call", "seed:tool_call") if parser == "seed_oss" else CALLED, words)
            for parser in FUNCTIONS
            for words in ("The mark is `<function=` here.", "The mark is <function= here.", "<function= and more.")
        ),
        ("kimi_k2", KIMI, "The mark is `<|tool_call_begin|>` here."),
        ("kimi_k2", KIMI, "I wrote `<|tool_call_begin|>`, then a name."),
        ("mistral", '[TOOL_CALLS]add[ARGS]{"a": 1}', "`[TOOL_CALLS]` began."),
        ("mistral", '[TOOL_CALLS]add[ARGS]{"a": 1}', "So it is (`[TOOL_CALLS]`)."),
    ],
)
def test_a_mention_behind_a_call_is_words(parser: str, call: str, words: str) -> None:
    assert read(parser, f"{call}\n{words}") == (words, ["add"])


@pytest.mark.parametrize(
    "words",
    [
        'It begins with "<function=" and a name.',
        "(<function=) is the mark.",
        "Write **<function=** first, then a name.",
        "The mark is <function= here.",
        "<function= and more.",
        "`<function=add>` and <function= are marks.",
        "| mark | means |\n|---|---|\n| `<function=add>` | a call |\n| <function= | its beginning |",
    ],
)
@pytest.mark.parametrize("parser", FUNCTIONS)
def test_a_mention_without_backquotes_is_words(parser: str, words: str) -> None:
    assert read(parser, words) == (words, [])


@pytest.mark.parametrize(
    ("parser", "words"),
    [
        ("gemma4", "- <|tool_call>: begins\n- others: end"),
        ("inkling", '<|content_invoke_tool_json|>\nUse {"name": "add"} here.'),
    ],
)
def test_a_mark_that_begins_no_call_is_words(parser: str, words: str) -> None:
    assert read(parser, words) == (words, [])


def plamo(name: str, arguments: str) -> str:
    """Returns a call of PLaMo 3 without the mark of its own beginning."""
    named = f"<|plamo:begin_tool_name:plamo|>{name}<|plamo:end_tool_name:plamo|>"
    begun = f"{named}<|plamo:begin_tool_arguments:plamo|><|plamo:constrain|>json<|plamo:msg|>{arguments}"
    return f"{begun}<|plamo:end_tool_arguments:plamo|><|plamo:end_tool_request:plamo|>"


CALLS = plamo("search", '{"query": "x"}') + plamo("nope", "{}")
PLAMO = f"<|plamo:begin_tool_requests:plamo|>{CALLS}<|plamo:end_tool_requests:plamo|>"
LISTED = '[{"name": "search", "parameters": {"query": "x"}}, {"name": "add", "parameters": {"a": 1}}]'


@pytest.mark.parametrize(
    ("parser", "text", "names"),
    [
        ("pythonic", "[nope(a=1)]", ["nope"]),
        ("pythonic", "[nope(a='1'), search(query='x')]", ["nope", "search"]),
        ("llama4_pythonic", "[Search(query='x')]", ["Search"]),
        ("llama3_json", LISTED, ["search", "add"]),
        ("llama4_json", LISTED, ["search", "add"]),
        ("llama3_json", LISTED[1:-1], ["search", "add"]),
        ("llama3_json", '{"parameters": {"query": "x"}, "name": "search"}', ["search"]),
        ("xlam", '[{"arguments": {"query": "x"}, "name": "search"}]', ["search"]),
        ("xlam", '[{"id": 1, "name": "search", "arguments": {"query": "x"}}]', ["search"]),
        ("olmo3", "search(query='x')", ["search"]),
        ("plamo3", PLAMO, ["search", "nope"]),
    ],
)
def test_calls_that_only_the_parser_finds_are_read(parser: str, text: str, names: list[str]) -> None:
    assert read(parser, text) == ("", names)
