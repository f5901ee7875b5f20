"""Reads calls that vLLM's parsers read otherwise than they are meant, or not at all, with vLLM's own parser of each format."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest
from call_texts import CALL_TEXTS
from test_malformed_calls import GO, NOTE, SEVERAL, TOOLS, Calls, read, tool_format

from ray_gym.deployments.chat.call_frames import cut
from ray_gym.deployments.chat.token_engine import Generation
from ray_gym.messages import ToolSchema

JSON_NOTE, JSON_GO = '{"name": "note", "arguments": {"text": "ü"}}', '{"name": "go", "arguments": {"to": "x"}}'
LISTS = {"mistral": "[TOOL_CALLS] [", "granite": "<|tool_call|>[", "phi4_mini_json": "functools["}
"""Beginning of a JSON list of calls, by parser."""


@pytest.mark.parametrize("parser", LISTS)
def test_a_list_may_lack_the_bracket_at_its_end(parser: str) -> None:
    begin = LISTS[parser]
    assert read(parser, f"{begin}{JSON_NOTE}") == ("", [NOTE])
    assert read(parser, f"Hi. {begin}{JSON_NOTE}\n") == ("Hi.", [NOTE])
    assert read(parser, f"{begin}{JSON_NOTE}, {JSON_GO}") == ("", [NOTE, GO])
    assert read(parser, f"{begin}{JSON_NOTE}, {JSON_GO}\n\nBoth are under way [1].") == (
        "Both are under way [1].",
        [NOTE, GO],
    )
    mention = f"{begin}{{}}]"
    assert read(parser, f"{begin}{JSON_NOTE.replace('ü', mention)}, {JSON_GO}") == ("", [note(mention), GO])
    words, calls = read(parser, f'{begin}{{"name": "go", "arguments": {{"to": }}}}, {JSON_NOTE}')
    assert words == "" and len(calls) == 2 and calls[1] == NOTE


def note(text: str) -> tuple[str, str]:
    return "note", json.dumps({"text": text}, ensure_ascii=False)


PYTHON = {
    "olmo3": ("<function_calls>", "</function_calls>"),
    "lfm2": ("<|tool_call_start|>[", "]<|tool_call_end|>"),
    "pythonic": ("[", "]"),
    "llama4_pythonic": ("<|python_start|>[", "]<|python_end|>"),
}
"""Marks around calls that are written as Python, by parser."""
CODE = "def f():\n    g(1)\n\n" + "".join(f"f({index})\nprint([{index}], 'a, b')\n" for index in range(30))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ('note(text="""a\nb""")', "a\nb"),
        ('note(text="a\nb")', "a\nb"),
        ("note(text='''Dear \"X\",\n\n  I'm in.\n''')", 'Dear "X",\n\n  I\'m in.\n'),
        ('note(text="a\\nb\n\\"c\\"\r\n")', 'a\nb\n"c"\r\n'),
        ('note(text="""a\\\nb""")', "ab"),
        ('note(text="a\u2028b")', "a\u2028b"),
        ('note(\n    text="ü",\n)', "ü"),
        (f'note(text="""{CODE}""")', CODE),
        ('note(text="""go(to=1)\ngo(to=2)""")', "go(to=1)\ngo(to=2)"),
    ],
)
@pytest.mark.parametrize("parser", PYTHON)
def test_line_breaks_in_an_argument_of_python_stay(parser: str, call: str, text: str) -> None:
    begin, end = PYTHON[parser]
    assert read(parser, f"{begin}{call}{end}") == ("", [note(text)])
    assert read(parser, f"{begin}go(to='x'), {call}{end}") == ("", [GO, note(text)])
    bad, between = "go(to=)", "\n" if parser == "olmo3" else ", "
    assert read(parser, f"{begin}{call}{between}{bad}{end}") == ("", [note(text), ("", bad)])
    assert read(parser, f"{begin}{bad}{between}{call}{end}") == ("", [("", bad), note(text)])


@pytest.mark.parametrize(
    "call",
    [
        'note("abc")',
        'note(**{"text": "x"})',
        'note(text="a", text="b")',
        'note("a", text="b")',
        'note(*["a"], text="b")',
        'note(["a",\n"b"])',
        'note({"text": "a"})',
        'note(text={"a": 1, "a": 2})',
        'note("abc", day=07)',
        "note(f'abc', from='x')",
    ],
)
@pytest.mark.parametrize("parser", PYTHON)
def test_a_python_call_that_would_lose_an_argument_is_answered_with_an_error(parser: str, call: str) -> None:
    begin, end = PYTHON[parser]
    assert read(parser, f"{begin}{call}{end}") == ("", [("", call)])
    assert read(parser, f"{begin}{call}, go(to='x'){end}\nDone.") == ("Done.", [("", call), GO])


@pytest.mark.parametrize("parser", PYTHON)
def test_ordinary_arguments_of_python_are_read(parser: str) -> None:
    begin, end = PYTHON[parser]
    call = "note(text=\"it's\", n=-1, xs=[1, {'a': None, 'b': True}], d={})"
    arguments = '{"text": "it\'s", "n": -1, "xs": [1, {"a": null, "b": true}], "d": {}}'
    assert read(parser, f"{begin}{call}{end}") == ("", [("note", arguments)])
    assert read(parser, f"{begin}note(){end}") == ("", [("note", "{}")])


def test_repairs_of_a_parser_stay() -> None:
    begin, end = PYTHON["lfm2"]
    call = "note(text='a', day=07)"
    assert read("lfm2", f"{begin}{call}{end}") == ("", [("note", '{"text": "a", "day": 7}')])
    assert read("lfm2", f"{begin}note(text='sed '1,9p' f'){end}") == ("", [note("sed '1,9p' f")])


@pytest.mark.clock
def test_much_text_in_calls_of_python_takes_little_time() -> None:
    began = time.thread_time()
    for part in ('note(text="a", ', 'go(to="\n', "go(to='''\\a", "go(]", "\n", 'note(text="a")\n', ", go(to="):
        for parser in ("olmo3", "lfm2", "pythonic"):
            cut(parser, f"{PYTHON[parser][0]}go({part * 700}", ("note", "go"))
            cut(parser, f"{PYTHON[parser][0]}go({part}" * 700, ("note", "go"))
            cut(parser, f"So [go({part}" * 700, ("note", "go"))
    assert time.thread_time() - began < 20


@pytest.mark.parametrize(
    "call",
    [
        '{"name": "note", "parameters": {"text": "x"}}',
        '{"name": "note", "args": {"text": "x"}}',
        '{"name": "note", "text": "x"}',
        '{"name": "note", "arguments": {}, "parameters": {"text": "x"}}',
        '{"type": "function", "name": "note", "input": {"text": "x"}}',
    ],
)
@pytest.mark.parametrize("parser", LISTS)
def test_json_with_its_arguments_under_another_key_is_answered_with_an_error(parser: str, call: str) -> None:
    reads_it = parser == "phi4_mini_json" and list(json.loads(call)) == ["name", "parameters"]
    as_read = note("x") if reads_it else ("", call)
    assert read(parser, f"{LISTS[parser]}{call}]") == ("", [as_read])
    assert read(parser, f"{LISTS[parser]}{call}, {JSON_GO}]") == ("", [as_read, GO])
    if not reads_it:  # also parsers of older tokenizers read no such call
        assert cut(parser, f"{LISTS[parser]}{call}]", ["note", "go"])[1][0].alone == ""


@pytest.mark.parametrize("parser", ["granite", "phi4_mini_json"])
def test_further_keys_of_json_are_let_pass(parser: str) -> None:
    call = '{"type": "function", "id": "abc123def", "name": "note", "arguments": {"text": "ü"}, "why": "so"}'
    assert read(parser, f"{LISTS[parser]}{call}, {JSON_GO}]") == ("", [NOTE, GO])


CALL_ID, ANOTHER_ID = "[CALL_ID]abc123def", "[CALL_ID]abc123deg"
MISTRAL_CALLS = f'[TOOL_CALLS]note{CALL_ID}[ARGS]{{"text": "ü"}}[TOOL_CALLS]go{ANOTHER_ID}[ARGS]{{"to": "x"}}'
BAD_NOTE = ("note", '{"text": }')
"""Call whose arguments are no JSON, of which the model is told when they are read."""


def read_ids(text: str) -> list[str]:
    answer = Generation([], np.zeros(0, np.int32), np.zeros(0, np.float32), text, truncated=False)
    return [call.id for call in tool_format("mistral").parse(answer, TOOLS, None, 7).tool_calls]


def test_ids_that_a_mistral_model_wrote_are_those_of_its_calls() -> None:
    assert read("mistral", MISTRAL_CALLS) == ("", [NOTE, GO])
    assert read_ids(MISTRAL_CALLS) == ["abc123def", "abc123deg"]
    one = f'Hi. [TOOL_CALLS]note {CALL_ID} {{"text": "ü"}}'
    assert read("mistral", one) == ("Hi.", [NOTE]) and read_ids(one) == ["abc123def"]
    bad = MISTRAL_CALLS.replace('"ü"', "")
    assert read("mistral", bad) == ("", [BAD_NOTE, GO])
    assert read_ids(bad) == ["abc123def", "abc123deg"]
    mixed = MISTRAL_CALLS.replace(CALL_ID, "")
    assert read("mistral", mixed) == ("", [NOTE, GO]) and read_ids(mixed)[1] == "abc123deg"


def test_other_ids_are_made_as_if_there_were_none() -> None:
    without = read_ids(MISTRAL_CALLS.replace(CALL_ID, "").replace(ANOTHER_ID, ""))
    twice = MISTRAL_CALLS.replace(ANOTHER_ID, CALL_ID)
    assert read("mistral", twice) == ("", [NOTE, GO]) and read_ids(twice) == ["abc123def", without[1]]
    wrong = MISTRAL_CALLS.replace("abc123de", "call_1")
    assert read("mistral", wrong) == ("", [NOTE, GO]) and read_ids(wrong) == without
    mention = '[TOOL_CALLS]note[ARGS]{"text": "[CALL_ID]abc123def[ARGS]{}"}'
    assert read("mistral", mention) == ("", [note("[CALL_ID]abc123def[ARGS]{}")])


@pytest.mark.parametrize("between", ["", " ", "\n", ", "])
@pytest.mark.parametrize("args", ["", "[ARGS]", "[CALL_ID]abc123def[ARGS]"])
def test_a_mistral_call_behind_another_needs_no_mark(between: str, args: str) -> None:
    one, two = f'note{args}{{"text": "ü"}}', 'go{"to": "x"}'
    assert read("mistral", f"Hi [TOOL_CALLS]{one}{between}{two} Done.") == ("Hi  Done.", [NOTE, GO])
    bad = one.replace('"ü"', "")
    assert read("mistral", f"[TOOL_CALLS]{bad}{between}{two}") == ("", [BAD_NOTE, GO])
    assert read("mistral", f"[TOOL_CALLS]{two}{between}{bad}") == ("", [GO, BAD_NOTE])
    assert read("mistral", f"[TOOL_CALLS]{one}{between}go{{}}[TOOL_CALLS]{two}") == ("", [NOTE, ("go", "{}"), GO])
    listed = f"[TOOL_CALLS]{JSON_NOTE}{between}{JSON_GO}"
    assert read("mistral", listed) == ("", [NOTE, GO])


@pytest.mark.parametrize("words", ["Done.", "see {1}", "go", "So it is: {}", "f(x) = {x}"])
def test_words_behind_a_mistral_call_stay(words: str) -> None:
    assert read("mistral", f'[TOOL_CALLS]note{{"text": "ü"}} {words}') == (words, [NOTE])


PYTHON_NOTE, PYTHON_GO = '[note(text="ü")]', '[go(to="x")]'


@pytest.mark.parametrize(
    ("text", "words", "calls"),
    [
        (f"Hi {PYTHON_NOTE}", "Hi", [NOTE]),
        (f"Hi: {PYTHON_NOTE} And bye.", "Hi:  And bye.", [NOTE]),
        (f"I note it.\n\n{PYTHON_NOTE}\n\nDone.", "I note it.\n\n\n\nDone.", [NOTE]),
        (f"{PYTHON_NOTE}\n{PYTHON_GO}", "", [NOTE, GO]),
        (f"{PYTHON_NOTE}{PYTHON_GO}", "", [NOTE, GO]),
        (f"{PYTHON_NOTE}, {PYTHON_GO}; {PYTHON_NOTE}", "", [NOTE, GO, NOTE]),
        (f"Both: {PYTHON_NOTE}, {PYTHON_GO}\n", "Both:", [NOTE, GO]),
        (f"One. {PYTHON_NOTE} Two. {PYTHON_GO} Three.", "One.  Two.  Three.", [NOTE, GO]),
        (f"```python\n{PYTHON_NOTE}\n```", "", [NOTE]),
        (f"So:\n```\n{PYTHON_NOTE}\n{PYTHON_GO}\n```\nDone.", "So:\n\nDone.", [NOTE, GO]),
        (f"```tool_code\n{PYTHON_NOTE}\n```\n```python\n{PYTHON_GO}\n```", "", [NOTE, GO]),
        (f"```python\nx = 1\n```\n{PYTHON_NOTE}", "```python\nx = 1\n```", [NOTE]),
        (f"```py\nx\n```\n{PYTHON_NOTE}\n```py\ny\n```", "```py\nx\n```\n\n```py\ny\n```", [NOTE]),
        (f"<|python_tag|>{PYTHON_NOTE}", "", [NOTE]),
        (f"Hi. <|python_tag|> {PYTHON_NOTE} ", "Hi.", [NOTE]),
        ('Hi [note(text="ü"),\n go(to="x")]\n', "Hi", [NOTE, GO]),
        ('Hi [note(text="ü")', "Hi", [NOTE]),
        (f'Hi.\n[go(to=)]\n{PYTHON_NOTE}\nDone.', "Hi.\n\n\nDone.", [("", "go(to=)"), NOTE]),
        (f'[go(to=\n{PYTHON_NOTE}', "", [("", "go(to="), NOTE]),
        (f'{PYTHON_NOTE} [go(to=)]', "", [NOTE, ("", "go(to=)")]),
        ('Hi [go(to=), note(text="ü")]', "Hi", [("", "go(to=)"), NOTE]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("parser", ["pythonic", "llama4_pythonic"])
def test_lists_of_python_calls_may_be_anywhere(parser: str, text: str, words: str, calls: Calls) -> None:
    assert read(parser, text) == (words, calls)


@pytest.mark.parametrize(
    "text",
    [
        'Call `[note(text="x")]` to note it.',
        'It is `[note(text="x")]`',
        'Say ``[note(text="x")]``, or `x = [note(text="x")]`.',
        'The form is ` [note(text="x")] `.',
        'Call [note(text="x")] to note it.',
        'Never write "[note(text=1)]".',
        'There is [note(text="x")](https://x.org).',
        "I'd use [note(text=...)]",
        "It's [note(text=<text>)]\nof course.",
        'I could [note(text="x")], or not.',
        "I [go(ing) home] now [note (text)].",
        "calls = [note(text='x')]",
        "They are [1, 2], [fly(to='x')] and [f(note(text='x'))]\n[notes(text='x')]",
        "I think [note(text= is odd.\nIt is f(x)]\n",
        'Of [note(text="x") and others',
    ],
)
@pytest.mark.parametrize("parser", ["pythonic", "llama4_pythonic"])
def test_lists_in_words_stay_words(parser: str, text: str) -> None:
    assert read(parser, text) == (text, [])
    assert read(parser, f"{PYTHON_GO}\n{text}") == (text.strip(), [GO])


LLAMA_GO = '{"name": "go", "parameters": {"to": "x"}}'


@pytest.mark.parametrize(
    ("call", "as_read"),
    [
        ('{"type":"function","function":{"name":"note","parameters":{"text":"x"}}}', ("note", '{"text":"x"}')),
        ('{"type": "function", "function": {"name": "note", "arguments": {"text": "ü"}}}', NOTE),
        ('{"id": "call_1", "type": "function", "function": {"name": "note", "arguments": {"text": "ü"}}}', NOTE),
        ('{"function": {"name": "note", "arguments": "{\\"text\\": \\"ü\\"}"}, "type": "function"}', NOTE),
        ('{\n  "function": {\n    "name": "note",\n    "arguments": {"text": "ü"}\n  }\n}', NOTE),
        ('{"type": "function", "function": {"name": "fly", "parameters": {}}}', ("fly", "{}")),
        ('<|python_tag|>note.call(text="ü")', NOTE),
        ('<|python_tag|>note.call(text="(a)\nb", n=[1, -2.5])', ("note", '{"text": "(a)\\nb", "n": [1, -2.5]}')),
        ("<|python_tag|>fly.call()", ("fly", "{}")),
    ],
)
@pytest.mark.parametrize("parser", ["llama3_json", "llama4_json"])
def test_forms_of_calls_that_llama_models_write_are_read(parser: str, call: str, as_read: tuple[str, str]) -> None:
    assert read(parser, call) == ("", [as_read])
    assert read(parser, f"Hi. {call}\nDone.") == ("Hi. \nDone.", [as_read])
    assert read(parser, f"{call}; {LLAMA_GO}") == ("", [as_read, GO])
    assert read(parser, f"{LLAMA_GO}; {call}") == ("", [GO, as_read])


@pytest.mark.parametrize(
    "call",
    [
        '{"type": "function", "function": {"name": "note", "parameters": {"text": }}}',
        '{"function": {"name": "note", "arguments": {}, "description": "Takes a note."}}',
        '<|python_tag|>note.call("ü")',
        "<|python_tag|>note.call(text=x)",
        '<|python_tag|>note.call(text="a", text="b")',
    ],
)
def test_such_calls_of_llama_that_cannot_be_read_spoil_no_other(call: str) -> None:
    written = call.removeprefix("<|python_tag|>")
    assert read("llama3_json", call) == ("", [("", written)])
    assert read("llama3_json", f"{LLAMA_GO}\n{call}\n") == ("", [GO, ("", written)])
    assert read("llama3_json", f"{call}\n{LLAMA_GO}") == ("", [("", written), GO])


@pytest.mark.parametrize(
    "text",
    [
        '{"type": "function", "function": {"name": "note", "description": "Notes.", "parameters": {}}}',
        'It is {"function": {"is": "linear"}}, not {"function": "note"}.',
        'Write `<|python_tag|>note.call(text="x")` for it.',
        'It is note.call(text="x") there.',
        "Note.call(x) is no tool.",
    ],
)
def test_mentions_of_such_calls_of_llama_stay_words(text: str) -> None:
    assert read("llama3_json", text) == (text, [])


def test_a_built_in_call_of_llama_needs_no_mark() -> None:
    assert read("llama3_json", 'note.call(text="ü")') == ("", [NOTE])


def test_mistrals_list_of_calls_with_ids() -> None:
    """Its templates show earlier calls so."""
    one, two = (
        '{"name": "note", "arguments": {"text": "ü"}, "id": "abc123def"}',
        '{"name": "go", "arguments": {"to": "x"}, "id": "abc123deg"}',
    )
    assert read("mistral", f"[TOOL_CALLS] [{one}]") == ("", [NOTE])
    assert read("mistral", f"[TOOL_CALLS] [{one}, {two}]") == ("", [NOTE, GO])
    assert read("mistral", f'Hi [TOOL_CALLS][{{"id": "abc123def", "type": "function", {JSON_NOTE[1:]}]') == (
        "Hi",
        [NOTE],
    )


@pytest.mark.parametrize("parser", ["hermes", "granite4", "qwen3_json"])
@pytest.mark.parametrize("form", ["{}\n{}", "{} {}", "{},\n{}", "[{}, {}]", "[\n{},\n{}\n]"])
def test_several_calls_within_one_tag(parser: str, form: str) -> None:
    """Small Qwen2.5 models write them so."""
    inside = form.replace("{}", JSON_NOTE, 1).replace("{}", JSON_GO, 1)
    assert read(parser, f"Hi <tool_call>\n{inside}\n</tool_call>") == ("Hi", [NOTE, GO])


BAD_GO = JSON_GO.replace('"x"', "")


@pytest.mark.parametrize("form", ["{}\n{}", "{};{}", "{} {}", "[{}, {}]", "[{},\n{}]"])
def test_a_malformed_call_leaves_the_others_within_its_tag(form: str) -> None:
    inside = form.replace("{}", JSON_NOTE, 1).replace("{}", BAD_GO, 1)
    assert read("hermes", f"<tool_call>\n{inside}\n</tool_call>") == ("", [NOTE, ("", BAD_GO)])


def test_a_malformed_call_within_a_tag_goes_on_to_the_next_line_that_begins_one() -> None:
    assert read("hermes", f"<tool_call>\n{BAD_GO}\n{JSON_NOTE}\n</tool_call>") == ("", [("", BAD_GO), NOTE])
    quoted = f'{{"name": "note", "arguments": {{"text": "Either {{}}\n{JSON_GO}"}}}}'
    nested = f'{{"name": "note", "arguments": {{"text": [{JSON_GO},\n{JSON_GO}]}}'
    for text in (quoted, nested, f"{JSON_NOTE}\n{quoted}"):
        assert read("hermes", f"<tool_call>\n{text}\n</tool_call>") == ("", [("", text)])


def test_a_list_of_one_call_within_a_tag() -> None:
    assert read("hermes", f"<tool_call>[{JSON_NOTE}]</tool_call>") == ("", [NOTE])


@pytest.mark.parametrize("inside", [f"{JSON_NOTE}\nand that", f"[{JSON_NOTE}, go]", "{JSON_NOTE} {"])
def test_other_texts_within_a_tag_are_one_attempt(inside: str) -> None:
    assert len(read("hermes", f"<tool_call>{inside}</tool_call>")[1]) == 1


JSON_FORMS = [
    *("hermes", "granite4", "longcat", "ernie45", "internlm", "granite-20b-fc", "gigachat3", "jamba", "hunyuan_a13b"),
    *("xlam", "granite", "phi4_mini_json", "llama3_json", "mistral", "dots"),
]
"""Tool parsers of formats in which a call is JSON."""
AROUND = {
    "hermes": "<tool_call>{}</tool_call>",
    "granite4": "<tool_call>{}</tool_call>",
    "longcat": "<longcat_tool_call>{}</longcat_tool_call>",
    "granite": "<|tool_call|>[{}]",
    "phi4_mini_json": "functools[{}]",
    "llama3_json": "{}",
    "mistral": "[TOOL_CALLS][{}]",
}
"""Text around a call of those that `CALL_TEXTS` does not have."""


@pytest.mark.parametrize("parser", JSON_FORMS)
@pytest.mark.parametrize(
    "call",
    [
        '{"type": "function", "function": {"name": "note", "arguments": {"text":"ü"}}}',
        '{"id": "abc123def", "function": {"name": "note", "arguments": "{\\"text\\":\\"ü\\"}"}}',
        '{"name": "note", "arguments": "{\\"text\\":\\"ü\\"}"}',
    ],
)
def test_openais_form_of_a_call_is_read(parser: str, call: str) -> None:
    texts = CALL_TEXTS.get(parser)
    written = texts.begin + call + texts.end if texts else AROUND[parser].replace("{}", call)
    assert read(parser, f"Hi. {written}") == ("Hi.", [("note", '{"text":"ü"}')])


@pytest.mark.parametrize("arguments", ['"text"', '"[1]"', '"{"', "null"])
def test_other_texts_of_arguments_stay(arguments: str) -> None:
    (name, given), *more = read("hermes", f'<tool_call>{{"name": "note", "arguments": {arguments}}}</tool_call>')[1]
    assert (name, given, more) == ("note", arguments, [])


@pytest.mark.parametrize(
    "text",
    [
        'The tool is [{"type": "function", "function": {"name": "note", "description": "Notes."}}].',
        '[{"type": "function", "function": {"name": "note"}}]',
    ],
)
def test_definitions_of_tools_in_a_list_are_words(text: str) -> None:
    assert read("xlam", text) == (text, [])


@pytest.mark.parametrize("parser", ["pythonic", "llama4_pythonic", "olmo3", "lfm2"])
def test_tools_of_any_name_are_called_in_python(parser: str) -> None:
    around = SEVERAL.get(parser, (lambda calls: f"[{calls}]",))[0]
    tools = (*TOOLS, *(ToolSchema(name, "", {"type": "object", "properties": {}}) for name in ("读取", "fs/read-file")))
    written = "fs/read-file(p='a, go(b)', q=[1, None]), go(to='x'), 读取(文='ü'), 读取('x')"
    answer = Generation([], np.zeros(0, np.int32), np.zeros(0, np.float32), around(written), truncated=False)
    made = tool_format(parser).parse(answer, tools, None, 7).tool_calls
    assert [(call.name, call.arguments) for call in made] == [
        ("fs/read-file", '{"p": "a, go(b)", "q": [1, null]}'),
        GO,
        ("读取", '{"文": "ü"}'),
        ("", "读取('x')"),
    ]
