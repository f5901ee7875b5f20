"""Checks which known name is meant by one that is not known."""

from __future__ import annotations

import pytest

from ray_gym.likely_names import nearest_name


@pytest.mark.parametrize(
    ("given", "known"),
    [
        ("max_steps", "max_steps_per_turn"),
        ("deadline", "call_deadline_s"),
        ("gen", "generate"),
        ("wrokers", "workers"),
        ("maxTurns", "max_turns"),
        ("max_turn", "max_turns"),
        ("output_dir", "output"),
        ("bb", "b"),
    ],
)
def test_a_name_that_is_likely(given: str, known: str) -> None:
    assert nearest_name(given, ["zzz", known]) == known


@pytest.mark.parametrize(
    ("given", "known"),
    [
        ("max_tokens", "max_turns"),
        ("max_steps", "max_cost"),
        ("top_p", "stop_text"),
        ("seed", "service"),
        ("split", "limit"),
        ("temperature", "max_steps_per_turn"),
        ("nothere", "serve"),
        ("", "x"),
        ("_", "a_b"),
    ],
)
def test_a_name_that_means_something_else(given: str, known: str) -> None:
    assert nearest_name(given, [known]) is None


def test_the_beginning_of_a_name_goes_before_letters_alike() -> None:
    assert nearest_name("max_steps", ["max_stops", "max_steps_per_turn"]) == "max_steps_per_turn"
