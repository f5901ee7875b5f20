"""Reads answers with thoughts between words and calls, and with marks of thoughts in arguments, with vLLM's own parsers."""

from __future__ import annotations

import numpy as np
import pytest
from test_malformed_calls import TOOLS as ALL
from test_malformed_calls import Calls, tokenizer, tool_format

from ray_gym.deployments.chat.token_engine import Generation
from ray_gym.messages import ToolSchema
from ray_gym.models.thoughts import with_thoughts_apart

Read = tuple[str, str, Calls]


def read(
    tool_parser: str | None,
    reasoning_parser: str | None,
    text: str,
    prompt: str = "",
    tools: tuple[ToolSchema, ...] = ALL,
) -> Read:
    """Returns the thoughts, the words and the calls of an answer. `prompt`: the end of its prompt."""
    ids = tokenizer().encode(prompt, add_special_tokens=False)
    answer = Generation(ids, np.zeros(0, np.int32), np.zeros(0, np.float32), text, truncated=False)
    message = with_thoughts_apart(tool_format(tool_parser, reasoning_parser).parse(answer, tools, None, 7))
    return message.reasoning or "", message.content, [(call.name, call.arguments) for call in message.tool_calls]


def note(text: str) -> Calls:
    return [("note", f'{{"text": "{text}"}}')]


JSON = '<tool_call>\n{"name": "note", "arguments": {"text": "TEXT"}}\n</tool_call>'
FUNCTION = "<tool_call>\n<function=note>\n<parameter=text>\nTEXT\n</parameter>\n</function>\n</tool_call>"
GLM = "<tool_call>note\n<arg_key>text</arg_key>\n<arg_value>TEXT</arg_value></tool_call>"
KIMI = (
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.note:0<|tool_call_argument_begin|>"
    '{"text": "TEXT"}<|tool_call_end|><|tool_calls_section_end|>'
)
MINIMAX = '<minimax:tool_call>\n<invoke name="note">\n<parameter name="text">TEXT</parameter>\n</invoke>\n</minimax:tool_call>'
FORMATS = {
    ("hermes", "qwen3"): JSON,
    ("hermes", "deepseek_r1"): JSON,
    ("qwen3_coder", "qwen3"): FUNCTION,
    ("mimo", "mimo"): FUNCTION.replace("\nTEXT\n", "TEXT"),
    ("glm45", "glm45"): GLM,
    ("kimi_k2", "kimi_k2"): KIMI,
    ("minimax_m2", "minimax_m2"): MINIMAX,
}
"""A call of `note` with TEXT, by the parsers of calls and of reasoning."""


@pytest.mark.parametrize(("parsers", "call"), FORMATS.items(), ids=map("+".join, FORMATS))
@pytest.mark.parametrize("text", ["a </think> b", "a <think> b", "<think>x</think>", "`</think>`"])
@pytest.mark.parametrize("thought", ["", "<think>plan</think>"])
def test_marks_in_arguments_are_text(parsers: tuple[str, str], call: str, text: str, thought: str) -> None:
    assert read(*parsers, thought + call.replace("TEXT", text)) == ("plan" if thought else "", "", note(text))


@pytest.mark.parametrize(("parsers", "call"), FORMATS.items(), ids=map("+".join, FORMATS))
def test_thoughts_around_words_and_calls(parsers: tuple[str, str], call: str) -> None:
    made = call.replace("TEXT", "ü")
    assert read(*parsers, f"<think>a</think>Hi <think>b</think>bye {made}") == ("a\nb", "Hi bye", note("ü"))
    assert read(*parsers, f"<think>a</think>{made}<think>b</think>bye") == ("a\nb", "bye", note("ü"))
    assert read(*parsers, f"{made}<think>b</think>bye{made}") == ("b", "bye", note("ü") * 2)
    assert read(*parsers, f"Hi <think>a</think>{made}") == ("a", "Hi", note("ü"))


@pytest.mark.parametrize("parser", ["qwen3", "deepseek_r1", "kimi_k2", "glm45", "minimax_m2", "mimo"])
@pytest.mark.parametrize(
    ("text", "thoughts", "words"),
    [
        ("<think>a</think>Hi<think>b</think>bye", "a\nb", "Hibye"),
        ("Hello.<think>b</think>bye", "b", "Hello.bye"),
        ("Hello<think>b", "b", "Hello"),
        ("<think>a</think>The mark `</think>` ends it.", "a", "The mark `</think>` ends it."),
        ("<think>a</think>1<think>b</think>2<think>c</think>3", "a\nb\nc", "123"),
    ],
)
def test_words_between_thoughts_are_kept(parser: str, text: str, thoughts: str, words: str) -> None:
    assert read(None, parser, text) == (thoughts, words, [])
    assert read("hermes", parser, text) == (thoughts, words, [])


def test_a_thought_that_the_prompt_opened() -> None:
    prompt = "<|im_start|>assistant\n<think>\n"
    assert read("hermes", "qwen3", "a <think> b</think>Hi<think>c</think>bye", prompt) == (
        "a <think> b\nc",
        "Hibye",
        [],
    )
    assert read("hermes", "qwen3", "plan</think>Hi<think>c</think>bye", prompt) == ("plan\nc", "Hibye", [])
    call = JSON.replace("TEXT", "</think>")
    assert read("hermes", "qwen3", f"plan{call}", prompt) == ("plan", "", note("</think>"))
    assert read("hermes", "qwen3", f"plan</think>Hi{call}", prompt) == ("plan", "Hi", note("</think>"))
    assert read(None, "qwen3", "I write `</think>`, then", prompt) == ("I write `</think>`, then", "", [])


def test_a_call_ends_a_thought_that_nothing_else_ends() -> None:
    call = JSON.replace("TEXT", "ü")
    assert read("hermes", "qwen3", f"<think>a</think>Hi <think>b{call}bye") == ("a\nb", "Hibye", note("ü"))


def test_a_call_in_a_thought_is_none() -> None:
    call = JSON.replace("TEXT", "ü")
    assert read("hermes", "qwen3", f"<think>a {call}</think>Hi <think>b</think>{call}") == (
        f"a {call}\nb",
        "Hi",
        note("ü"),
    )


def test_other_marks_than_the_parsers_own() -> None:
    text = "<seed:think>a</seed:think>Hi<seed:think>b</seed:think>bye"
    assert read(None, "seed_oss", text) == ("a\nb", "Hibye", [])


@pytest.mark.parametrize(
    "text", ["<think>plan</think>Hi", "plan</think>Hi", "<think>plan", "Hi", "<think>\n\n</think>\n\nHi"]
)
def test_one_thought_before_all_else_is_read_as_before(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from ray_gym.deployments.chat import interleaved

    def none(*_given: object) -> tuple[str, str]:
        raise AssertionError("vLLM's parser reads it")

    monkeypatch.setattr(interleaved, "thoughts_and_answer", none)
    thoughts, words, calls = read("hermes", "qwen3", text)
    assert (thoughts.strip() or "plan") == "plan" and words.strip() in ("Hi", "", text) and not calls


def test_the_first_of_two_json_calls_may_hold_a_mark() -> None:
    first, second = (
        f'{{"type": "function", "name": "note", "parameters": {{"text": "{text}"}}}}' for text in ("a </think> b", "c")
    )
    read_both = read("llama3_json", "deepseek_r1", f"<think>\nhm\n</think>\n\n{first}; {second}")
    assert read_both == ("hm", "", note("a </think> b") + note("c"))


@pytest.mark.parametrize(("parsers", "call"), FORMATS.items(), ids=map("+".join, FORMATS))
def test_words_before_a_call_are_no_thoughts_where_no_tool_may_be_called(parsers: tuple[str, str], call: str) -> None:
    text = f"Words. {call}"
    assert read(*parsers, text, tools=()) == ("", text, [])


@pytest.mark.parametrize(("parsers", "call"), FORMATS.items(), ids=map("+".join, FORMATS))
def test_a_call_that_a_closed_thought_weighs_up_is_none(parsers: tuple[str, str], call: str) -> None:
    draft, real = call.replace("TEXT", "draft"), call.replace("TEXT", "real")
    thought = f"<think>\nIf I call {draft} it fails.\n</think>\n\n"
    assert read(*parsers, f"{thought}I am done.") == (f"If I call {draft} it fails.", "I am done.", [])
    assert read(*parsers, thought + real) == (f"If I call {draft} it fails.", "", note("real"))
    thoughts, words, calls = read(*parsers, f"If I call {draft} it fails.\n</think>\n\nDone.", "<think>\n")
    assert (thoughts, words.strip(), calls) == (f"If I call {draft} it fails.", "Done.", [])


LLAMA = '{"name": "note", "parameters": {"text": "TEXT"}}'


@pytest.mark.parametrize(
    ("parser", "call"), [*((name, call) for (name, _), call in FORMATS.items()), ("llama3_json", LLAMA)]
)
def test_a_closed_thought_weighs_calls_up_without_a_parser_of_reasoning(parser: str, call: str) -> None:
    draft, real = call.replace("TEXT", "draft"), call.replace("TEXT", "real")
    thought = f"<think>\nIf I call {draft} it fails.\n</think>\n\n"
    assert read(parser, None, f"{thought}I am done.") == (f"If I call {draft} it fails.", "I am done.", [])
    assert read(parser, None, thought + real) == (f"If I call {draft} it fails.", "", note("real"))
    assert read(parser, None, f"<think>hm</think>{real}") == ("hm", "", note("real"))
    assert read(parser, None, real) == ("", "", note("real"))


def test_a_mark_of_a_call_in_a_closed_thought_is_none() -> None:
    real = JSON.replace("TEXT", "real")
    assert read("hermes", "qwen3", f"<think>\nI emit <tool_call>.\n</think>\n\n{real}") == (
        "I emit <tool_call>.",
        "",
        note("real"),
    )
    thought = "The format is <tool_call> then JSON </tool_call>."
    assert read("hermes", "qwen3", f"<think>\n{thought}\n</think>\n\nI am done.") == (thought, "I am done.", [])


def test_a_call_at_the_end_of_all_is_one() -> None:
    """Qwen3 sometimes closes its thought behind the call, and says nothing more."""
    call = JSON.replace("TEXT", "real")
    assert read("hermes", "qwen3", f"<think>plan {call}\n</think>")[2] == note("real")
    assert read("hermes", "qwen3", f"<think>plan {call}")[2] == note("real")


@pytest.mark.parametrize(("parsers", "call"), FORMATS.items(), ids=map("+".join, FORMATS))
def test_a_second_end_of_a_thought_behind_a_call_ends_nothing(parsers: tuple[str, str], call: str) -> None:
    made = call.replace("TEXT", "ü")
    assert read(*parsers, f"<think>\nhm\n</think>\n{made}\n</think>\n") == ("hm", "", note("ü"))
    assert read(*parsers, f"<think>\n\n</think>\n\n{made}\n</think>\n\nOk") == ("", "Ok", note("ü"))
    assert read(*parsers, f"hm</think>{made}</think></think>\n{made}</think>", "<think>") == ("hm", "", note("ü") * 2)


@pytest.mark.parametrize(
    ("text", "thoughts"),
    [
        (f"If I {JSON} it fails.\n</think>Done.", f"a\nIf I {JSON} it fails."),
        (f"Or else {JSON}</think>Done.", f"a\nOr else {JSON}"),
        (f"<think>\n{JSON}\n</think>Done.", f"a\n{JSON}"),
        (f"<think>b<think>c</think>\n{JSON}\n</think>Done.", f"a\nb<think>c</think>\n{JSON}"),
        ("Hm.</think>Done.", "a\nHm."),
    ],
)
def test_a_second_end_of_a_thought_that_weighs_up_a_call_is_one(text: str, thoughts: str) -> None:
    assert read("hermes", "qwen3", f"<think>a</think>{text}") == (thoughts, "Done.", [])


QUOTING = {
    "xlam": '[{"name": "note", "arguments": {"text": "a <tool_call> b </tool_call>"}}]',
    "llama3_json": '{"name": "note", "parameters": {"text": "a <tool_call> b </tool_call>"}}',
    "mistral": '[TOOL_CALLS]note{"text": "a <tool_call> b </tool_call>"}',
    "pythonic": '[note(text="a <tool_call> b </tool_call>")]',
}
"""Calls that quote a mark of other formats, at which vLLM's reasoning parsers end a thought."""


@pytest.mark.parametrize("reasoning_parser", ["qwen3", "glm45"])
@pytest.mark.parametrize("tool_parser", QUOTING)
def test_a_quoted_mark_ends_no_thought_that_nothing_began(tool_parser: str, reasoning_parser: str) -> None:
    for words in ("", "Hi."):
        answer = f"{words} {QUOTING[tool_parser]}".strip()
        assert read(tool_parser, reasoning_parser, answer) == ("", words, note("a <tool_call> b </tool_call>"))


@pytest.mark.parametrize(("parsers", "call"), FORMATS.items(), ids=map("+".join, FORMATS))
def test_words_before_a_call_are_no_thought_that_nothing_began(parsers: tuple[str, str], call: str) -> None:
    written = f"Words. {call.replace('TEXT', 'x')}"
    assert read(*parsers, written) == ("", "Words.", note("x"))
    assert read(*parsers, written, prompt="<think>\n\n</think>\n\n") == ("", "Words.", note("x"))
    thoughts, words, _ = read(*parsers, written, prompt="<think>\n")
    assert thoughts.startswith("Words.") and words == ""
