"""Checks values behind what they are the value of: a binomial, a determinant, a derivative, a remainder, a count."""

from __future__ import annotations

import pytest

from ray_gym.envs.math.verification import verify_answer

WAYS = "In how many ways can a committee of 3 be chosen from 7 people?"
REMAINDER = "What is the remainder when 9 is divided by 7?"


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        ("-2", r"\boxed{\det(A) = -2}"),
        ("-2", r"\boxed{\begin{vmatrix}1&2\\3&4\end{vmatrix}=-2}"),
        ("35", r"\boxed{\binom{7}{3} = 35}"),
        ("35", r"\boxed{{7 \choose 3} = 35}"),
        ("35", r"The answer is $\binom{7}{3} = 35$."),
        (r"\frac{5}{12}", r"\boxed{\frac{\binom{5}{1}}{12} = \frac{5}{12}}"),
        ("252", r"\boxed{252 = \binom{10}{5}}"),
        ("2x", r"\boxed{\frac{dy}{dx} = 2x}"),
        ("2", r"\boxed{\frac{dy}{dx} = 2}"),
        ("2x", r"\boxed{\frac{d}{dx}x^2 = 2x}"),
        ("x^2+C", r"\boxed{\int 2x\,dx = x^2+C}"),
        ("2x", r"\boxed{\frac{\partial f}{\partial x} = 2x}"),
    ],
)
def test_the_value_behind_what_it_is_of_is_the_answer(expected: str, answer: str) -> None:
    assert verify_answer(expected, answer)[0] == 1.0


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        ("35", r"\boxed{\binom{7}{3}}"),
        ("35", r"\boxed{x = \binom{7}{3}}"),
        ("35", r"\boxed{\binom{7}{3} = \frac{7!}{3!4!}}"),
        ("35", r"\boxed{\binom{7}{3} = 7 \cdot 5}"),
        ("36", r"\boxed{\binom{7}{3} = 36}"),
        ("x = 3, y = 10", r"\boxed{y = \binom52, x = 3}"),
        ("-2", r"\boxed{\det(A) = \begin{vmatrix}1&2\\3&4\end{vmatrix}}"),
        ("2x", r"\boxed{\frac{dy}{dx} = 3x}"),
    ],
)
def test_what_is_left_to_compute_or_false_is_none(expected: str, answer: str) -> None:
    assert verify_answer(expected, answer)[0] == 0.0


@pytest.mark.parametrize(
    ("expected", "answer", "question", "reward"),
    [
        ("35", r"\boxed{35 \text{ different ways}}", WAYS, 1),
        ("35", r"\boxed{35 \text{ possible committees}}", WAYS, 1),
        ("35", r"\boxed{35 \text{ combinations}}", WAYS, 1),
        ("35", r"\boxed{35 \text{ combinations}}", "How many roots are there?", 0),
        ("35", r"\boxed{35 \text{ hundred ways}}", WAYS, 0),
        ("35", r"\boxed{35 \text{ combinations}}", "It is 35 miles by the fastest way. How long is it?", 0),
        ("2", r"\boxed{2 \pmod{7}}", REMAINDER, 1),
        ("2", r"\boxed{2 \bmod 7}", REMAINDER, 1),
        ("2", r"\boxed{\text{remainder } 2}", REMAINDER, 1),
        ("2", r"\boxed{9 \bmod 7}", REMAINDER, 0),
        ("2", r"\boxed{2 \pmod{9}}", "What is the remainder when 9 is divided by 7?", 1),
        ("2", r"\boxed{2 \pmod{11}}", REMAINDER, 0),
        (r"3 \pmod{7}", r"\boxed{3 \pmod{7}}", "Solve 2x = 6 mod 7.", 1),
        ("2", r"\boxed{\text{quotient } 2}", REMAINDER, 0),
    ],
)
def test_words_of_what_is_counted_or_left(expected: str, answer: str, question: str, reward: float) -> None:
    assert verify_answer(expected, answer, question)[0] == reward


@pytest.mark.parametrize(
    ("expected", "answer", "reward"),
    [
        ("2,3", "Answer: 2 and 3", 1),
        ("2,3", "**Answer:** 2 and 3", 1),
        ("1,2,3", "The roots are 1, 2, and 3.", 1),
        (r"\{2,3\}", "The solutions are 2 and 3.", 1),
        ("2,3", "The numbers are 2 and 4.", 0),
        ("12", "The answer is 12. The factors used are 3 and 4.", 1),
        ("4", "Answer: 4\n\nDivisors: 1, 2, 3 and 6", 1),
        ("5", "The sum of 2 and 3 is 5.", 1),
        ("12", "The answer is 12.\n\n---\n\nNote: 5 were counted twice.", 1),
    ],
)
def test_several_numbers_and_a_rule_without_a_box(expected: str, answer: str, reward: float) -> None:
    assert verify_answer(expected, answer)[0] == reward


@pytest.mark.parametrize(
    ("answer", "reward"),
    [
        ("<|begin_of_box|>12<|end_of_box|>", 1),
        ("So the answer is <|begin_of_box|>$12$<|end_of_box|>. I used 5 steps.", 1),
        ("12, or <|begin_of_box|>13<|end_of_box|>", 0),
        ("<|begin_of_box|>12", 0),
    ],
)
def test_boxes_of_glm_are_read(answer: str, reward: float) -> None:
    assert verify_answer("12", answer)[0] == reward
