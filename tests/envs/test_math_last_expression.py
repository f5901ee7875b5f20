"""Checks answers without a box that end with an expression, which is read as if it were in one."""

from __future__ import annotations

from time import process_time

import pytest

from ray_gym.envs.math.last_expression import last_expression
from ray_gym.envs.math.verification import verify_answer

VECTOR = r"3\mathbf{i}+4\mathbf{j}"


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        (r"v_{\text{max}}", r"The answer is $v_{\text{max}}$."),
        (r"v_{\text{max}}", r"The answer is \(v_{\mathrm{max}}\)."),
        (r"\lg 5", r"The answer is $\lg 5$."),
        ("3-5", "The answer is $3-5$."),
        ("3-5", r"So the range: \[3\text{-}5\]"),
        (r"\frac{1}{6}", r"The answer is $P(\text{red}) = \frac16$."),
        (r"\frac{1}{6}", r"The answer is $P(\text{sum is 7})=\frac{6}{36}=\frac16$."),
        (r"P(\text{red})=\frac{1}{6}", r"The answer is $P(\text{red}) = \frac16$."),
        ("a+2d", "The answer is $a+2d$."),
        ("a_1+2d", "The answer is $a_1+2d$."),
        (r"x=\lg 3", r"$x=\lg 3$"),
        ("x**2-1", "$x**2-1$"),
        (r"10^{\lg 2}", r"$10^{\lg 2}$"),
        (VECTOR, rf"The answer is {VECTOR}."),
        (VECTOR, rf"**{VECTOR}**"),
        (VECTOR, "The answer is 3i+4j."),
        (VECTOR, r"It is $3\hat{\mathbf{i}}+4\hat{\mathbf{j}}$."),
    ],
)
def test_what_is_right_in_a_box_is_right_at_the_end(expected: str, answer: str) -> None:
    assert verify_answer(expected, answer)[0] == 1.0


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        (r"v_{\text{max}}", r"The answer is $v_{\text{min}}$."),
        (r"\frac{1}{6}", r"The answer is $P(\text{red}) = \frac15$."),
        ("3-5", "The answer is $3-6$."),
        (VECTOR, "The answer is 3i-4j."),
        (VECTOR, "The answer is $3i+7j$."),
        ("x+1", "The answer is not x+1."),
        ("x^2+1", "It is $x^2$ or $x^2+1$."),
        ("5", "The answer is not $5$."),
    ],
)
def test_what_is_wrong_in_a_box_is_wrong_at_the_end(expected: str, answer: str) -> None:
    assert verify_answer(expected, answer)[0] == 0.0


@pytest.mark.parametrize(
    "end", [r"\sqrt 2", "2x+1", "x + 2", "(1, 2)", r"\log 2", r"\sin 2", r"2\sqrt3+1", r"\sqrt 4", r"$\sqrt 2$"]
)
def test_a_number_within_the_last_expression_is_not_the_answer(end: str) -> None:
    assert verify_answer("2", f"The answer is {end}.")[0] == 0.0


@pytest.mark.parametrize(
    "answer",
    [
        rf"\boxed{{{VECTOR}}}",
        r"\boxed{3i+4j}",
        r"\boxed{3\hat i+4\hat j}",
        r"\boxed{3\mathbf{\hat{i}}+4\mathbf{\hat{j}}}",
    ],
)
def test_unit_vectors_are_the_same_with_a_hat_and_without(answer: str) -> None:
    for expected in (VECTOR, r"3\hat{i}+4\hat{j}", r"3\hat{\mathbf{i}}+4\hat{\mathbf{j}}"):
        assert verify_answer(expected, answer)[0] == 1.0
        assert verify_answer(expected, answer.replace("+", "-"))[0] == 0.0


@pytest.mark.parametrize(
    "answer",
    [
        r"\boxed{\frac{3\hat{i}+4\hat{j}}{5}}",
        r"\boxed{\frac{3\hat{\mathbf{i}}+4\hat{\mathbf{j}}}{5}}",
        r"\boxed{\frac{3\mathbf{\hat{i}}+4\mathbf{\hat{j}}}{5}}",
        r"\boxed{\frac{1}{5}(3\hat{i}+4\hat{j})}",
        r"\boxed{\mathbf{\frac{3\hat{i}+4\hat{j}}{5}}}",
        r"\boxed{\frac{3}{5}\hat{i}+\frac{4}{5}\hat{j}}",
        r"\boxed{{\frac35\mathbf{i}+\frac45\mathbf{j}}}",
    ],
)
def test_unit_vectors_leave_the_braces_around_them(answer: str) -> None:
    for expected in (r"\frac{3\hat{i}+4\hat{j}}{5}", r"\frac{3\mathbf{i}+4\mathbf{j}}{5}"):
        assert verify_answer(expected, answer)[0] == 1.0
        assert verify_answer(expected, answer.replace("+", "-"))[0] == 0.0


@pytest.mark.parametrize("text", [r"\text{", r"\text{a}", r"\a", "= ", "is ", "$", r"\(", "a b "])
def test_an_expression_is_found_in_linear_time(text: str) -> None:
    started = process_time()
    last_expression(text * 10_000 + "$")
    assert process_time() - started < 1


def test_what_a_long_text_ends_with_is_no_expression_where_its_beginning_is_cut() -> None:
    assert last_expression(r"\text{a}" * 60) is None
    assert last_expression("so " * 200 + "x = 5") == "5"
