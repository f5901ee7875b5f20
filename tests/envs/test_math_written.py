"""Checks that numbers and functions count as they are commonly written: in groups, as ordinals, with upright names."""

from __future__ import annotations

import time

import pytest

from ray_gym.envs.math.notation import bare_expression
from ray_gym.envs.math.verification import verify_answer


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        ("0.12345", r"\boxed{0.123\,45}"),
        ("0.1234567", r"\boxed{0.123\,456\,7}"),
        ("1000", r"\boxed{1{ }000}"),
        ("1000", r"\boxed{1\,\!000}"),
        ("12", r"\boxed{12^{\text{th}}}"),
        ("12", r"\boxed{12\text{th}}"),
        ("3", r"\boxed{3^{rd}}"),
        (r"\ln 2", r"\boxed{\mathrm{ln}\,2}"),
        (r"\sin x", r"\boxed{sin(x)}"),
        (r"2\cos x", r"\boxed{2cos(x)}"),
        (r"\log_2 3", r"\boxed{log_2(3)}"),
    ],
)
def test_an_answer_counts_as_it_is_commonly_written(expected: str, answer: str) -> None:
    assert verify_answer(expected, answer)[0] == 1.0


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        ("0.123", r"\boxed{0.123\,45}"),
        ("12", r"\boxed{13\text{th}}"),
        (r"\frac{1}{12}", r"\boxed{12\text{th}}"),
        (r"\cos x", r"\boxed{sin(x)}"),
        (r"\ln 2", r"\boxed{\mathrm{ln}\,3}"),
    ],
)
def test_another_answer_does_not(expected: str, answer: str) -> None:
    assert verify_answer(expected, answer)[0] == 0.0


@pytest.mark.parametrize("part", ["0.123\\,", "\\,123", "1{ }", "12^{\\text{", "sin(", "\\text{ln"])
def test_no_expression_takes_long(part: str) -> None:
    began = time.process_time()
    bare_expression(part * 2_000)
    assert time.process_time() - began < 2
