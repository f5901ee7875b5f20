"""Checks that boxes with only `and`, `or` or a comma between them are one answer."""

from __future__ import annotations

import time

import pytest
from processor import slowness

from ray_gym.envs.math.expected import LONGEST, why_unreadable
from ray_gym.envs.math.joined_boxes import with_boxes_joined
from ray_gym.envs.math.verification import verify_answer


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        ("2, 3", r"$x=\boxed{2}$ or $x=\boxed{3}$"),
        ("x = 2, x = 3", r"$x=\boxed{2}$ or $x=\boxed{3}$"),
        (r"$\boxed{2}$ and $\boxed{3}$", r"\boxed{2, 3}"),
        ("1, 2, 3", r"**\boxed{1}**, **\boxed{2}**, and **\boxed{3}**"),
        ("2, 3", r"\(x_1 = \boxed{2}, \quad x_2 = \boxed{3}\)"),
        ("(2, 2), (6, 2)", r"$$\boxed{(2, 2)} \quad \text{and} \quad \boxed{(6, 2)}$$"),
        ("k = 45, n = 2", r"$$\boxed{k = 45} \quad \text{and} \quad \boxed{n = 2}$$"),
        ("k = 45, n = 2", r"$k = \boxed{45}$ and $n = \boxed{2}$"),
        ("(5, 3)", r"$y = \boxed{3}$ and $x = \boxed{5}$"),
        (
            "(2,1),(1,2),(-1,-20),(-20,-1)",
            r"\[ \boxed{(1, 2)}, \boxed{(2, 1)}, \boxed{(-1, -20)}, \boxed{(-20, -1)} \]",
        ),
        (r"\frac12", r"\boxed{\frac12}, or \boxed{0.5}"),
        ("(1,2)", r"\begin{aligned} x &= \boxed{1}, \\ y &= \boxed{2} \end{aligned}"),
        ("2, 3", r"\boxed{2}\text{ cm} and \boxed{3}\text{ cm}"),
        ("3", r"\boxed{2} \\ \boxed{3}"),
        ("3", r"\boxed{2}. Or rather, \boxed{3}"),
        ("3", r"\boxed{3} and \boxed{3}"),
        (r"\frac{3}{4}", r"\boxed{\frac34}, \boxed{0.75}, \boxed{75\%}"),
        ("even", r"\boxed{\text{even}} and \boxed{\text{even}}"),
        ("Yes", r"\boxed{Yes}, \boxed{yes}, \boxed{Yes}"),
        ("5", r"\boxed{5 \text{ cm}}, \boxed{5}"),
        ("(2,3)", r"\boxed{(2,3)} \quad \boxed{(2, 3)}"),
        ("[2,5)", r"\boxed{[2,5)}, \boxed{2 \le x < 5}"),
        ("3", r"\boxed{1 + 2 = 3}, \boxed{3}"),
        ("3", r"\boxed{1} or \boxed{2}. Only one is left: \boxed{3}"),
        ("3", "\\boxed{2}\n\n\\boxed{3}"),
        ("3", r"\boxed{2} or rather \boxed{3}"),
    ],
)
def test_boxes_that_are_joined_are_one_answer(expected: str, answer: str) -> None:
    assert verify_answer(expected, answer)[0] == 1


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        ("3", r"\boxed{2} or \boxed{3}"),
        ("3", r"$x=\boxed{2}$ or $x=\boxed{3}$"),
        ("3", r"The answer is either \boxed{2} or \boxed{3}."),
        ("3", r"\boxed{2}, or maybe \boxed{3}"),
        ("3", r"\boxed{2} cm or \boxed{3} cm"),
        ("3", r"\boxed{2}, \boxed{3}"),
        ("3", r"\$\boxed{2} or \$\boxed{3}"),
        ("3", r"\boxed{2}^\circ or \boxed{3}^\circ"),
        ("3", r"\boxed{2} apples or \boxed{3} apples"),
        ("3", r"\boxed{2} (or \boxed{3})"),
        ("3", r"f(1) = \boxed{2} or f(1) = \boxed{3}"),
        ("3", r"\boxed{2} \\ \text{or} \\ \boxed{3}"),
        ("3", r"\boxed{2} \lor \boxed{3}"),
        ("3", r"\boxed{2} or alternatively \boxed{3}"),
        ("3", r"\boxed{2} cm and \boxed{3} cm"),
        ("3", r"\boxed{2} and also \boxed{3}"),
        ("even", r"\boxed{odd} or \boxed{even}"),
        ("even", r"\boxed{even}, \boxed{even}, \boxed{odd}"),
        ("(2,3)", r"\boxed{(2,3)}, \boxed{(3,2)}"),
        ("3", r"\boxed{1 + 2 = 3}, \boxed{4}"),
        ("k = 45, n = 2", r"$k = \boxed{2}$ and $n = \boxed{45}$"),
        ("(5, 3)", r"$x = \boxed{3}$ and $y = \boxed{5}$"),
    ],
)
def test_one_of_the_boxes_that_are_joined_is_no_answer(expected: str, answer: str) -> None:
    assert verify_answer(expected, answer)[0] == 0


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        (r"\boxed{1} and \boxed{2}, so \boxed{3}; \fbox{4}.", r"\boxed{1, 2}, so \boxed{3, 4}."),
        (r"\boxed{\boxed{2}, \boxed{3}}", r"\boxed{\boxed{2}, \boxed{3}}"),
        (r"\boxed{2} or \boxed{3", r"\boxed{2} or \boxed{3"),
        ("2 or 3", "2 or 3"),
    ],
)
def test_what_stands_between_boxes_is_left_as_it_is_unless_it_joins_them(text: str, joined: str) -> None:
    assert with_boxes_joined(text) == joined


def test_an_expected_answer_in_two_boxes_is_read_as_one() -> None:
    assert why_unreadable(rf"\boxed{{{'1' * LONGEST}}} and \boxed{{2}}") is not None


@pytest.mark.parametrize("between", ["", "{", " or ", " " * 90, "$" * 90, "," * 90, "a" * 90, "or " * 30, "x=" * 40])
@pytest.mark.clock
def test_no_boxes_take_long_to_join(between: str) -> None:
    began = time.process_time()
    with_boxes_joined(rf"\boxed{{2}}{between}" * 10_000)
    assert time.process_time() - began < 2 * slowness()


@pytest.mark.parametrize(
    "unit",
    [r"\boxed{1} or ", r"\boxed{\frac{x^2+1}{\sqrt{x}}}, ", r"\boxed{1}, \boxed{2} and ", r"$\boxed{x}$, "],
)
@pytest.mark.clock
def test_boxes_that_are_repeated_are_not_each_verified(unit: str) -> None:
    for other in ("6", "$\\boxed{y}$", "$\\boxed{y, y}$"):  # the first number, name and list make it import its modules
        verify_answer("5", other)
    began = time.process_time()
    assert verify_answer("5", unit * 400)[0] == 0
    assert time.process_time() - began < 0.15 * slowness()
