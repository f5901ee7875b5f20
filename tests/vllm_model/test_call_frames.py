"""Cuts answers at the frames of their calls. It needs no parser, so vLLM is not imported."""

from __future__ import annotations

import time

import pytest

from ray_gym.deployments.chat.call_frames import FRAMES, cut
from ray_gym.deployments.chat.parsers import _FAMILIES
from ray_gym.deployments.chat.quoted_tags import reveal

NAMES = ("note", "go")
WITHOUT_FRAMES = {"plain", "openai"}
"""Tool parsers that read an answer in other ways: line by line, or by its channels."""


def written(parser: str, answer: str) -> tuple[str, list[str]]:
    words, attempts = cut(parser, answer, NAMES)
    return words, [attempt.written for attempt in attempts]


def test_every_guessed_parser_has_its_frames() -> None:
    assert {family.tool for family in _FAMILIES if family.tool} - set(FRAMES) == WITHOUT_FRAMES


@pytest.mark.parametrize("parser", sorted(FRAMES))
@pytest.mark.parametrize(
    "words",
    [
        "",
        "  ",
        "Four it is.",
        'It is {"x": 1} and {1, 2}, [a](b).',
        "List<int> f(a, b)",
        '[{"name": "note"}]',
        "[1, 2]",
    ],
)
def test_words_without_calls_stay_as_they_are(parser: str, words: str) -> None:
    assert written(parser, words) == (words, [])


def test_an_unknown_parser_cuts_nothing() -> None:
    text = "<tool_call>{}</tool_call>"
    assert written("another", text) == (text, []) and cut(None, text, NAMES) == (text, [])


@pytest.mark.parametrize(
    "mention", ["Use the <tool_call> tag.", "It is `<tool_call>`, with two marks.", "<tool_call> is it"]
)
@pytest.mark.parametrize("parser", ["granite4", "qwen3_xml", "glm45"])
def test_a_mention_of_a_mark_is_no_call(parser: str, mention: str) -> None:
    assert written(parser, mention) == (mention, [])
    call = {
        "granite4": '{"name": "go"}',
        "qwen3_xml": "<function=go></function>",
        "glm45": "go<arg_key>to</arg_key><arg_value>x</arg_value>",
    }[parser]
    assert written(parser, f"<tool_call>{call}</tool_call> {mention}") == (mention, [call])
    assert written(parser, f"{mention} <tool_call>{call}</tool_call>") == (mention, [call])


@pytest.mark.parametrize(
    ("parser", "call"),
    [
        ("hermes", '<tool_call>{"name": "note", "arguments": {"text": "a <tool_call> b </tool_call>"}}</tool_call>'),
        ("qwen3_xml", "<tool_call><function=note><parameter=text><tool_call> </tool_call></parameter></function></tool_call>"),
        ("glm45", "<tool_call>note<arg_key>text</arg_key><arg_value>a <tool_call> b</arg_value></tool_call>"),
        ("minimax_m2", '<minimax:tool_call><invoke name="note"><parameter name="text"></minimax:tool_call> <invoke name='
         '</parameter></invoke></minimax:tool_call>'),
        ("kimi_k2", "<|tool_calls_section_begin|><|tool_call_begin|>functions.note:0<|tool_call_argument_begin|>"
         '{"text": "<|tool_call_end|><|tool_calls_section_end|>"}<|tool_call_end|><|tool_calls_section_end|>'),
        ("deepseek_v31", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>note<｜tool▁sep｜>"
         '{"text": "<｜tool▁call▁end｜><｜tool▁call▁begin｜>"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>'),
        ("deepseek_v3", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>note\n```json\n"
         '{"text": "<｜tool▁calls▁end｜>"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>'),
        ("mistral", '[TOOL_CALLS]note[ARGS]{"text": "[TOOL_CALLS]go{}"}'),
        ("mistral", '[TOOL_CALLS][{"name": "note", "arguments": {"text": "}, {\\"name\\": 1}]"}}]'),
        ("llama3_json", '<|python_tag|>{"name": "note", "parameters": {"text": "; {\\"name\\": \\"go\\"}"}}'),
        ("phi4_mini_json", 'functools[{"name": "note", "arguments": {"text": "a]", "n": [1, 2]}}]'),
        ("granite", '<|tool_call|>[{"name": "note", "arguments": {"text": "<|tool_call|>[{}]"}}]'),
        ("pythonic", '[note(text="a], go(to=1)]", n=[1, 2])]'),
        ("llama4_pythonic", '<|python_start|>[note(text="a, go(to=1)", n=(1, 2))]<|python_end|>'),
        ("lfm2", '<|tool_call_start|>[note(text="a, go(to=1), go(to=2)")]<|tool_call_end|>'),
        ("olmo3", '<function_calls>\nnote(text="a, go(to=1)")\n</function_calls>'),
        ("functiongemma", "<start_function_call>call:note{text:<escape><start_function_call><escape>}<end_function_call>"),
        ("gemma4", '<|tool_call>call:note{text:<|"|><|tool_call>call:go{}<|"|>}<tool_call|>'),
        ("internlm", '<|action_start|><|plugin|>{"name": "note", "parameters": {"text": "<|action_end|>"}}<|action_end|>'),
        ("granite-20b-fc", '<function_call> {"name": "note", "arguments": {"text": "<function_call> {}"}}'),
        ("gigachat3", '<|function_call|>{"name": "note", "arguments": {"text": "<|function_call|>{}"}}<|message_sep|>'),
        ("jamba", '<tool_calls>[{"name": "note", "arguments": {"text": "}]</tool_calls><tool_calls>["}}]</tool_calls>'),
        ("xlam", '```json\n[{"name": "note", "arguments": {"text": "[{\\"name\\": \\"go\\", "}}]\n```'),
        ("apertus", '<|tools_prefix|>[{"note": {"text": ", {\\"go\\": {}}]<|tools_suffix|>"}}]<|tools_suffix|>'),
        ("inkling", '<|content_invoke_tool_json|>{"name": "note", "args": {"text": "<|end_message|>"}}<|end_message|>'),
        ("hy_v4", "<tool_calls><tool_call>note<arg_key>text</arg_key><arg_value></tool_calls><tool_call>b</arg_value>"
         "</tool_call></tool_calls>"),
        ("k2_horizon", "<ifm|tool_calls><ifm|tool_call>note<ifm|arg_key>text</ifm|arg_key><ifm|arg_value>"
         "<ifm|tool_call></ifm|tool_calls></ifm|arg_value></ifm|tool_call></ifm|tool_calls>"),
        ("deepseek_v32", '<｜DSML｜function_calls><｜DSML｜invoke name="note"><｜DSML｜parameter name="text" string="true">'
         "</｜DSML｜function_calls><｜DSML｜invoke name=</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜function_calls>"),
        ("dots", '<dots_function_call><invoke name="note"><parameter name="text"></dots_function_call><invoke name='
         "</parameter></invoke></dots_function_call>"),
        ("dots", '<dots_function_call>{"name": "note", "arguments": {"text": "</dots_function_call>"}}'
         "</dots_function_call>"),
        ("minicpm5", '<function name="note"><param name="text"><function name="go"></param></function>'),
        ("muse_glimmer", '<|start|>assistant to=note.note<|message|><atem:invoke name="note"><atem:parameter name="text"><atem:invoke'
         "<|eom|></atem:parameter></atem:invoke><|eom|>"),
    ],
)  # fmt: skip
def test_marks_within_the_arguments_are_text(parser: str, call: str) -> None:
    first = "" if parser == "pythonic" else "First "  # its list begins the answer
    words, (attempt,) = cut(parser, f"{first}{call}\nThen", NAMES)
    alone = reveal(attempt.alone).replace("\\u003c", "<").replace("\\u005b", "[")  # marks that the parser would find
    assert words == f"{first}\nThen".strip() and attempt.written in call and attempt.written.strip("[]") in alone


@pytest.mark.parametrize("parser", ["granite4", "qwen3_coder"])
def test_a_name_behind_a_mark_begins_a_call(parser: str) -> None:
    for call in ("note", "note\nabc", "fly<parameter=text>abc</parameter>", "fly"):
        assert written(parser, f"So: <tool_call>\n{call}\n</tool_call> Done.") == ("So:  Done.", [call])
    for words in (
        "The <tool_call> note that I wrote",
        "Write <tool_call>...</tool_call> around it.",
        "<tool_call> fly\nhere",
    ):
        assert written(parser, words) == (words, [])


def test_a_call_ends_where_the_next_begins() -> None:
    one, two = '{"name": "note", "arguments": {"text": "a}}', '{"name": "go", "arguments": {}}'
    assert written("hermes", f"<tool_call>{one}<tool_call>{two}") == ("", [one, two])
    assert written("llama3_json", f'{{"name": "go", "parameters": {{}} {two}') == (
        "",
        ['{"name": "go", "parameters": {}', two],
    )
    assert written("mistral", "[TOOL_CALLS]note[TOOL_CALLS]go{} so") == ("so", ["note", "go{}"])
    for parser, begin in (("granite", "<|tool_call|>["), ("phi4_mini_json", "functools["), ("xlam", "[")):
        bad = '{"name": "note", "arguments": }'
        assert written(parser, f"{begin}{bad}] and {begin}{two}] so") == ("and  so", [bad, two])


@pytest.mark.parametrize(
    ("parser", "bad", "good"),
    [
        ("jamba", '{"name": "note", "arguments": {"text": "a}', '{"name": "go", "arguments": {}}'),
        ("hunyuan_a13b", '{"name": "note", "arguments": {"text": "a}', '{"name": "go", "arguments": {}}'),
        ("xlam", '{"name": "note", "arguments": {"text": "a}', '{"name": "go", "arguments": {}}'),
        ("apertus", '{"note": {"text": "a}', '{"go": {}}'),
    ],
)
def test_a_malformed_call_in_a_list_ends_where_the_next_begins(parser: str, bad: str, good: str) -> None:
    begin, end = {"xlam": ("<tool_call>[", "]</tool_call>"), "apertus": ("<|tools_prefix|>[", "]<|tools_suffix|>")}.get(
        parser, ("<tool_calls>[", "]</tool_calls>")
    )
    assert written(parser, f"So {begin}{bad}, {good}{end} it is") == ("So  it is", [bad, good])
    assert written(parser, f"{begin}{good}, {bad}{end}") == ("", [good, bad])


def test_words_of_other_tags_stay() -> None:
    for text in ("<function> of time", "<functions name=", "<tool_calls> are", "[TOOL_CALLS] is", "function call it"):
        for parser in ("minicpm5", "hy_v4", "jamba", "xlam", "gigachat3"):
            assert written(parser, text) == (text, [])


@pytest.mark.parametrize(
    ("inside", "calls"),
    [
        ("note(text=, go(to=1)", ["note(text=", "go(to=1)"]),
        ('note(text="a, go(to=1)"), go(to=)', ['note(text="a, go(to=1)")', "go(to=)"]),
        ('note(text="), go(to=1)', ['note(text=")', "go(to=1)"]),
        ("go(to=f(1), by=g(2)), note()", ["go(to=f(1), by=g(2))", "note()"]),
        ("fly(to=1), go(to=)", ["fly(to=1)", "go(to=)"]),
        ("", [""]),
    ],
)
def test_python_calls_are_parted(inside: str, calls: list[str]) -> None:
    assert written("lfm2", f"<|tool_call_start|>[{inside}]<|tool_call_end|>")[1] == (calls if inside else ["[]"])
    lines, in_lines = inside.replace("), ", ")\n"), [call.replace("), ", ")\n") for call in calls]
    assert written("olmo3", f"<function_calls>\n{lines}\n</function_calls>")[1] == in_lines
    if inside:
        assert written("pythonic", f"[{inside}]") == (
            ("", calls) if not inside.startswith("fly") else (f"[{inside}]", [])
        )


def test_repeated_calls_of_lfm2_are_no_words() -> None:
    call = "<|tool_call_start|>[go(to=1)]<|tool_call_end|>"
    assert written("lfm2", f"{call}[go(to=1)]<|tool_call_end|>Done.") == ("Done.", ["go(to=1)"])
    assert written("lfm2", f"{call} and {call} so") == ("and  so", ["go(to=1)", "go(to=1)"])


def test_long_answers_take_little_time() -> None:
    parts = [
        "<tool_call>",
        "<function=",
        "<parameter=",
        "[TOOL_CALLS][",
        '{"name": "go", ',
        "[go(",
        "]",
        ", go(",
        '"',
        "<|",
        " ",
        '[{"name": "go", "arguments": {',
        "<tool_calls>",
        "<|message_model|>",
        " to=",
        "<param",
    ]
    began = time.thread_time()
    for parser in FRAMES:
        for part in parts:
            cut(parser, part * 300, NAMES)
    assert time.thread_time() - began < 5
