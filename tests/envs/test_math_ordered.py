"""Checks that ranges, sets of solutions and values in an order are told apart."""

from __future__ import annotations

import pytest

from ray_gym.envs.math.verification import verify_answer


@pytest.mark.parametrize(
    ("expected", "right", "wrong"),
    [
        ("2, 3", ["3, 2", r"\{3, 2\}", "(2,3)", r"x=3 \text{ or } x=2"], ["2 < x < 3", "3 > x > 2", r"x \in (2,3)"]),
        ("x=2, x=3", ["3, 2", r"x \in \{2, 3\}"], ["2 < x < 3", r"x \in (2,3)", "(2,3)"]),
        (r"\{2,3\}", ["2, 3", "3, 2"], ["2 < x < 3", "(2,3)"]),
        ("2<x<3", ["(2,3)", r"x \in (2,3)"], ["2, 3", r"\{2,3\}", "x=2, x=3"]),
        (r"x \in (2,3)", ["2<x<3", "(2,3)"], ["2, 3", "x=2, x=3"]),
        ("(2,3)", ["2<x<3", "2, 3", "x=2, y=3"], ["3, 2", r"\{2,3\}", "x=3, y=2"]),
    ],
)
def test_a_range_is_no_set_of_its_ends(expected: str, right: list[str], wrong: list[str]) -> None:
    _check(expected, right, wrong)


@pytest.mark.parametrize(
    ("expected", "right", "wrong"),
    [
        ("x=2, y=3", ["(2,3)", "2, 3", "y=3, x=2", r"2 \text{ and } 3"], ["(3,2)", "3, 2", "x=3, y=2", r"\{2,3\}"]),
        ("x=1, y=2, z=3", ["(1,2,3)", "1, 2, 3"], ["(3,2,1)", "(1,3,2)", "3, 2, 1"]),
        (r"a=\frac12, b=\sqrt2", [r"(0.5, \sqrt{2})"], [r"(\sqrt2, \frac12)", r"\sqrt2, \frac12"]),
        ("m=3, n=2", ["n=2, m=3", "(3,2)"], ["(2,3)"]),
        ("x=2, y=2", ["(2,2)", "2, 2"], ["(2,3)"]),
        ("2, 3", ["(2,3)"], ["(3,2)"]),
        ("1, 2, 3", ["3, 2, 1", "(1,2,3)"], ["(3,2,1)"]),
        ("x_1=2, x_2=3", ["3, 2", "2, 3"], ["3, 4"]),
    ],
)
def test_values_of_several_variables_have_an_order(expected: str, right: list[str], wrong: list[str]) -> None:
    _check(expected, right, wrong)


def test_a_range_is_no_set_of_its_ends_without_a_box() -> None:
    for answer in ("-1 < x < 1", "$-1 < x < 1$"):
        assert verify_answer("-1, 1", answer)[0] == 0
        assert verify_answer("(-1, 1)", answer)[0] == 1


def _check(expected: str, right: list[str], wrong: list[str]) -> None:
    for answer in right + wrong:
        assert verify_answer(expected, f"\\boxed{{{answer}}}")[0] == (answer in right), answer
