"""Reads calls of which vLLM's parser drops arguments: none of them is carried out without what the model gave."""

from __future__ import annotations

import time

import pytest
from test_malformed_calls import GO, SINGLE, Calls, read, within

from ray_gym.deployments.chat.call_frames import FRAMES
from ray_gym.deployments.chat.call_pieces import Attempt
from ray_gym.deployments.chat.lost_arguments import loses_arguments

FUNCTIONS = ("qwen3_xml", "qwen3_coder", "mimo", "step3p5", "seed_oss")
FUNCTION = "<function=go>\n<parameter=to>x</parameter>\n</function>"
SECOND = {  # of parsers that have no entry in SINGLE: what is around a call, and a call that is read
    "granite": (within("<|tool_call|>[", "]"), '{"name": "go", "arguments": {"to": "x"}}'),
    "lfm2": (within("<|tool_call_start|>[", "]<|tool_call_end|>"), 'go(to="x")'),
    "olmo3": (within("<function_calls>", "</function_calls>"), 'go(to="x")'),
    "glm47": (SINGLE["glm45"][0], SINGLE["glm45"][2]),
    **{parser: (within("<tool_call>\n", "\n</tool_call>"), FUNCTION) for parser in FUNCTIONS},
    "seed_oss": (within("<seed:tool_call>\n", "\n</seed:tool_call>"), FUNCTION),
}
NO_END = "<function=note>\n<parameter=text>\nabc\n</function>"

KIMI_END = "<|close|>argument<|sep|>"


def _kimi_k3(value: str) -> str:
    call = '<|open|>call tool="note" index="1"<|sep|><|open|>argument key="text" type="string"<|sep|>'
    return f"{call}{value}{KIMI_END}<|close|>call<|sep|>"


LOSSY = [
    *((parser, NO_END) for parser in FUNCTIONS),
    *((parser, '<function=note>{"text": "abc"}</function>') for parser in FUNCTIONS),
    ("qwen3_coder", '<function=note>\n<parameter name="text">\nabc\n</parameter>\n</function>'),
    ("qwen3_coder", "<function=note>\n<text>abc</text>\n</function>"),
    ("qwen3_coder", "<function=note>\n<parameter=text>\nabc"),
    ("qwen3_coder", "<function=note>\n<parameter=text>a</parameter>\n<parameter=text>b</parameter>\n</function>"),
    ("qwen3_xml", "<function=note>\ntext: abc\n</function>"),
    ("qwen3_xml", "<function=note>\n<parameter=text>\na </parameter> b\n</parameter>\n</function>"),
    ("seed_oss", "<function=note>\n<parameter=text>\nabc\n</parameter>\n<to>x</to>\n</function>"),
    ("mimo", "<function=note>\n<parameter text>\nabc\n</parameter>\n</function>"),
    *((parser, "note\n<arg_key>text</arg_key>\n<arg_value>abc") for parser in ("glm45", "glm47")),
    ("glm45", "note\n<arg_key>text</arg_key>\nabc"),
    ("glm45", "note\n<arg_key>text</arg_key><arg_value>a<arg_key>to</arg_key><arg_value>b</arg_value>"),
    ("glm45", "note\n<arg_key>text</arg_key><arg_value>a</arg_value><arg_key>text</arg_key><arg_value>b</arg_value>"),
    ("glm45", "note\n<arg_key>text</arg_key><arg_value>a</arg_value> b</arg_value>"),
    ("minimax_m2", '<invoke name="note">{"text": "abc"}</invoke>'),
    ("minimax_m2", '<invoke name="note">\n<parameter name="text">abc\n</invoke>'),
    ("minimax_m2", '<invoke name="note">\n<parameter=text>abc</parameter>\n</invoke>'),
    ("minimax_m2", '<invoke name="note">\n<parameter name="">abc</parameter>\n</invoke>'),
    ("functiongemma", "call:note{text:abc}"),
    ("functiongemma", "call:note{text:<escape>abc}"),
    ("functiongemma", "call:note{text:<escape>a<escape>,to:}"),
    ("gemma4", 'call:note(text="abc")'),
    ("gemma4", "call:note{text:a, b}"),
    ("gemma4", 'call:note{text:<|"|>a<|"|>,text:<|"|>b<|"|>}'),
    ("gemma4", 'call:note("abc")'),
    ("gemma4", 'call:note{text:<|"|>call:go{to:<|"|>x<|"|>}<|"|>}'),
    ("gemma4", 'call:note{text:<|"|>a <|"|>x<|"|> b<|"|>}'),
    ("gemma4", 'call:note{text:<|"|>a<|"|>b}'),
    ("gemma4", 'call:note{text:<|"|>print(<|"|><html><|"|>)<|"|>}'),
    ("gemma4", 'call:note{text:<|"|>say <|"|><b>x</b><|"|> now<|"|>,n:1}'),
    ("gemma4", 'call:note{text:<|"|>x<|"|><<|"|>y<|"|>}'),
    ("gemma4", 'call:note{text:<|"|><|"|> < <|"|><|"|>}'),
    ("gemma4", 'call:note{xs:[<|"|>x<|"|><<|"|>y<|"|>,<|"|>b<|"|>]}'),
    *(("kimi_k3", _kimi_k3(value)) for value in (f"a {KIMI_END} b", f"{KIMI_END}b", f"a{KIMI_END}{KIMI_END}b")),
    ("kimi_k2", '<|tool_call_begin|>functions.note:0{"text": "abc"}<|tool_call_end|>'),
    ("kimi_k2", '<|tool_call_begin|>functions.note:0(text="abc")<|tool_call_end|>'),
    ("granite", '{"name": "note", "parameters": {"text": "abc"}}'),
    ("granite", '{"name": "note", "text": "abc"}'),
    ("granite", '{"name": "note", "args": {"text": "abc"}}'),
    ("hermes", '{"name": "note", "arguments": {"text": "abc"}, "arguments": {}}'),
    ("hermes", '{"name": "note"}\n{"text": "abc"}'),
    ("lfm2", 'note("abc")'),
    ("lfm2", 'note(**{"text": "abc"})'),
    ("olmo3", 'note(text="a", text="b")'),
]


@pytest.mark.parametrize(("parser", "call"), LOSSY)
def test_a_call_that_lost_arguments_has_no_name(parser: str, call: str) -> None:
    around, go = SECOND[parser] if parser in SECOND else (SINGLE[parser][0], SINGLE[parser][2])
    nameless = ("", call)
    assert read(parser, f"One. {around(call)}") == ("One.", [nameless])
    if "</" in call or "<" not in call:  # it ends before the next one begins
        assert read(parser, f"{around(call)}{around(go)}") == ("", [nameless, GO])
    assert read(parser, f"{around(go)}{around(call)}") == ("", [GO, nameless])


def test_a_call_without_any_end_has_no_name() -> None:
    assert read("qwen3_coder", f"<tool_call>\n{NO_END[:-12]}") == ("", [("", NO_END[:-12])])
    for cut in ('call:note{text:<|"|>a<|"|>', 'call:note{n:1,text:<|"|>a<|"|> ', 'call:note{xs:[1,<|"|>a<|"|>'):
        assert read("gemma4", f"<|tool_call>{cut}") == ("", [("", cut.strip())])


def test_a_call_of_gemma_may_lack_its_brace() -> None:
    for arguments in ('text:<|"|>ü<|"|>', 'text:<|"|>ü<|"|>\n'):
        assert read("gemma4", f"<|tool_call>call:note{{{arguments}<tool_call|>") == ("", [("note", '{"text": "ü"}')])
    quoting = '<|tool_call>call:note{text:<|"|><|"|><tool_call|><|tool_call><|"|>}<tool_call|>'
    assert [name for name, _ in read("gemma4", quoting)[1]] == ["", ""]


@pytest.mark.parametrize(
    ("parser", "call", "arguments"),
    [
        ("qwen3_coder", "<function=note></function>", "{}"),
        ("qwen3_coder", "<function=note>\n\n  </function>", "{}"),
        ("qwen3_xml", "<function=note>\n<parameter=text></parameter>\n</function>", '{"text": ""}'),
        ("qwen3_xml", "<function=note>\n<parameter=text>\na\n</parameter>\n</parameter>\n</function>", '{"text": "a"}'),
        ("qwen3_coder", "<function=note>\n<parameter=text>\na<parameter=to>b</parameter></function>", '{"text": "a", "to": "b"}'),
        ("glm45", "note", "{}"),
        ("glm45", "note\n<arg_key>text</arg_key>\n<arg_value></arg_value>", '{"text": ""}'),
        ("glm45", "note<arg_key>text</arg_key><arg_value>a <arg_key> b</arg_value>", '{"text": "a <arg_key> b"}'),
        ("minimax_m2", '<invoke name="note">\n</invoke>', "{}"),
        ("minimax_m2", "<invoke name=note><parameter name='text'></parameter></invoke>", '{"text": ""}'),
        ("functiongemma", "call:note{}", "{}"),
        ("functiongemma", "call:note{text:<escape>a, {b}: c<escape>,}", '{"text": "a, {b}: c"}'),
        ("functiongemma", "call:note{text:5,to:[{a b:<escape>{<escape>}]}", '{"text": 5, "to": [{"a b": "{"}]}'),
        ("functiongemma", "call:note{text:<escape>a<escape>,text:<escape>b<escape>}", '{"text": "a", "text": "b"}'),
        ("gemma4", "call:note()", "{}"),
        ("gemma4", 'call:note{text:<|"|>ü<|"|><|"|>}', '{"text": "ü"}'),
        ("gemma4", 'call:note{text:<|"|>ü<|"|>', '{"text": "ü"}'),
        ("gemma4", 'call:note{text:{a:[1,2],b:<|"|>}<|"|>},to:[]}', '{"text": {"a": ["1", "2"], "b": "}"}, "to": []}'),
        ("kimi_k2", "<|tool_call_begin|>functions.note:0<|tool_call_end|>", "{}"),
        ("granite", '{"name": "note"}', "{}"),
        ("granite", '{"name": "note", "id": "1", "arguments": null}', "null"),
        ("hermes", '{"arguments": {}, "thought": "a", "name": "note"}', "{}"),
        ("lfm2", "note( )", "{}"),
        ("lfm2", 'note(from="a")', '{"from": "a"}'),
    ],
)  # fmt: skip
def test_a_call_that_lost_none_is_read(parser: str, call: str, arguments: str) -> None:
    around = SECOND[parser][0] if parser in SECOND else SINGLE[parser][0]
    assert read(parser, f"One. {around(call)}") == ("One.", [("note", arguments)])


@pytest.mark.parametrize("parser", FUNCTIONS)
@pytest.mark.parametrize(
    "call",
    [
        "note\n<parameter=text>abc</parameter>",
        "fly\n<parameter=text>abc</parameter>",
        "note\ntext: abc",
        "note",
        "fly",
    ],
)
def test_a_bare_name_behind_the_mark_begins_a_call(parser: str, call: str) -> None:
    around, go = SECOND[parser]
    assert read(parser, f"One. {around(call)} Two.") == ("One.  Two.", [("", call)])
    assert read(parser, f"{around(call)}{around(go)}") == ("", [("", call), GO])


def of_tags(tag: str, call: str, parameter: str) -> tuple[str, str, str]:
    """Returns what is before and behind the parameters of a call, and a parameter."""
    value = f'<{parameter} name="text">abc</{parameter}>'
    return f'<{tag}>\n<{call} name="note">\n', f"\n</{call}>\n</{tag}>", value


OF_GLM = "<arg_key>text</arg_key>\n<arg_value>abc</arg_value>"
TAGS = {
    "ling3": ("<tool_call>note\n", "\n</tool_call>", OF_GLM),
    "poolside_v1": ("<tool_call>note\n", "\n</tool_call>", OF_GLM),
    "hy_v3": ("<tool_calls><tool_call>note<tool_sep>\n", "\n</tool_call></tool_calls>", OF_GLM),
    "hy_v4": (
        "<tool_calls:a><tool_call:a>note",
        "</tool_call:a></tool_calls:a>",
        "<arg_key:a>text</arg_key:a><arg_value:a>abc</arg_value:a>",
    ),
    "dots": of_tags("dots_function_call", "invoke", "parameter"),
    "step3": (
        '<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="note">',
        "</steptml:invoke><｜tool_call_end｜>",
        '<steptml:parameter name="text">abc</steptml:parameter>',
    ),
    "muse_glimmer": of_tags("atem:function_calls", "atem:invoke", "atem:parameter"),
    "minicpm5": ('<function name="note">', "</function>", '<param name="text">abc</param>'),
    "deepseek_v32": of_tags("｜DSML｜function_calls", "｜DSML｜invoke", "｜DSML｜parameter"),
    "deepseek_v4": of_tags("｜DSML｜tool_calls", "｜DSML｜invoke", "｜DSML｜parameter"),
    "deepseek_v41": of_tags("｜DSML｜ calls", "｜DSML｜ invoke", "｜DSML｜ parameter"),
}
"""Texts of a call, by the tool parser: before its arguments, behind them, and an argument."""


@pytest.mark.parametrize("parser", TAGS)
def test_arguments_between_tags_are_counted(parser: str) -> None:
    before, behind, argument = TAGS[parser]

    def loses(inside: str, read: str) -> bool:
        text = before + inside + behind
        return loses_arguments(parser, Attempt(text, text), read)

    assert not loses("", "{}") and not loses(argument, '{"text": "abc"}')
    assert not loses(f"{argument}\n{argument.replace('text', 'to')}", '{"text": "abc", "to": "abc"}')
    assert not loses(argument.replace("abc", "<b>{}</b>"), '{"text": "<b>{}</b>"}')
    assert loses(argument[: argument.rindex("<")], "{}")
    assert loses("<text>abc</text>", "{}")
    assert loses(argument * 2, '{"text": "abc"}') and loses(f"{argument} <to>x</to>", '{"text": "abc"}')


def test_arguments_that_are_no_object_have_lost_none() -> None:
    assert not any(
        loses_arguments("granite", Attempt(text, text), "{}") for text in ("[1]", '"ab"', "5", "", "[[1, 2]]")
    )
    attempt = Attempt("", '{"name": "note", "text": "abc"}')
    found: Calls = [(text, str(loses_arguments("granite", attempt, text))) for text in ("", "[]", "{", "null", "{}")]
    assert found == [("", "False"), ("[]", "False"), ("{", "False"), ("null", "False"), ("{}", "True")]


@pytest.mark.parametrize(
    "part", ["<parameter=", "<parameter=a>", "<arg_key>a</arg_key><arg_value>", "[", "{a:", "f(", '<parameter name="']
)
def test_long_calls_take_little_time(part: str) -> None:
    text = part * 3000
    began = time.thread_time()
    for parser in FRAMES:
        loses_arguments(parser, Attempt(text, text), "{}")
    assert time.thread_time() - began < 5
