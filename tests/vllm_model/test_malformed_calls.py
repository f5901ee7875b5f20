"""Reads answers in which a call is malformed, or words are around the calls, with vLLM's own parser of each format."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from call_texts import CALL_TEXTS, TOKENS

from ray_gym.deployments.chat import plain_calls
from ray_gym.deployments.chat.call_frames import FRAMES
from ray_gym.deployments.chat.call_ids import call_ids
from ray_gym.deployments.chat.token_engine import Generation
from ray_gym.deployments.chat.tool_format import ToolFormat
from ray_gym.deployments.small_model import checkpoint_dir
from ray_gym.messages import ToolSchema
from ray_gym.models.thoughts import with_thoughts_apart

TOOLS = (
    ToolSchema("note", "", {"type": "object", "properties": {"text": {"type": "string"}}}),
    ToolSchema("go", "", {"type": "object", "properties": {"to": {"type": "string"}}}),
)
MARKS = [
    *("<tool_call>", "</tool_call>", "<think>", "</think>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"),
    *("<seed:tool_call>", "</seed:tool_call>", "<minimax:tool_call>", "</minimax:tool_call>", "[TOOL_CALLS]", "[ARGS]"),
    *("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", "<|tool_call_begin|>", "<|tool_call_end|>"),
    *("<|tool_call_argument_begin|>", "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", "<｜tool▁call▁begin｜>"),
    *("<｜tool▁sep｜>", "<｜tool▁call▁end｜>", "<|tool_call_start|>", "<|tool_call_end|>", "<|python_tag|>"),
    *("<|python_start|>", "<|python_end|>", "<longcat_tool_call>", "</longcat_tool_call>", "<|tool_call|>"),
    *("<start_function_call>", "<end_function_call>", "<|tool_call>", "<tool_call|>", "<escape>", '<|"|>'),
    *("<seed:think>", "</seed:think>"),
    *TOKENS,
]
"""Tokens that the parsers ask a tokenizer for."""

Calls = list[tuple[str, str]]
NOTE, GO = ("note", '{"text": "ü"}'), ("go", '{"to": "x"}')


@cache
def tokenizer() -> Any:
    import transformers

    if not checkpoint_dir().exists():
        pytest.fail("the small model was not fetched: make model")
    made = transformers.AutoTokenizer.from_pretrained(checkpoint_dir())
    made.add_tokens(MARKS)
    return made


@cache
def tool_format(tool_parser: str | None, reasoning_parser: str | None = None) -> ToolFormat:
    return ToolFormat(tool_parser, reasoning_parser, tokenizer())


def read(tool_parser: str, text: str, reasoning_parser: str | None = None) -> tuple[str, Calls]:
    answer = Generation([], np.zeros(0, np.int32), np.zeros(0, np.float32), text, truncated=False)
    message = tool_format(tool_parser, reasoning_parser).parse(answer, TOOLS, None, 7)
    assert len({call.id for call in message.tool_calls}) == len(message.tool_calls)
    return message.content, [(call.name, call.arguments) for call in message.tool_calls]


def within(begin: str, end: str) -> Callable[[str], str]:
    return lambda call: f"{begin}{call}{end}"


# of each parser: what is around a call, two well-formed calls, a malformed one, and how that is read
SINGLE: dict[str, tuple[Callable[[str], str], str, str, str, tuple[str, str]]] = {
    tag_parser: (
        within(f"<{tag}>\n", f"\n</{tag}>"),
        '{"name": "note", "arguments": {"text": "ü"}}',
        '{"name": "go", "arguments": {"to": "x"}}',
        '{"name": "go", "arguments": {"to": }}',
        ("", '{"name": "go", "arguments": {"to": }}'),
    )
    for tag_parser, tag in [("hermes", "tool_call"), ("granite4", "tool_call"), ("longcat", "longcat_tool_call")]
} | {
    tag_parser: (
        within(f"<{tag}>\n", f"\n</{tag}>"),
        "<function=note>\n<parameter=text>\nü\n</parameter>\n</function>",
        "<function=go>\n<parameter=to>\nx\n</parameter>\n</function>",
        '{"name": "go"}',
        ("go", ""),
    )
    for tag_parser, tag in [("qwen3_xml", "tool_call"), ("seed_oss", "seed:tool_call")]
}  # fmt: skip
SINGLE |= {
    "glm45": (
        within("<tool_call>", "\n</tool_call>"),
        "note\n<arg_key>text</arg_key>\n<arg_value>ü</arg_value>",
        "go\n<arg_key>to</arg_key>\n<arg_value>x</arg_value>",
        '{"name": "go", "arguments": {"to": 1}}',
        ("", '{"name": "go", "arguments": {"to": 1}}'),
    ),
    "minimax_m2": (
        within("<minimax:tool_call>\n", "\n</minimax:tool_call>"),
        '<invoke name="note">\n<parameter name="text">ü</parameter>\n</invoke>',
        '<invoke name="go">\n<parameter name="to">x</parameter>\n</invoke>',
        '<invoke>\n<parameter name="to">x</parameter>\n</invoke>',
        ("", '<invoke>\n<parameter name="to">x</parameter>\n</invoke>'),
    ),
    "kimi_k2": (
        within("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"),
        '<|tool_call_begin|>functions.note:0<|tool_call_argument_begin|>{"text": "ü"}<|tool_call_end|>',
        '<|tool_call_begin|>functions.go:1<|tool_call_argument_begin|>{"to": "x"}<|tool_call_end|>',
        '<|tool_call_begin|>go<|tool_call_argument_begin|>{"to": "x"}<|tool_call_end|>',
        ("", '<|tool_call_begin|>go<|tool_call_argument_begin|>{"to": "x"}<|tool_call_end|>'),
    ),
    "deepseek_v3": (
        within("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"),
        '<｜tool▁call▁begin｜>function<｜tool▁sep｜>note\n```json\n{"text": "ü"}\n```<｜tool▁call▁end｜>',
        '<｜tool▁call▁begin｜>function<｜tool▁sep｜>go\n```json\n{"to": "x"}\n```<｜tool▁call▁end｜>',
        '<｜tool▁call▁begin｜>function<｜tool▁sep｜>go\n{"to": "x"}<｜tool▁call▁end｜>',
        ("", '<｜tool▁call▁begin｜>function<｜tool▁sep｜>go\n{"to": "x"}<｜tool▁call▁end｜>'),
    ),
    "deepseek_v31": (
        within("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"),
        '<｜tool▁call▁begin｜>note<｜tool▁sep｜>{"text": "ü"}<｜tool▁call▁end｜>',
        '<｜tool▁call▁begin｜>go<｜tool▁sep｜>{"to": "x"}<｜tool▁call▁end｜>',
        '<｜tool▁call▁begin｜>go{"to": "x"}<｜tool▁call▁end｜>',
        ("", '<｜tool▁call▁begin｜>go{"to": "x"}<｜tool▁call▁end｜>'),
    ),
    "llama3_json": (
        within("", ""),
        '{"name": "note", "parameters": {"text": "ü"}}',
        '{"name": "go", "parameters": {"to": "x"}}',
        '{"type": "function", "function": "go", "parameters": {}}',
        ("", '{"type": "function", "function": "go", "parameters": {}}'),
    ),
    "mistral": (within("[TOOL_CALLS]", ""), 'note{"text": "ü"}', 'go{"to": "x"}', '{"to": 1}', ("", '{"to": 1}')),
    "functiongemma": (
        within("<start_function_call>", "<end_function_call>"),
        "call:note{text:<escape>ü<escape>}",
        "call:go{to:<escape>x<escape>}",
        "go{to:<escape>x<escape>}",
        ("", "go{to:<escape>x<escape>}"),
    ),
    "gemma4": (
        within("<|tool_call>", "<tool_call|>"),
        'call:note{text:<|"|>ü<|"|>}',
        'call:go{to:<|"|>x<|"|>}',
        '{"name": "go"}',
        ("go", ""),
    ),
}
SINGLE |= {
    parser: (within(texts.begin, texts.end), texts.note, texts.go, texts.bad, texts.bad_as_read or ("", texts.bad))
    for parser, texts in CALL_TEXTS.items()
}

JSON_CALLS = (
    '{"name": "note", "arguments": {"text": "ü"}}',
    '{"name": "go", "arguments": {"to": "x"}}',
    '{"name": "go"}',
)
PYTHON_CALLS = ('note(text="ü")', 'go(to="x")', "go(to=)")
# of each parser of which a frame holds several calls: what is around them, and between them
SEVERAL: dict[str, tuple[Callable[[str], str], str, tuple[str, str, str]]] = {
    "phi4_mini_json": (within("functools[", "]"), ", ", JSON_CALLS),
    "llama4_pythonic": (within("<|python_start|>[", "]<|python_end|>"), ", ", PYTHON_CALLS),
    "lfm2": (within("<|tool_call_start|>[", "]<|tool_call_end|>"), ", ", PYTHON_CALLS),
    "olmo3": (within("<function_calls>\n", "\n</function_calls>"), "\n", PYTHON_CALLS),
    **{
        parser: (SINGLE[parser][0], "\n", SINGLE[parser][1:4])
        for parser in ("minimax_m2", "kimi_k2", "deepseek_v3", "deepseek_v31")
    },
    **{
        parser: (SINGLE[parser][0], texts.between, SINGLE[parser][1:4])
        for parser, texts in CALL_TEXTS.items()
        if texts.between is not None
    },
}
WITHOUT_FRAMES = {"openai", "hf", "cohere_command3", "cohere_command4"}
"""Parsers of vLLM that read no marks in an answer's text, or leave that to a package or to the checkpoint."""


def test_every_parser_of_vllm_has_its_frames() -> None:
    from vllm.tool_parsers import ToolParserManager

    names = set(ToolParserManager.list_registered()) - {plain_calls.NAME}
    assert names - WITHOUT_FRAMES == set(FRAMES) and names >= WITHOUT_FRAMES


@pytest.mark.parametrize("parser", SINGLE)
def test_a_call_alone(parser: str) -> None:
    around, note, go, bad, as_read = SINGLE[parser]
    assert read(parser, around(note)) == ("", [NOTE])
    assert read(parser, around(bad)) == ("", [as_read])
    words, calls = read(parser, f"One. {around(note)} Two.\n{around(go)} Three.")
    assert words.split() == ["One.", "Two.", "Three."] and calls == [NOTE, GO]


@pytest.mark.parametrize("parser", SINGLE)
def test_a_malformed_call_leaves_the_others_and_the_words(parser: str) -> None:
    around, note, go, bad, as_read = SINGLE[parser]
    assert read(parser, f"{around(note)}\n{around(go)}") == ("", [NOTE, GO])
    text = f"One. {around(note)} Two.\n{around(bad)}"
    assert read(parser, text) == ("One.  Two.", [NOTE, as_read])
    text = f"{around(bad)}{around(go)}\n\nThree."
    assert read(parser, text) == ("Three.", [as_read, GO])


@pytest.mark.parametrize("parser", SEVERAL)
def test_a_malformed_call_leaves_the_others_in_its_frame(parser: str) -> None:
    around, between, (note, go, bad) = SEVERAL[parser]
    as_read = ("go", "") if bad == '{"name": "go"}' else ("", bad)
    assert read(parser, f"One. {around(note + between + go)} Two.") == ("One.  Two.", [NOTE, GO])
    assert read(parser, f"One. {around(note + between + bad)} Two.") == ("One.  Two.", [NOTE, as_read])
    assert read(parser, f"{around(bad + between + go)}\n") == ("", [as_read, GO])


@pytest.mark.parametrize(
    ("parser", "text", "calls"),
    [
        ("llama3_json", '{"name": "note"}; {"name": "go", "parameters": {"to": "x"}};', [("note", ""), GO]),
        ("llama3_json", '```json\n{"name": "go", "parameters": {"to": "x"}}\n```', [GO]),
        ("qwen3_xml", "<function=go>\n<parameter=to>\nx\n</parameter>\n</function>\n</tool_call>", [GO]),
        ("granite4", '<tool_call>\n{"name": "go", "arguments": {"to": "x"}}', [GO]),
        ("seed_oss", "<seed:tool_call>\n</seed:tool_call>", [("", "")]),
        ("seed_oss", "<seed:tool_call>\n<function=go\n</seed:tool_call>", [("", "<function=go")]),
        ("mistral", '[TOOL_CALLS][{"name": "go", "arguments": {"to": "x"}}]', [GO]),
        (
            "glm45",
            "<tool_call>fly\n<arg_key>x</arg_key>\n<arg_value>1</arg_value>\n</tool_call>",
            [("fly", '{"x": "1"}')],
        ),
        ("lfm2", '<|tool_call_start|>[go(to="x")]<|tool_call_end|>[go(to="x")]<|tool_call_end|>', [GO]),
        ("granite", '<|tool_call|>[{"name": "go", "arguments": {"to": "x"}}]', [GO]),
        ("granite", '<|tool_call|>[{"name": "go", "arguments": {"to": "x"}}', [GO]),
        ("xlam", '```json\n[{"name": "go", "arguments": {"to": "x"}}]\n```', [GO]),
        ("xlam", '[TOOL_CALLS][{"name": "go", "arguments": {"to": "x"}}]', [GO]),
        ("xlam", '<tool_call>{"name": "go", "arguments": {"to": "x"}}</tool_call>', [GO]),
        ("xlam", '[{"name": "note"}, {"name": "go", "arguments": {"to": "x"}}]', [("note", ""), GO]),
        ("jamba", '<tool_calls>{"name": "go", "arguments": {"to": "x"}}</tool_calls>', [GO]),
        ("internlm", '<|action_start|><|plugin|>{"name": "go", "parameters": {"to": "x"}}<|action_end|>', [GO]),
        ("gigachat3", 'function call<|role_sep|>\n{"name": "go", "arguments": {"to": "x"}}<|message_sep|>', [GO]),
        (
            "dots",
            '<dots_function_call>{"name": "fly", "arguments": {"to": "x"}}</dots_function_call>',
            [("fly", GO[1])],
        ),
        ("deepseek_v32", f"{CALL_TEXTS['deepseek_v32'].go}\n</｜DSML｜function_calls>", [GO]),
        ("deepseek_v4", f"<｜DSML｜tool>{CALL_TEXTS['deepseek_v4'].go}</｜DSML｜tool_calls>", [GO]),
        ("inkling", f"go{CALL_TEXTS['inkling'].mark}{CALL_TEXTS['inkling'].go}<|end_message|>", [GO]),
    ],
)
def test_slips_of_a_format(parser: str, text: str, calls: Calls) -> None:
    assert read(parser, text) == ("", calls)
    if not text.endswith("}}"):  # it has an end
        assert read(parser, f"{text} Done.") == ("Done.", calls)


@pytest.mark.parametrize("inside", ["a <tool_call> b", "a </tool_call> b", "</tool_call><tool_call>"])
@pytest.mark.parametrize("parser", ["hermes", "granite4"])
def test_marks_in_the_arguments_are_read_as_text(parser: str, inside: str) -> None:
    call = f'<tool_call>{{"name": "note", "arguments": {{"text": "{inside}"}}}}</tool_call>'
    assert read(parser, f"So: {call} Done.") == ("So:  Done.", [("note", f'{{"text": "{inside}"}}')])


@pytest.mark.parametrize(
    ("parser", "reasoning_parser", "thought"),
    [
        ("hermes", "qwen3", "<think>\nI note.\n</think>\n\n"),
        ("hermes", "deepseek_r1", "I note.\n</think>\n\n"),
        ("qwen3_xml", "qwen3", "I note.\n</think>\n\n"),
        ("glm45", "glm45", "I note.</think>"),
        ("seed_oss", "seed_oss", "I note.</seed:think>"),
        ("kimi_k2", "kimi_k2", "I note.</think>"),
        ("minimax_m2", "minimax_m2", "I note.</think>"),
    ],
)
def test_thoughts_are_no_words(parser: str, reasoning_parser: str, thought: str) -> None:
    around, note, _, bad, as_read = SINGLE[parser]
    text = f"{thought}One. {around(note)} Two. {around(bad)} Three."
    assert read(parser, text, reasoning_parser) == ("One.  Two.  Three.", [NOTE, as_read])
    assert read(parser, f"{thought}{around(note)}", reasoning_parser) == ("", [NOTE])
    if thought.startswith("I note.") and reasoning_parser != "deepseek_r1":  # nothing began a thought
        assert read(parser, f"I note. {around(note)} Two.", reasoning_parser) == ("I note.  Two.", [NOTE])


def in_kimi_k3(call: str) -> str:
    return f"<|open|>response<|sep|>One.<|close|>response<|sep|>{call}<|close|>message<|sep|>"


def in_inkling(call: str) -> str:
    return f"<|message_model|><|content_text|>One.<|end_message|>{call}<|content_model_end_sampling|>"


def in_muse_glimmer(call: str) -> str:
    return f"<|start|>assistant to=user<|message|>One.<|eom|>{call}<|eot|>"


@pytest.mark.parametrize(
    ("parser", "reasoning_parser", "thought", "around"),
    [
        ("ernie45", "ernie45", "I note.\n</think>\n\n\n", within("<response>\nOne. ", "\n</response>\n")),
        ("hunyuan_a13b", "hunyuan_a13b", "<think>\nI note.\n</think>\n", within("<answer>\nOne. ", "\n</answer>")),
        ("gigachat3", None, "", within("One.<|message_sep|>", "<|message_sep|>\n")),
        ("plamo3", "plamo3", "I note.<|plamo:end_think:plamo|>", within("One.", "<|plamo:tag|>")),
        ("kimi_k3", "kimi_k3", "I note.<|close|>think<|sep|>", in_kimi_k3),
        ("kimi_k3", None, "", in_kimi_k3),
        ("inkling", "inkling", "<|content_thinking|>I note.<|end_message|>", in_inkling),
        ("inkling", None, "<|content_thinking|>I note.<|end_message|>", in_inkling),
        ("muse_glimmer", "muse_glimmer", " to=self<|message|>I note.<|eom|>", in_muse_glimmer),
        ("muse_glimmer", None, " to=self<|message|>I note.<|eom|>", in_muse_glimmer),
        ("deepseek_v4", "deepseek_v4", "I note.</think>", within("One. ", "")),
        ("hy_v4", "hy_v4", "I note.</think>", within("One. ", "")),
        ("step3", "step3", "I note.</think>", within("One. ", "")),
    ],
)
def test_marks_around_words_are_no_words(
    parser: str, reasoning_parser: str | None, thought: str, around: Callable[[str], str]
) -> None:
    call_around, note, _, bad, as_read = SINGLE[parser]
    assert read(parser, thought + around(call_around(note)), reasoning_parser) == ("One.", [NOTE])
    assert read(parser, thought + around(call_around(bad)), reasoning_parser) == ("One.", [as_read])


@pytest.mark.parametrize("parser", ["hy_v3", "hy_v4"])
def test_marks_with_the_suffix_of_a_checkpoint(parser: str) -> None:
    import transformers

    def suffixed(text: str) -> str:
        return re.sub(r"(</?\w+)>", r"\1:6124c78e>", text)

    made = transformers.AutoTokenizer.from_pretrained(checkpoint_dir())
    made.add_tokens([suffixed("<tool_calls>"), suffixed("</tool_calls>")])
    made.init_kwargs["token_suffix"] = ":6124c78e"
    around, note, go, bad, _ = SINGLE[parser]
    text = f"One. {suffixed(around(bad + note))} Two. {suffixed(around(go))}"
    answer = Generation([], np.zeros(0, np.int32), np.zeros(0, np.float32), text, truncated=False)
    message = ToolFormat(parser, None, made).parse(answer, TOOLS, None, 7)
    calls = [(call.name, call.arguments) for call in message.tool_calls]
    assert message.content == "One.  Two." and calls == [("", suffixed(bad)), NOTE, GO]


@pytest.mark.parametrize(
    "parser", [parser for parser in SINGLE if parser not in ("llama3_json", "mistral", "functiongemma")]
)
def test_a_mention_of_a_mark_drops_no_words(parser: str) -> None:
    mark = SINGLE[parser][0]("").split("\n")[0].split(">")[0] + ">"
    mark = CALL_TEXTS[parser].mark if parser in CALL_TEXTS else mark
    for text in (f"Put it behind `{mark}`, as always.", f"The {mark} tag begins it, and {mark}, too."):
        if parser != "hermes" or "`" in text:
            assert read(parser, text) == (text, [])


@pytest.mark.parametrize("parser", CALL_TEXTS)
def test_a_mention_beside_a_call_is_words(parser: str) -> None:
    around, note, *_ = SINGLE[parser]
    mark = CALL_TEXTS[parser].mark
    text = f"Behind `{mark}`: {around(note)} As `{mark}` says."
    assert read(parser, text) == (f"Behind `{mark}`:  As `{mark}` says.", [NOTE])


@pytest.mark.parametrize("parser", [parser for parser in SINGLE if '{"text": "ü"}' in SINGLE[parser][1]])
@pytest.mark.parametrize("arguments", ['{"text":"ü"}', '{ "text" : "\\u00fc" }', '{"text": "日本\\n"}'])
def test_arguments_of_json_stay_as_written(parser: str, arguments: str) -> None:
    around, note, go, bad, _ = SINGLE[parser]
    note = note.replace('{"text": "ü"}', arguments)
    for call in (around(note), f"{around(go)}{around(note)}", f"{around(bad)}{around(note)}"):
        assert read(parser, call)[1][-1] == ("note", arguments)


def test_a_mention_of_a_mark_is_told_without_marks_around_the_words() -> None:
    mark = CALL_TEXTS["kimi_k3"].mark
    text = f"<|open|>response<|sep|>Behind `{mark}`.<|close|>response<|sep|>"
    assert read("kimi_k3", text) == (f"Behind `{mark}`.", [])


@pytest.mark.parametrize("parser", ["qwen3_xml", "hermes", "glm45", "minimax_m2", "mistral", "kimi_k2", "xlam", "lfm2"])
def test_a_block_of_code_around_calls_is_no_words(parser: str) -> None:
    if parser == "lfm2":
        around, note = SEVERAL[parser][0], SEVERAL[parser][2][0]
    else:
        around, note = SINGLE[parser][:2]
    block = f"```xml\n{around(note)}\n```"
    assert read(parser, block) == ("", [NOTE])
    assert read(parser, f"Hi.\n{block}\n{block}\nBye.") == ("Hi.\n\n\nBye.", [NOTE, NOTE])
    assert read(parser, f"```py\na\n```\n{around(note)}\n```\nb\n```") == ("```py\na\n```\n\n```\nb\n```", [NOTE])
    assert read(parser, f"```\na {around(note)}\n```") == ("```\na \n```", [NOTE])
    assert read(parser, f"````md\n{around(note)}\n````\nBye.") == ("Bye.", [NOTE])
    assert read(parser, f"And ```.{around(note)}") == ("And ```.", [NOTE])


def test_blocks_of_code_beside_calls_of_xlam_are_words() -> None:
    around, note, _, bad, as_read = SINGLE["xlam"]
    text = f"```py\nf(1)\n```\n{around(note)}\n```json\n{around(bad)}\n```"
    assert read("xlam", text) == ("```py\nf(1)\n```", [NOTE, as_read])


def test_a_call_in_a_thought_of_hunyuan_is_none() -> None:
    around, note, go, _, _ = SINGLE["hunyuan_a13b"]
    text = f"<think>I could {around(go)}</think>One. {around(note)}"
    assert read("hunyuan_a13b", text) == ("One.", [NOTE])
    answer = Generation([], np.zeros(0, np.int32), np.zeros(0, np.float32), text, truncated=False)
    message = with_thoughts_apart(tool_format("hunyuan_a13b", None).parse(answer, TOOLS, None, 7))
    assert (message.content, message.reasoning) == ("One.", f"I could {around(go)}")


def test_a_mention_in_a_thought_drops_no_words() -> None:
    text = "I could use <tool_call> for it.\n</think>\nHello."
    answer = Generation([], np.zeros(0, np.int32), np.zeros(0, np.float32), text, truncated=False)
    message = with_thoughts_apart(tool_format("qwen3_xml", "qwen3").parse(answer, TOOLS, None, 7))
    assert message.content == "Hello." and message.reasoning == "I could use \n<tool_call> for it."


def test_a_parser_that_raises_spoils_no_call(monkeypatch: pytest.MonkeyPatch) -> None:
    from vllm.tool_parsers.hermes_tool_parser import Hermes2ProToolParser

    extract = Hermes2ProToolParser.extract_tool_calls

    def extract_or_raise(self: Any, text: str, request: Any) -> Any:
        if "BAD" in text:
            raise ValueError(text)
        return extract(self, text, request)

    monkeypatch.setattr(Hermes2ProToolParser, "extract_tool_calls", extract_or_raise)
    around, note, *_ = SINGLE["hermes"]
    assert read("hermes", f"One. {around(note)} {around('BAD')} Two.") == ("One.   Two.", [NOTE, ("", "BAD")])


@pytest.mark.parametrize(
    ("own", "ids"),
    [
        (["functions.note:0", "functions.note:0"], ["functions.note:0", "functions.note:1"]),
        (["functions.note:0", "functions.go:0"], ["functions.note:0", "functions.go:0"]),
        (
            ["functions.go:1", "functions.go:1", "functions.go:2"],
            ["functions.go:1", "functions.go:3", "functions.go:2"],
        ),
        (["functions.go:0"] * 4, ["functions.go:0", "functions.go:1", "functions.go:2", "functions.go:3"]),
    ],
)
def test_each_call_has_an_id_of_its_own(own: list[str], ids: list[str]) -> None:
    begin, end = "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"
    calls = (f"<|tool_call_begin|>{id}<|tool_call_argument_begin|>{{}}<|tool_call_end|>" for id in own)
    text = begin + "".join(calls) + end
    answer = Generation([], np.zeros(0, np.int32), np.zeros(0, np.float32), text, truncated=False)
    message = tool_format("kimi_k2").parse(answer, TOOLS, None, 7)
    assert [call.id for call in message.tool_calls] == ids


def test_ids_without_a_number_are_made_anew() -> None:
    ids = call_ids(["abc123def", "", "abc123def", ""], 7)
    assert ids[0] == "abc123def" and len(set(ids)) == 4 and {len(id) for id in ids} == {9}
    assert ids == call_ids(["abc123def", "", "abc123def", ""], 7)


def words_without_tools(parser: str, text: str, reasoning_parser: str | None = None) -> str:
    answer = Generation([], np.zeros(0, np.int32), np.zeros(0, np.float32), text, truncated=False)
    message = tool_format(parser, reasoning_parser).parse(answer, (), None, 7)
    assert not message.tool_calls
    return with_thoughts_apart(message).content.strip()


@pytest.mark.parametrize(
    "parser", sorted(SINGLE.keys() - {"inkling", "muse_glimmer"})
)  # in whose channels words are no answer
def test_without_tools_what_looks_like_a_call_is_words(parser: str) -> None:
    around, note, go, bad, _ = SINGLE[parser]
    for text in (
        f"One. {around(note)} Two. {around(go)} Three.",
        f"One. {around(bad)} Two.",
        f"One. {around(note)}",
        "One. " + around(note)[:-8],
    ):
        assert words_without_tools(parser, text) == text.strip()
    assert words_without_tools(parser, "One.\n\nTwo.") == "One.\n\nTwo."


@pytest.mark.parametrize("parsers", [("qwen3_xml", "qwen3"), ("glm45", "glm45"), ("kimi_k2", "kimi_k2")])
def test_without_tools_thoughts_are_no_words(parsers: tuple[str, str]) -> None:
    around, note, *_ = SINGLE[parsers[0]]
    text = f"One. {around(note)} Two."
    assert words_without_tools(parsers[0], f"<think>I note.</think>{text}", parsers[1]) == text


LLAMA_NOTE = '{"name": "note", "parameters": {"text": "ü"}}'


@pytest.mark.parametrize(
    ("parser", "call"), [("llama3_json", LLAMA_NOTE), ("llama4_json", LLAMA_NOTE), ("pythonic", '[note(text="ü")]')]
)
def test_a_block_of_code_around_calls_without_marks_is_no_words(parser: str, call: str) -> None:
    assert read(parser, f"````md\n{call}\n````\nBye.") == ("Bye.", [NOTE])
    assert read(parser, f"````\n```json\n{call}\n```\n````")[1] == [NOTE]
    assert read(parser, f"```py\na\n```\n{call}\n```py\nb\n```") == ("```py\na\n```\n\n```py\nb\n```", [NOTE])


@pytest.mark.parametrize(
    ("parser", "text", "words", "calls"),
    [
        ("llama3_json", f"Use `{LLAMA_NOTE}`.", None, []),
        ("llama4_json", f"Use ``{LLAMA_NOTE}``, or `{LLAMA_NOTE}`.", None, []),
        ("llama3_json", f"Not `{LLAMA_NOTE}`:\n{LLAMA_NOTE}", f"Not `{LLAMA_NOTE}`:", [NOTE]),
        ("llama3_json", f"`{LLAMA_NOTE}`", "``", [NOTE]),
        ("llama3_json", f"So:\n```json\n{LLAMA_NOTE}\n```", "So:", [NOTE]),
        ("phi4_mini_json", "from functools import x; functools[1]", None, []),
        ("phi4_mini_json", "So functools[key], functools[0:2] and functools['a'].", None, []),
        ("phi4_mini_json", "functools[note()]", "", [("", "note()")]),
        ("phi4_mini_json", 'So: functools["name": "note"]', "So:", [("", '"name": "note"')]),
        ("phi4_mini_json", f"functools[0] functools[{JSON_CALLS[0]}]", "functools[0]", [NOTE]),
    ],
)
def test_examples_of_calls_and_indexes_are_words(parser: str, text: str, words: str | None, calls: Calls) -> None:
    assert read(parser, text) == (text if words is None else words, calls)


@pytest.mark.parametrize(
    ("tool_parser", "text", "calls"),
    [
        ("llama4_pythonic", '<|python_start|>[note(text="ü"), go]<|python_end|>', [NOTE, ("", "go")]),
        ("lfm2", '<|tool_call_start|>[note(text="ü"), foo]<|tool_call_end|>', [NOTE, ("", "foo")]),
        ("pythonic", '[note(text="ü"), foo, go(to="x")]', [NOTE, ("", "foo"), GO]),
        ("olmo3", '<function_calls>\nnote(text="ü")\nfoo\ngo(to="x")\n</function_calls>', [NOTE, ("", "foo"), GO]),
        ("olmo3", '<function_calls>\nnote(text="ü")  # first\n# then\ngo(to="x")\n</function_calls>', [NOTE, GO]),
        ("pythonic", '[note(text="ü"), to="x")]', [("", 'note(text="ü"), to="x")')]),
        ("pythonic", '[note(text="ü"), (to="x")]', [NOTE, ("", '(to="x")')]),
        ("llama4_pythonic", '<|python_start|>[note(text="ü"), go there(to="x")]', [NOTE, ("", 'go there(to="x")')]),
        ("lfm2", '<|tool_call_start|>[note(text="ü"), $go(to="x")]<|tool_call_end|>', [NOTE, ("", '$go(to="x")')]),
        ("pythonic", '[note(text="ü"), go{"to": "x"}]', [NOTE, ("", 'go{"to": "x"}')]),
        ("olmo3", '<function_calls>\nnote(text="ü")\n(to="x")\n</function_calls>', [NOTE, ("", '(to="x")')]),
        ("pythonic", '[note(text="a"), b "c")]', [("", 'note(text="a"), b "c")')]),
        ("xlam", '[{"tool": "go"}, {"name": "note", "arguments": {"text": "ü"}}]', [("", '{"tool": "go"}'), NOTE]),
        ("xlam", '[null, {"name": "note", "arguments": {"text": "ü"}}]', [("", "null"), NOTE]),
        ("apertus", '<|tools_prefix|>[{"go": {"to": "x"}, "note": {"text": "ü"}}]<|tools_suffix|>', [GO, NOTE]),
        (
            "inkling",
            '<|content_invoke_tool_json|>{"name": "go", "arguments": {"to": "x",}}<|end_message|>',
            [("", '{"name": "go", "arguments": {"to": "x",}}')],
        ),
    ],
)
def test_what_is_no_call_beside_a_good_one_is_answered_and_spoils_nothing(
    tool_parser: str, text: str, calls: Calls
) -> None:
    assert read(tool_parser, text) == ("", calls)


@pytest.mark.parametrize(
    "parser",
    [
        *(
            "minimax_m2",
            "kimi_k2",
            "deepseek_v3",
            "deepseek_v31",
            "plamo3",
            "hy_v3",
            "hy_v4",
            "k2_horizon",
            "deepseek_v32",
        ),
        *("deepseek_v4", "deepseek_v41", "dots", "minimax_m3", "step3", "kimi_k3"),
    ],
)
def test_words_beside_the_calls_of_a_section_are_words(parser: str) -> None:
    around, between, (note, go, _) = SEVERAL[parser]
    assert read(parser, around(f"\nNow I go.\n{note}")) == ("Now I go.", [NOTE])
    assert read(parser, around(f"{note}\nNow I go.\n{go}")) == ("Now I go.", [NOTE, GO])
    assert read(parser, around(f"{note}\nNow I go.\n")) == ("Now I go.", [NOTE])
    for space in ("", " ", "\n", "\r\n"):
        section = around(f"{space}I note it.{note}{between}{go} And wait here.")
        words, calls = read(parser, f"Hello. {section} Bye.")
        assert " ".join(words.split()) == "Hello. I note it. And wait here. Bye." and calls == [NOTE, GO]


@pytest.mark.parametrize(
    ("parser", "text"),
    [
        ("hy_v3", "I would write <tool_calls> and then <tool_call>, but I can't."),
        ("kimi_k2", "It has <|tool_calls_section_begin|> and in it <|tool_call_begin|>functions...."),
        ("dots", "I would write <dots_function_call> and then <invoke name=."),
    ],
)
def test_marks_of_a_section_in_a_sentence_are_words(parser: str, text: str) -> None:
    assert read(parser, text) == (text, [])
