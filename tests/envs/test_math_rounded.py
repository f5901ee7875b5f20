"""Checks that a value which is given exactly and rounded is either, if it rounds to that."""

from __future__ import annotations

import pytest
from sympy import Pow, Rational, pi, sin

from ray_gym.envs.math.rounded import is_quick
from ray_gym.envs.math.verification import verify_answer


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        ("18.85", r"\boxed{6\pi \approx 18.85}"),
        ("18.85", r"\boxed{x = 6\pi \approx 18.85}"),
        ("18.85", r"\boxed{6\pi \text{ cm} \approx 18.85 \text{ cm}}"),
        (r"18.85 \text{ cm}", r"\boxed{6\pi \approx 18.85 \text{ cm}}"),
        (r"6\pi", r"\boxed{6\pi \approx 18.85}"),
        ("1.73", r"The answer is $\sqrt{3} \approx 1.73$."),
        ("0.67", r"\boxed{\frac{2}{3} \approx 0.67}"),
        ("1.50", r"\boxed{\frac32 ≈ 1.50}"),
        ("314", r"\boxed{100\pi \approx 314}"),
        ("13.5", r"\boxed{10e^{0.3} \approx 13.5}"),
        ("2.665", r"\boxed{2^{\sqrt{2}} \approx 2.665}"),
        ("0.0183", r"\boxed{e^{-2^2} \approx 0.0183}"),
        ("1.175", r"\boxed{\sinh(1) \approx 1.175}"),
        ("0.6435", r"\boxed{\arctan(3/4) \approx 0.6435}"),
        ("17", r"\boxed{10\sqrt{3} \approx 17 \text{ m}}"),
    ],
)
def test_exact_values_and_their_roundings_are_read(expected: str, answer: str) -> None:
    assert verify_answer(expected, answer)[0] == 1.0


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        ("3.15", r"\boxed{\pi \approx 3.15}"),
        ("3", r"\boxed{\pi \approx 3.14}"),
        ("7", r"\boxed{6 \approx 7}"),
        ("5", r"\boxed{5.4 \approx 5}"),
        ("5", r"\boxed{e^{10000000} \approx 5}"),
        ("5", r"\boxed{e^{e^{e^{9}}} \approx 5}"),
        ("5", r"\boxed{e^{10^{400}} \approx 5}"),
        ("5", r"\boxed{2^{\frac{0}{0}} \approx 5}"),
        ("5", r"\boxed{e^{e^{e^{e^9}}} \approx 5}"),
        ("5", r"\boxed{2^{e^{e^{9}}} \approx 5}"),
        ("1200", r"\boxed{x = 1249 \approx 1200}"),
        ("1000", r"\boxed{1600 \approx 1000}"),
        ("18.0", r"\boxed{17.6 \approx 18.0}"),
        ("18.85", r"\boxed{6x \approx 18.85}"),
        ("5", r"\boxed{2\cdot2.7 \approx 5}"),
        ("4", r"\boxed{x = \frac{7}{2} \approx 4}"),
        ("3", r"\boxed{\frac72 \approx 3}"),
        ("1000", r"\boxed{\frac{2500}{2} \approx 1000}"),
        ("300", r"\boxed{100\pi \approx 300}"),
        ("2", r"\boxed{\sqrt{-3} \approx 2}"),
        ("18.85", r"\boxed{6\pi \approx 18.85 \approx 19}"),
    ],
)
def test_what_does_not_round_to_it_is_no_value(expected: str, answer: str) -> None:
    assert verify_answer(expected, answer)[0] == 0.0


def test_a_decimal_is_rounded_where_that_is_asked_for() -> None:
    for expected, box in (
        ("2", r"1.99 \approx 2"),
        ("9900", r"9870 \approx 9900"),
        ("18.85", r"18.8496 \approx 18.85"),
        ("3", r"\frac{17}{5} \approx 3"),
    ):
        assert verify_answer(expected, rf"\boxed{{{box}}}", "Round to the nearest hundred, or hundredth.")[0] == 1.0
    assert verify_answer("2", r"\boxed{2.7 \approx 2}", "Round it.")[0] == 0.0


def test_exponents_within_one_another_are_bounded_together() -> None:
    inner = Pow(Pow(pi, 999, evaluate=False), 999, evaluate=False)
    assert not is_quick(Pow(2, sin(inner, evaluate=False), evaluate=False))
    assert is_quick(100 * Pow(Rational(201, 200), 360, evaluate=False))
