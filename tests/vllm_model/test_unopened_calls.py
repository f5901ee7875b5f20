"""Reads calls that lack the mark of their beginning, with vLLM's own parser of each format."""

from __future__ import annotations

import json
from time import process_time

import pytest
from processor import slowness
from test_malformed_calls import GO, NOTE, Calls, read
from test_stray_marks import BEGINS, call_of

from ray_gym.deployments.chat.call_frames import FRAMES, cut

JSON = '{"name": "note", "arguments": {"text": "ü"}}'
GLM = "note\n<arg_key>text</arg_key>\n<arg_value>ü</arg_value>\n</tool_call>"
MINIMAX = "]<]minimax[>["
HUNYUAN = "<tool_call>note<tool_sep><arg_key>text</arg_key><arg_value>ü</arg_value></tool_call>"
KIMI = '<|tool_call_begin|>functions.note:0<|tool_call_argument_begin|>{"text": "ü"}<|tool_call_end|>'


@pytest.mark.parametrize("parser", BEGINS)
def test_a_call_without_its_first_mark_is_read(parser: str) -> None:
    begin = FRAMES[parser][0].read.begin  # type: ignore[attr-defined]
    unopened = call_of(parser).replace(begin, "", 1).lstrip()
    assert read(parser, unopened) == ("", [NOTE])
    assert read(parser, f"I will.\n{unopened}") == ("I will.", [NOTE])
    assert read(parser, f"{unopened}\n{call_of(parser)}") == ("", [NOTE, NOTE])


def test_a_call_of_hunyuan_without_the_tag_around_it_is_read() -> None:
    call = "<tool_call>note<arg_key>text</arg_key><arg_value>ü</arg_value></tool_call>"
    assert read("hy_v4", f"Hi. {call}</tool_calls>") == ("Hi.", [NOTE])


@pytest.mark.parametrize(
    ("parser", "answer", "words", "calls"),
    [
        ("hermes", f"Hi. {JSON}\n</tool_call> Bye.", "Hi.  Bye.", [NOTE]),
        ("hermes", f"[{JSON}]\n</tool_call>", "", [NOTE]),
        ("hermes", f"{JSON}</tool_call>{JSON}</tool_call>", "", [NOTE, NOTE]),
        ("hermes", 'note(text="ü")\n</tool_call>', "", [("", 'note(text="ü")')]),
        ("glm45", f"Hi.\n{GLM}", "Hi.", [NOTE]),
        ("glm45", "note\n</tool_call>", "", [("note", "{}")]),
        ("glm45", GLM.replace("note", "nope"), "", [("nope", '{"text": "ü"}')]),
        ("kimi_k2", f"Hi. {KIMI} Bye.", "Hi.  Bye.", [NOTE]),
        ("olmo3", 'note(text="ü")\ngo(to="x")\n</function_calls>', "", [NOTE, GO]),
        ("dots", f"{JSON}</dots_function_call>", "", [NOTE]),
        ("hermes", f"{JSON}\n</tool_call>\n\n...", "...", [NOTE]),
        ("glm45", GLM.replace("ü", "a </think> b"), "", [("note", '{"text": "a </think> b"}')]),
    ],
)
def test_an_unopened_call_is_known_by_its_end(parser: str, answer: str, words: str, calls: Calls) -> None:
    assert read(parser, answer) == (words, calls)


NAMED = '"name": "note", "arguments": {"text": "ü"}}'


@pytest.mark.parametrize(
    ("parser", "call", "read_as"),
    [
        *(
            ("hermes", f'{{"{key}": {value}, {NAMED}', NOTE)
            for key, value in (("id", '"c"'), ("index", 0), ("thought", '"a"'))
        ),
        ("jamba", f'{{"id": "c", {NAMED}', NOTE),
        ("longcat", f'{{"index": 0, {NAMED}', NOTE),
        ("hermes", f'{{"id": "c", "type": "function", "function": {{{NAMED}}}', NOTE),
        ("apertus", '{"note": {"text": "ü"}}', NOTE),
        ("apertus", '[{"note": {"text": "ü"}}]', NOTE),
        ("hermes", f'{{"tool_calls": [{JSON}]}}', None),
        ("jamba", f'{{"tool_calls": [{JSON}]}}', None),
        ("hermes", f'{{"thought": "a", "call": {JSON}}}', None),
        ("hermes", '{"text": "ü"}', None),
        ("gemma4", '{"tool": "note", "arguments": {"text": "ü"}}', None),
    ],
)
def test_an_unopened_call_may_begin_with_any_key(parser: str, call: str, read_as: tuple[str, str] | None) -> None:
    end = FRAMES[parser][0].read.end  # type: ignore[attr-defined]
    for words in ("", "Rows:\n[1, 2]", 'Rows:\n{"a": 1}\n{"a": {"b": 2}, "c": 3}'):
        assert read(parser, f"{words}\n\n{call}\n{end}") == (words, [read_as or ("", call)])
    assert read(parser, f"The form is:\n{call}\n{end}, as you see.")[1] == []


def test_calls_of_apertus_without_the_marks_around_them_are_read() -> None:
    calls = '{"note": {"text": "ü"}}, {"go": {"to": "x"}}<|tools_suffix|>'
    assert read("apertus", calls) == ("", [NOTE, GO])


def test_an_unopened_call_that_quotes_marks_is_whole() -> None:
    quoting = '{"name": "note", "arguments": {"text": "</tool_call> <tool_call>"}}'
    assert read("hermes", f"{quoting}\n</tool_call>") == ("", [("note", '{"text": "</tool_call> <tool_call>"}')])


def test_a_malformed_call_without_its_first_mark_is_one_call() -> None:
    malformed = '{\n  "name": "note",\n  "arguments": [\n    {"a": 1},\n    {"b": }\n  ]\n}'
    assert read("hermes", f"{malformed}\n</tool_call>") == ("", [("", malformed)])


@pytest.mark.parametrize(
    ("parser", "answer"),
    [
        ("hermes", JSON),
        ("hermes", f"For example:\n{JSON}\nIt ends with `</tool_call>`."),
        ("hermes", f"For example:\n{JSON}\nIt ends with </tool_call> then."),
        ("hermes", '```json\n{"a": 1}\n```\nThat is all.'),
        ("glm45", "The mark <arg_key> begins a key."),
        ("kimi_k2", "The mark <|tool_call_begin|> begins a call, and <|tool_call_end|> ends it."),
        ("minimax_m3", f'I use {MINIMAX}<invoke name="note"> to call.'),
        ("hy_v3", "Use the <tool_call> tag to call a tool. More words here."),
        ("hy_v4", "It begins with <tool_call>."),
        ("hermes", f"Example: `{JSON}\n</tool_call>` is the form."),
        ("hermes", f"The form is {JSON}</tool_call>, you see."),
        ("kimi_k2", f"Write ``{KIMI}`` to go."),
        ("hermes", "go (to town) The mark is </tool_call> here."),
    ],
)
def test_words_that_only_look_like_an_unopened_call_stay(parser: str, answer: str) -> None:
    assert read(parser, answer) == (answer, [])


@pytest.mark.parametrize(
    "words",
    [
        '{"id": 12, "ok": true}',
        '{"a": 1}\n{"a": 2}',
        "note(text) is it.",
        "go (to town) first.\nThen:",
        '```js\n{"a": f(1)}\n```',
        '{"a": 1, "b": ...}',
        "go(",
        '[{"a": 1}, {"a": 2}]',
        '{"a": {"name": "note", "arguments": {}}, "b": 1}',
    ],
)
def test_a_line_that_looks_like_a_call_takes_nothing_behind_it(words: str) -> None:
    assert read("hermes", f"{words}\n{JSON}\n</tool_call>") == (words, [NOTE])


@pytest.mark.parametrize(
    "line", ['{"a": 1,}', 'note(text="ü")', "note (text) is it.", '{"name": "note", "arguments": {']
)
def test_a_line_of_a_thought_that_looks_like_a_call_takes_no_end_of_the_thought(line: str) -> None:
    thought = f"<think>\nData:\n{line}\nOk.\n</think>\n\n"
    words, calls = read("hermes", f"{thought}Hello </tool_call>", "qwen3")
    assert (words.strip(), calls) == ("Hello </tool_call>", [])
    assert read("hermes", f"{thought}{JSON}\n</tool_call>", "qwen3") == ("", [NOTE])


@pytest.mark.parametrize(
    ("parsers", "call"),
    [
        (("kimi_k2", "kimi_k2"), f"{KIMI}<|tool_calls_section_end|>"),
        (("hy_v3", "hy_v3"), f"<tool_calls>\n{HUNYUAN}\n</tool_calls>"),
        (("hy_v3", "hy_v3"), f"{HUNYUAN}\n</tool_calls>"),
        (("qwen3_xml", "qwen3"), "<function=note>\n<parameter=text>\nü\n</parameter>\n</function>\n</tool_call>"),
        (
            ("minimax_m2", "minimax_m2"),
            '<invoke name="note"><parameter name="text">ü</parameter></invoke></minimax:tool_call>',
        ),
    ],
)
def test_marks_of_thoughts_in_a_call_with_its_end_are_text(parsers: tuple[str, str], call: str) -> None:
    for quoted in ("<think>x</think>", "a </think> b"):
        words, calls = read(parsers[0], f"<think>\nA.\n</think>\n\n{call.replace('ü', quoted)}", parsers[1])
        assert (words, calls) == ("", [("note", json.dumps({"text": quoted}))])


def test_the_first_of_several_calls_lacks_its_own_mark() -> None:
    first = "functions.go:0<|tool_call_argument_begin|>{}<|tool_call_end|>"
    answer = f"<|tool_calls_section_begin|>{first}{KIMI}<|tool_calls_section_end|>"
    assert read("kimi_k2", answer) == ("", [("", first), NOTE])


@pytest.mark.parametrize(
    "line",
    ['<tool_call>{"name": "note", ', "<tool_call>note\n", "note(\n", '{"name": "note",\n', '{"name": "a"}\n', "[1]\n"],
)
def test_beginnings_that_are_repeated_take_linear_time(line: str) -> None:
    began = process_time()
    cut("hermes", line * 3000, ("note", "go"))
    cut("hermes", f"{line * 3000}</tool_call>", ("note", "go"))
    assert process_time() - began < 4 * slowness()


@pytest.mark.clock
@pytest.mark.parametrize(
    ("line", "end"),
    [
        ('{"name": "note",\n', "</tool_call>"),
        ('{"name": "note"},\n', "</tool_call>"),
        ('note(text="a")\n', ", so </tool_call>."),
        ('[{"name": "note", "arguments": {}}]\n', ", so </tool_call>."),
        ('{"name": "note",\n', "</think>}</tool_call>"),
        ('{"a": 1,}\n', "}</tool_call>, ok."),
    ],
)
def test_beginnings_before_one_mark_of_an_end_take_linear_time(line: str, end: str) -> None:
    began = process_time()
    cut("hermes", line * (100_000 // len(line)) + end, ("note", "go"))
    assert process_time() - began < 2 * slowness()


@pytest.mark.parametrize("line", ["note(text) is it.\n", '{"a": 1,}\n', "go (to town)\n"])
def test_a_call_behind_many_lines_that_look_like_one_is_read(line: str) -> None:
    assert read("hermes", f"{line * 50}\n{JSON}\n</tool_call>") == ((line * 50).strip(), [NOTE])
    malformed = '{"name": "note", "arguments": {"text": }}'
    assert read("hermes", f"{line * 50}\n{malformed}\n</tool_call>") == ((line * 50).strip(), [("", malformed)])


def test_an_answer_of_json_is_words_where_words_have_the_same_end() -> None:
    answer = '<|message_model|><|content_text|>\n{"name": "note"}<|end_message|>'
    assert read("inkling", answer) == ('\n{"name": "note"}', [])
