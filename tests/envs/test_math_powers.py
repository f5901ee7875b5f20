"""Checks which powers count as numbers, and which are left to compute."""

from __future__ import annotations

import time

import pytest
from processor import slowness
from sympy import Integer, Pow

from ray_gym.envs.math.powers import is_number_as_power
from ray_gym.envs.math.verification import verify_answer


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        ("1000000", r"\boxed{10^6}"),
        ("1000000", r"\boxed{10^{6}}"),
        ("1000000", r"\boxed{x = 10^6}"),
        ("1,000,000", r"\boxed{10^6 \text{ m}}"),
        ("1000000", "The answer is $10^6$."),
        ("-1000", r"\boxed{-10^3}"),
        ("0.001", r"\boxed{10^{-3}}"),
        ("1024", r"\boxed{2^{10}}"),
        ("1267650600228229401496703205376", r"\boxed{2^{100}}"),
        ("30000", r"\boxed{3 \times 10^4}"),
    ],
)
def test_a_power_that_is_shorter_than_its_value_is_a_number(expected: str, answer: str) -> None:
    assert verify_answer(expected, answer)[0] == 1, verify_answer(expected, answer)


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        ("36", r"\boxed{6^2}"),
        ("100", r"\boxed{10^2}"),
        ("1024", r"\boxed{2^{5 + 5}}"),
        ("1024", r"\boxed{4 \cdot 2^8}"),
        ("1023", r"\boxed{2^{10} - 1}"),
        ("100000", r"\boxed{10^6}"),
        ("1000000", r"\boxed{10^{-6}}"),
        ("0.125", r"\boxed{2^{-3}}"),
    ],
)
def test_other_powers_are_computations(expected: str, answer: str) -> None:
    assert verify_answer(expected, answer)[0] == 0


@pytest.mark.parametrize(
    "question", ["What is $2^{10}$?", "2^10 = ?", "Work out 2¹⁰", r"Compute $\left(2\right)^{10}$", "2**10"]
)
def test_a_power_of_the_question_is_no_answer(question: str) -> None:
    assert verify_answer("1024", r"\boxed{2^{10}}", question)[0] == 0
    assert verify_answer("1024", r"\boxed{1024}", question)[0] == 1


@pytest.mark.parametrize(("base", "exponent"), [(10, 10**9), (10**400, 3), (9, 10**4000), (0, 5), (1, 10**6)])
def test_no_power_is_carried_out_to_be_told(base: int, exponent: int) -> None:
    began = time.process_time()
    power = Pow(Integer(base), Integer(exponent), evaluate=False)
    assert not is_number_as_power(power, f"{'9' * 50}^{'9' * 50}") and time.process_time() - began < 0.5 * slowness()


def test_a_supposed_answer_is_none() -> None:
    said = r"\boxed{3}. If x were 2: \boxed{12}"
    assert verify_answer("3", said)[0] == 1 and verify_answer("12", said)[0] == 0
    assert verify_answer("12", r"If x were 2: \boxed{12}") == (0.0, "the box is taken back")
