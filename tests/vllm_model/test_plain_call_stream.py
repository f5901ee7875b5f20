"""Calls in lines of NAME {arguments}, read out of a text that comes in pieces."""

from __future__ import annotations

import random

import pytest

from ray_gym.deployments.chat.plain_calls import CallStream, read, read_beside_thoughts

TEXTS = [
    "Hello there, world.",
    'look {"at": 1}',
    'I look.\n\nlook {"at": 1}\nwait {}',
    "look\nand wait",
    "look {broken",
    'look {"at": 1}\nwait\nlook {}\nwait',
    "a {b} c",
    "say look {x}\nno call",
    "  \n look\n",
    'First.\nSecond line\nlook  {"text": "a\\nb {c}"}\n',
    'Set {1, 2}.\nwait {"at": 1} and wait {"at": 2}; no {}\n',
    "try {\n  f();\n}\nwait",
    "",
]


@pytest.mark.parametrize("text", TEXTS)
def test_however_it_is_cut_it_says_what_the_whole_says(text: str) -> None:
    content, calls = read(text, ["wait"])
    for seed in range(20):
        rng = random.Random(seed)
        stream, said, rest = CallStream(["wait"]), "", text
        while rest:
            size = rng.randint(1, 6)
            said += stream.feed(rest[:size])
            rest = rest[size:]
        held, found = stream.finish()
        assert found == calls
        assert (said + held).strip() == content.strip()
        if not calls:
            assert said + held == text


@pytest.mark.parametrize(
    ("text", "words", "calls"),
    [
        ("Set {1, 2, 3} has three members.", None, []),
        ("Here:\n\ntry {\n  f();\n}\nIt works now.", None, []),
        ("body {\n  color: red\n}", None, []),
        ("boxed{42}", None, []),
        ("Set {1}.\nlook {}", "Set {1}.", [("look", "{}")]),
        ('find {"a": 1}', "", [("find", '{"a": 1}')]),
        ("look {broken\nwait {}", "", [("look", "{broken"), ("wait", "{}")]),
        ('look {"a": 1} and wait {"b": 2}', "", [("look", '{"a": 1}'), ("wait", '{"b": 2}')]),
        ('look {"a": 1}; wait {"b": 2}, wait {}', "", [("look", '{"a": 1}'), ("wait", '{"b": 2}'), ("wait", "{}")]),
        ('look {"a": 1} and Set {1}\nwait {}', "", [("look", '{"a": 1}'), ("wait", "{}")]),
    ],
)
def test_words_with_braces_are_no_calls_and_no_call_is_lost(
    text: str, words: str | None, calls: list[tuple[str, str]]
) -> None:
    assert read(text, ["look", "wait"]) == (text if words is None else words, calls)


def test_words_are_not_held_back() -> None:
    stream = CallStream()
    assert [stream.feed(piece) for piece in ("Well, ", "I ", "see", ".\n", "lo", "ok", " {")] == [
        "Well,",
        " I",
        " see",
        ".",
        "",
        "",
        "",
    ]


NAMES = ("go", "über", "读取", "mcp__a/b", "1st")


@pytest.mark.parametrize(
    ("text", "words", "calls"),
    [
        ('über {"p": "x"}', "", [("über", '{"p": "x"}')]),
        ('go {}\n读取 {"p": "x"}', "", [("go", "{}"), ("读取", '{"p": "x"}')]),
        ('So:\nmcp__a/b {"p": 1} and 读取 {}', "So:", [("mcp__a/b", '{"p": 1}'), ("读取", "{}")]),
        ("1st {\nmcp__a/b", "", [("1st", "{"), ("mcp__a/b", "")]),
        ('输出 {"a": 1}', None, []),
        ('Hier drüber {"a": 1}', None, []),
    ],
)
def test_a_tool_may_have_any_name(text: str, words: str | None, calls: list[tuple[str, str]]) -> None:
    assert read(text, NAMES) == (text if words is None else words, calls)
    assert read_beside_thoughts(f"<think>x</think>{text}", NAMES)[2] == calls
    stream = CallStream(NAMES)
    said = "".join(map(stream.feed, text))
    held, found = stream.finish()
    assert found == calls and said + held == (text if words is None else words)
