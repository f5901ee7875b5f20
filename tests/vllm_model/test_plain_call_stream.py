"""Calls in lines of NAME {arguments}, read out of a text that comes in pieces."""

from __future__ import annotations

import random

import pytest

from ray_gym.deployments.chat.plain_calls import CallStream, read

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
