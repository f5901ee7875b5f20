"""Checks that half of a surrogate pair in JSON text is replaced, also where the text comes in pieces."""

from __future__ import annotations

import json

import pytest

from ray_gym.half_pairs import HalfPairs, without_halves


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (r'"a\ud83d b"', r'"a? b"'),
        (r'"a\uDE00"', r'"a?"'),
        (r'"\ud83d\ude00"', r'"\ud83d\ude00"'),
        (r'"\ud83d\ud83d\ude00\udE00"', r'"?\ud83d\ude00?"'),
        (r'"\\ud83d \\\ud83d \n\u4f60\""', r'"\\ud83d \\? \n\u4f60\""'),
        (r'"\ud83d\n"', r'"?\n"'),
        (r'"\ud8"', r'"\ud8"'),
        ('"你 ü"', '"你 ü"'),
        ("", ""),
    ],
)
def test_halves_are_replaced(text: str, read: str) -> None:
    assert without_halves(text) == read
    for size in range(1, 14):
        pairs, data = HalfPairs(), text.encode()
        pieces = [pairs.feed(data[at : at + size]) for at in range(0, len(data), size)]
        assert b"".join([*pieces, pairs.end()]).decode() == read


def test_what_is_whole_is_not_kept_back() -> None:
    for text in (r'{"a": "\ud83d\ude00"}', r'{"a": "\u4f60"}', r'{"a": "\\"}', r'{"a": "\n"}'):
        assert HalfPairs().feed(text.encode()).decode() == text
        assert json.loads(without_halves(text)) == json.loads(text)
