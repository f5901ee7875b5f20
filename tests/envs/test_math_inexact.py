"""Checks that a box which goes on behind a number, has two, or only tends to one is not that number."""

from __future__ import annotations

import pytest

from ray_gym.envs.math.verification import verify_answer


@pytest.mark.parametrize(
    ("expected", "box"),
    [
        ("12", r"12\ldots"),
        ("12", "12…"),
        ("3.14", r"3.14\dots"),
        ("6", r"6 \approx 7"),
        ("x=3", "x→3"),
        ("3 \\text{ cm}", "x→3"),
        ("x \\to 3", "x = 3"),
    ],
)
def test_a_box_is_not_the_number_that_it_begins_or_ends_with(expected: str, box: str) -> None:
    assert verify_answer(expected, f"\\boxed{{{box}}}")[0] == 0.0


@pytest.mark.parametrize(
    ("expected", "box"),
    [
        ("1, 2, 3, \\ldots", r"1, 2, 3, \ldots"),
        ("\\frac13", r"\frac13 \approx 0.333"),
        ("1234", r"1234 \approx 1200"),
        ("6.6", r"6.6 \approx 7"),
        ("7", r"x \approx 7"),
        ("3", "→3"),
        ("x \\to 3", r"x \rightarrow 3"),
    ],
)
def test_rounded_numbers_lists_that_go_on_and_arrows_before_values_are_read(expected: str, box: str) -> None:
    assert verify_answer(expected, f"\\boxed{{{box}}}")[0] == 1.0
