"""Checks how many of a journal's records count as models' answers when an episode is cut and replayed."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from ray_gym.check.replay import count_model_calls
from ray_gym.journal.records import OTHER_CALLS, Called, Opened, encode

ANSWER = msgspec.Raw(msgspec.msgpack.encode(None))


def called(thread: str) -> bytes:
    return encode(Called("e", 0, 1, 0, 0, thread, 0, b"", 0.0, 0.0, 0.0, ANSWER))


@pytest.mark.parametrize("thread", ["tool look", "effect draw", "thread step"])
def test_calls_of_other_kinds_are_not_counted(thread: str) -> None:
    payloads = [encode(Opened("run", "1-0")), called("policy"), called(thread), called("policy/2")]
    assert count_model_calls(payloads) == 2


def test_each_kind_of_call_that_an_episode_names_is_known() -> None:
    episode = Path(__file__).parents[2] / "ray_gym" / "episode"
    text = "".join(file.read_text() for file in episode.glob("*.py"))
    assert set(re.findall(r'(?:in_order|_next_number)\(f"(\w+ )', text)) == set(OTHER_CALLS)
