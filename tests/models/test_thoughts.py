"""Checks how thoughts in a text are told from its words."""

from __future__ import annotations

import time

import pytest

from ray_gym.messages import Message
from ray_gym.models.thoughts import tell_apart, with_thoughts_apart


@pytest.mark.parametrize(
    ("text", "thoughts", "said"),
    [
        ("Hello.", "", "Hello."),
        (" Hello. ", "", " Hello. "),
        ("<think>hm</think>Hello.", "hm", "Hello."),
        ("<think>\nhm\n</think>\n\nHello.", "hm", "Hello."),
        ("hm</think>Hello.", "hm", "Hello."),
        ("<think>a</think>One. <think>b</think>Two.", "a\nb", "One. Two."),
        ("One. <think>b</think>", "b", "One."),
        ("hm </think>A <think>b</think> C <think>d", "hm\nb", "A  C <think>d"),
        ("<think>cut", "cut", ""),
        ("  <think>cut", "cut", ""),
        ("Write <think> before a thought.", "", "Write <think> before a thought."),
        ("[THINK]hm[/THINK]Hello.", "hm", "Hello."),
        ("<think></think>Hello.", "", "Hello."),
        ("", "", ""),
    ],
)
def test_thoughts_and_words(text: str, thoughts: str, said: str) -> None:
    assert tell_apart(text) == (thoughts, said)


def test_thoughts_join_those_that_an_engine_has_found() -> None:
    told = with_thoughts_apart(Message("assistant", "<think>b</think>Hi.", reasoning="a"))
    assert (told.content, told.reasoning) == ("Hi.", "a\nb")
    plain = Message("assistant", "Hi.")
    assert with_thoughts_apart(plain) is plain


@pytest.mark.parametrize("text", ["<think>" * 100_000, "</think>" * 100_000, "<think>a</think>" * 50_000])
def test_no_text_takes_long(text: str) -> None:
    began = time.process_time()
    tell_apart(text)
    assert time.process_time() - began < 1
