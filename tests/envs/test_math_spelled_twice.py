"""Checks that a box may spell the expected value twice, and no other value beside it."""

from __future__ import annotations

import time

import pytest

from ray_gym.envs.math.spelled_twice import two_spellings
from ray_gym.envs.math.verification import verify_answer


@pytest.mark.parametrize(
    ("expected", "box"),
    [
        ("\\frac{1}{2}", r"\frac{1}{2} \text{ or } 0.5"),
        ("\\frac{1}{2}", r"0.5 \text{ or } \frac{1}{2}"),
        ("\\frac{1}{2}", r"\frac{1}{2} \text{ (or 0.5)}"),
        ("\\frac{1}{2}", r"\frac{1}{2} \text{ (or } 0.5\text{)}"),
        ("\\frac{1}{2}", r"\frac{1}{2} (\text{or } 0.5)"),
        ("3", r"3 \text{ (or } 3.0)"),
        ("(1,2)", r"(1,2) \text{ or } (1.0, 2)"),
        ("\\frac{1}{3}", r"\frac13 \text{, or } 0.\overline{3}"),
    ],
)
def test_a_value_that_is_spelled_twice_is_that_value(expected: str, box: str) -> None:
    assert verify_answer(expected, f"\\boxed{{{box}}}")[0] == 1.0


@pytest.mark.parametrize(
    ("expected", "box"),
    [
        ("\\frac{1}{2}", r"\frac{1}{2} \text{ or } 0.6"),
        ("\\frac{1}{2}", r"0.6 \text{ (or } \frac{1}{2}\text{)}"),
        ("\\frac{1}{3}", r"\frac{1}{3} \text{ or } 0.333"),
        ("5", r"5 \text{ or } -5"),
        ("12", r"12 \text{ or more}"),
        ("36", r"6^2 \text{ or } 36"),
        ("2", r"2 \text{ or } 2 \text{ or } 3"),
    ],
)
def test_a_value_beside_another_one_is_none(expected: str, box: str) -> None:
    assert verify_answer(expected, f"\\boxed{{{box}}}")[0] == 0.0


def test_a_box_is_split_in_linear_time() -> None:
    began = time.monotonic()
    for text in ("or " * 600, "a or " + "b" * 2000, r"\text{ (or }" * 150, "(" * 2000):
        assert two_spellings(text) is None
    assert time.monotonic() - began < 1
