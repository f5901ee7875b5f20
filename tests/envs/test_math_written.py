"""Checks that numbers and functions count as they are commonly written: in groups, as ordinals, with upright names."""

from __future__ import annotations

import time

import pytest
from processor import slowness

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
        ("5", r"\boxed{5\,\text{k}\Omega}"),
        ("5", r"\boxed{5\,\mathrm{k}\Omega}"),
        (r"5k\Omega", r"\boxed{5\text{ k}\Omega}"),
        (r"5\text{ kilohms}", r"\boxed{5\,\text{k$\Omega$}}"),
        (r"5\,\mu\Omega", r"\boxed{5\ \mathrm{\mu\Omega}}"),
        ("5", r"\boxed{5.\!}"),
        ("1000", "\\boxed{1\u2019000}"),
        ("1000", r"\boxed{1\mspace{3mu}000}"),
        ("12", r"\boxed{12\text{ (twelve)}}"),
        ("21", r"\boxed{21 (twenty-one)}"),
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
        (r"5\Omega", r"\boxed{5k\Omega}"),
        (r"5\text{ M}\Omega", r"\boxed{5\text{ k}\Omega}"),
        ("5000", r"\boxed{5\text{k}\Omega}"),
        ("12", r"\boxed{12\text{ (eleven)}}"),
        ("1", "\\boxed{1\u2019000}"),
        ("120", r"\boxed{5.\!!}"),
    ],
)
def test_another_answer_does_not(expected: str, answer: str) -> None:
    assert verify_answer(expected, answer)[0] == 0.0


@pytest.mark.parametrize(
    "part", ["0.123\\,", "\\,123", "1{ }", "12^{\\text{", "sin(", "\\text{ln", "1 (", "1\u2019", "\\!"]
)
def test_no_expression_takes_long(part: str) -> None:
    began = time.process_time()
    bare_expression(part * 2_000)
    assert time.process_time() - began < 2 * slowness()
