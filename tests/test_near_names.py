"""Checks which names are taken for a hook's."""

from __future__ import annotations

import pytest

from ray_gym.near_names import misspelt

HOOKS = ("setup", "opening", "relay", "run", "score", "finished", "close", "check", "next_speaker", "render")


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("apart", [1, 2])
def test_letters_in_each_others_place_are_a_slip(hook: str, apart: int) -> None:
    """The first letter is seldom the wrong one: `raley`, `rnu`."""
    for at in range(1, len(hook) - apart):
        letters = list(hook)
        letters[at], letters[at + apart] = letters[at + apart], letters[at]
        assert misspelt("".join(letters), HOOKS) == hook


@pytest.mark.parametrize("name", ["layer", "early", "upset", "course", "runs_left", "turn", "ran", "open", "reach"])
def test_another_word_of_the_same_letters_is_none(name: str) -> None:
    assert misspelt(name, ("setup", "relay", "run", "score")) is None
