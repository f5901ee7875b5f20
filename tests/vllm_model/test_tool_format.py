"""Checks the grammar that forces a call, and the parser that reads one. It imports vLLM, but starts no engine."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from ray_gym.deployments.chat.token_engine import Generation, Grammar
from ray_gym.deployments.chat.tool_format import ToolFormat, tools_key
from ray_gym.deployments.small_model import checkpoint_dir
from ray_gym.errors import UserError
from ray_gym.messages import ToolSchema

POSITION = {"type": "object", "properties": {"position": {"type": "integer", "enum": [2, 5]}}, "required": ["position"]}
MOVE = ToolSchema("make_move", "Place your mark.", {**POSITION, "additionalProperties": False})
WAIT = ToolSchema("wait", "Do nothing.", {"type": "object", "properties": {}, "additionalProperties": False})


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    import transformers

    if not checkpoint_dir().exists():
        pytest.fail("the small model was not fetched: make model")
    return transformers.AutoTokenizer.from_pretrained(checkpoint_dir())


@pytest.fixture(scope="module")
def hermes(tokenizer: Any) -> ToolFormat:
    return ToolFormat("hermes", None, tokenizer)


def said(text: str) -> Generation:
    return Generation([], np.zeros(0, np.int32), np.zeros(0, np.float32), text, truncated=False)


def accepts(grammar: Grammar, text: str) -> bool:
    """Says whether the grammar lets exactly `text` be generated."""
    xgrammar = pytest.importorskip("xgrammar")
    assert grammar.kind == "structural_tag"
    compiled = xgrammar.Grammar.from_structural_tag(grammar.text)
    return bool(xgrammar.testing._is_grammar_accept_string(compiled, text))


def written(name: str, arguments: dict[str, Any]) -> str:
    return "<tool_call>" + json.dumps({"name": name, "arguments": arguments}) + "</tool_call>"


@pytest.mark.parametrize("parallel", [False, True])
def test_the_grammar_lets_well_formed_calls_through_and_nothing_else(hermes: ToolFormat, parallel: bool) -> None:
    grammar = hermes.grammar(tools_key([MOVE, WAIT]), parallel)
    assert hermes.grammar(tools_key([MOVE, WAIT]), parallel) is grammar, "made once"
    lines = {"", "\n"}
    assert any(
        accepts(grammar, written("make_move", {"position": 2}).replace(">{", f">{n}{{").replace("}<", f"}}{n}<"))
        for n in lines
    )
    for wrong in (
        "I move to 2.",
        "",
        written("make_move", {"position": 3}),
        written("make_move", {"position": "2"}),
        written("make_move", {}),
        written("make_move", {"position": 2, "more": 1}),
        written("fly", {"position": 2}),
    ):
        assert not any(accepts(grammar, wrong.replace(">{", f">{n}{{").replace("}<", f"}}{n}<")) for n in lines), wrong


@pytest.mark.parametrize(
    ("bad", "name", "arguments"),
    [
        ('{"name": "wait"}', "wait", ""),
        (
            '{"name": "make_move", "arguments": {"position": }}',
            "",
            '{"name": "make_move", "arguments": {"position": }}',
        ),
        ("make_move 2", "", "make_move 2"),
        ('{"name": "wait", "parameters": {"x": 2}}', "", '{"name": "wait", "parameters": {"x": 2}}'),
        ('{"name": "wait", "args": {}}', "", '{"name": "wait", "args": {}}'),
        ('{"name": ["wait"]}', "", '{"name": ["wait"]}'),
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_a_call_that_cannot_be_read_leaves_the_others(
    hermes: ToolFormat, bad: str, name: str, arguments: str, first: bool
) -> None:
    broken, good = f"<tool_call>{bad}</tool_call>", written("make_move", {"position": 2})
    message = hermes.parse(said("I move." + (broken + good if first else good + broken)), (MOVE, WAIT), None, 1)
    read = [(call.name, call.arguments) for call in message.tool_calls]
    wanted = [(name, arguments), ("make_move", '{"position": 2}')]
    assert read == (wanted if first else wanted[::-1]) and message.content == "I move."
    assert len({call.id for call in message.tool_calls}) == 2


@pytest.mark.parametrize(
    "arguments",
    ['{"text": "你好"}', '{"text":"\\u4f60\\u597d"}', '{ "a" : [1.0, 2e3],  "b": {"c": null} }', '{"text": "a\\/b"}'],
)
def test_arguments_stay_as_the_model_wrote_them(hermes: ToolFormat, arguments: str) -> None:
    parsed = hermes.parse(said(f'<tool_call>{{"name": "say", "arguments": {arguments}}}</tool_call>'), (MOVE,), None, 1)
    assert [call.arguments for call in parsed.tool_calls] == [arguments]
    forced = said(f'[{{"name": "say", "parameters": {arguments}}}]')
    read = hermes.parse(forced, (MOVE,), Grammar("json", "{}"), 1)
    assert [call.arguments for call in read.tool_calls] == [arguments]


@pytest.mark.parametrize(
    ("said_before", "arguments"),
    [
        ("", ['{"x": 1}', '{"x": true}']),
        ("", ['{"x": 1}', '{"x": 1.0}', '{"x":1}']),
        ("", ['{"x": 0}', '{"x": -0.0}', '{"x": false}']),
        ("", ['{"a": {"x":1}}', '{"x": 1}']),
        ('I will try {"x": 1} now.', ['{"x": true}']),
        ('I will try {"x":1} now.', ['{"x": 1}']),
        ('I take {"x": "\\u4f60"}.', ['{"x": "你"}']),
    ],
)
def test_no_call_has_the_arguments_of_another_place(hermes: ToolFormat, said_before: str, arguments: list[str]) -> None:
    calls = "\n".join(f'<tool_call>{{"name": "f", "arguments": {one}}}</tool_call>' for one in arguments)
    content, parsed = read(hermes, f"{said_before}\n{calls}")
    assert content == said_before and [written for _, written in parsed] == arguments


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ('[say(x="你好"), wait(x=]', [("say", '{"x": "你好"}'), ("", "wait(x=")]),
        ("[wait(x=, say(x=1)]", [("", "wait(x="), ("say", '{"x": 1}')]),
        ("[say(x=1), wait()", [("say", '{"x": 1}'), ("wait", "{}")]),
        ("[say(x=", [("", "say(x=")]),
        ("[see page 3]", []),
    ],
)
def test_a_pythonic_call_that_cannot_be_read_leaves_the_others(
    tokenizer: Any, text: str, calls: list[tuple[str, str]]
) -> None:
    say = ToolSchema("say", "", {"type": "object", "properties": {"x": {}}})
    content, parsed = read(ToolFormat("pythonic", None, tokenizer), text, (say, WAIT))
    assert parsed == calls and content == ("" if calls else text)


def test_a_bare_name_after_a_plain_call_is_a_call(tokenizer: Any) -> None:
    plain = ToolFormat("plain", None, tokenizer)
    text = 'wait\nmake_move {"position": 2}\nwait\nThen\nmake_move {"position": 5}\n  wait'
    content, calls = read(plain, text)
    assert content == "wait"
    assert calls == [("make_move", '{"position": 2}'), ("wait", ""), ("make_move", '{"position": 5}'), ("wait", "")]


@pytest.mark.parametrize(
    "arguments",
    [
        '{"text":"<reasoning>a</reasoning>"}',
        '{"text":"<think>x</think>a"}',
        '{"text":"[THINK]a[/THINK]b"}',
        '{"text":"write <think> first"}',
        '{"text":"ends with </think> mark"}',
    ],
)
def test_marks_of_thoughts_within_arguments_are_the_models(tokenizer: Any, arguments: str) -> None:
    plain = ToolFormat("plain", None, tokenizer)
    for before, thought in (("", None), ("<think>hm</think>Now.\n", "hm")):
        answer = plain.parse(said(f"{before}make_move {arguments}"), (MOVE,), None, 1)
        assert [(call.name, call.arguments) for call in answer.tool_calls] == [("make_move", arguments)]
        assert answer.reasoning == thought and answer.content == ("Now." if before else "")
    answer = plain.parse(said(f"<think>hm\nmake_move {arguments}\n</think>Now."), (MOVE,), None, 1)
    assert not answer.tool_calls and "\ufdd0" not in (answer.reasoning or "") + answer.content


def test_a_plain_call_within_a_thought_is_none(tokenizer: Any) -> None:
    plain, thought = (
        ToolFormat("plain", None, tokenizer),
        '<think>I could\nmake_move {"position": 2}\nbut no.</think>\n',
    )
    answer = plain.parse(said(f"{thought}Hello"), (MOVE,), None, 1)
    assert not answer.tool_calls and answer.content == f"{thought}Hello"
    answer = plain.parse(said(f'{thought}I move.\nmake_move {{"position": 5}}'), (MOVE,), None, 1)
    assert [call.arguments for call in answer.tool_calls] == ['{"position": 5}']
    assert answer.content == "I move." and "but no." in (answer.reasoning or "")


def test_only_parallel_calls_allow_several(hermes: ToolFormat) -> None:
    def can(parallel: bool) -> bool:
        grammar = hermes.grammar(tools_key([MOVE, WAIT]), parallel)
        one, two = written("make_move", {"position": 2}), written("wait", {})
        texts = [
            (one + separator + two).replace(">{", f">{n}{{").replace("}<", f"}}{n}<")
            for n in ("", "\n")
            for separator in ("", "\n")
        ]
        return any(accepts(grammar, text) for text in texts)

    assert can(True) and not can(False)


def read(
    hermes: ToolFormat, text: str, tools: tuple[ToolSchema, ...] = (MOVE, WAIT)
) -> tuple[str, list[tuple[str, str]]]:
    message = hermes.parse(said(text), tools, None, 7)
    assert message.role == "assistant" and message.reasoning is None
    assert len({call.id for call in message.tool_calls}) == len(message.tool_calls)
    return message.content, [(call.name, call.arguments) for call in message.tool_calls]


@pytest.mark.parametrize("space", ["", "\n"])
def test_well_formed_calls_are_read_in_order(hermes: ToolFormat, space: str) -> None:
    one = f'<tool_call>{space}{{"name": "make_move", "arguments": {{"position": 2}}}}{space}</tool_call>'
    two = f'<tool_call>{space}{{"name": "wait", "arguments": {{}}}}{space}</tool_call>'
    content, calls = read(hermes, one)
    assert content == "" and [(name, json.loads(arguments)) for name, arguments in calls] == [
        ("make_move", {"position": 2})
    ]
    content, calls = read(hermes, f"Let me see.\n{one}\n{two}")
    assert content == "Let me see." and [name for name, _ in calls] == ["make_move", "wait"]


def test_the_arguments_stay_as_wrong_as_they_were_written(hermes: ToolFormat) -> None:
    for value in ("x", 2.0, 9, None, [2]):
        _, ((name, arguments),) = read(hermes, written("make_move", {"position": value}))
        assert name == "make_move" and json.loads(arguments) == {"position": value}
    assert read(hermes, written("fly", {}))[1][0][0] == "fly"


@pytest.mark.parametrize(
    "attempt",
    ['{"name": "make_move", "arguments": {"position": ', "make_move(2)", "", '{"arguments": {}}', '["make_move"]'],
)
@pytest.mark.parametrize("closed", [True, False])
def test_a_call_that_cannot_be_read_is_still_a_call(hermes: ToolFormat, attempt: str, closed: bool) -> None:
    """A malformed call is returned as a call, so that it is answered with an error and not taken for words."""
    content, calls = read(hermes, f"Well. <tool_call>{attempt}" + "</tool_call>" * closed)
    assert content == "Well." and len(calls) == 1
    assert calls[0][0] not in ("make_move", "wait"), "and nobody guesses what it meant"


def test_words_are_words(hermes: ToolFormat) -> None:
    assert read(hermes, "I think 4 is best.") == ("I think 4 is best.", [])
    call = written("make_move", {"position": 2})
    assert read(hermes, call, tools=()) == (call, []), "without tools nothing is a call"


def test_the_ids_of_calls_are_the_seeds(hermes: ToolFormat) -> None:
    first, again, other = (
        hermes.parse(said(written("wait", {})), (WAIT,), None, seed).tool_calls[0].id for seed in (1, 1, 2)
    )
    assert first == again != other


def test_unknown_parsers_are_refused(hermes: ToolFormat) -> None:
    with pytest.raises(UserError, match="tool_parser: vLLM knows no 'hermess'"):
        ToolFormat("hermess", None, None)
    with pytest.raises(UserError, match="reasoning_parser: vLLM knows no 'thinker'"):
        ToolFormat(None, "thinker", None)


def test_forced_json_of_models_without_a_tag_is_read() -> None:
    plain = ToolFormat(None, None, None)
    assert not plain.reads_calls
    forced = plain.grammar(tools_key([MOVE]), False)
    assert forced.kind == "json" and json.loads(forced.text)["type"] == "array"
    message = plain.parse(said('[{"name": "make_move", "parameters": {"position": 2}}]'), (MOVE,), forced, 1)
    assert [(call.name, json.loads(call.arguments)) for call in message.tool_calls] == [("make_move", {"position": 2})]
    for broken in ('[{"name": "make_move"', '{"name": "x"}', "[3]", "3"):
        (call,) = plain.parse(said(broken), (MOVE,), forced, 1).tool_calls
        assert (call.name, call.arguments) == ("", broken)


def test_no_answer_breaks_the_reading_of_it() -> None:
    plain = ToolFormat("plain", None, None)
    deep = 'make_move {"a": ' + "[" * 5000
    (call,) = plain.parse(said(deep), (MOVE,), None, 1).tool_calls
    assert call.name == "make_move" and call.arguments == deep.removeprefix("make_move ")
    forced = ToolFormat(None, None, None).parse(said("[" * 5000), (MOVE,), Grammar("json", "{}"), 1)
    assert [call.name for call in forced.tool_calls] == [""]
