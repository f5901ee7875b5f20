"""Checks which names are taken for a hook's."""

from __future__ import annotations

import pytest

from ray_gym.near_names import misspelt

HOOKS = ("setup", "opening", "relay", "run", "score", "score_group", "finished", "close", "check", "next_speaker")


@pytest.mark.parametrize(
    ("name", "hook"),
    [
        ("raley", "relay"),
        ("realy", "relay"),
        ("rnu", "run"),
        ("socre", "score"),
        ("colse", "close"),
        ("cehck", "check"),
        ("finsihed", "finished"),
        ("nextSpaeker", "next_speaker"),
    ],
)
def test_letters_in_each_others_place_are_a_slip(name: str, hook: str) -> None:
    assert misspelt(name, HOOKS) == hook


@pytest.mark.parametrize("name", ["layer", "early", "upset", "course", "runs_left", "turn", "ran"])
def test_another_word_of_the_same_letters_is_none(name: str) -> None:
    assert misspelt(name, ("setup", "relay", "run", "score")) is None
