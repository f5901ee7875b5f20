r"""Checks lists of words, whose style is none of the answer: `\text{A, C}` is `A,C`."""

from __future__ import annotations

import pytest

from ray_gym.envs.math.verification import verify_answer

SAME = [
    ("A,B,C", r"\text{A, B, C}"),
    ("B,D,E", r"\text{B,D,E}"),
    (r"\text{A,C}", "A, C"),
    ("A,C", r"\text{A and C}"),
    ("A,C", r"\text{C, A}"),
    ("A,C", r"\text{A},\ \text{C}"),
    ("A, B, and C", r"\text{A, B, C}"),
    ("Amy, Bob", r"\text{Amy}, \text{Bob}"),
    (r"\text{East, North}", "East, North"),
    ("A,B,C", r"\{\text{A}, \text{B}, \text{C}\}"),
]
OTHER = [
    ("A,B,C", r"\text{A, B}"),
    ("A,C", r"\text{A, B}"),
    ("A,C", r"\text{A, C, D}"),
    ("A,C", r"\text{A or C}"),
    ("A,C", r"\text{not A, C}"),
    (r"\text{Amy, Bob}", "Amy"),
]


@pytest.mark.parametrize(
    ("expected", "answer", "reward"), [*((*one, 1) for one in SAME), *((*one, 0) for one in OTHER)]
)
def test_the_words_of_a_list_are_compared(expected: str, answer: str, reward: int) -> None:
    for said in (rf"Thus it is \boxed{{{answer}}}.", f"The answer is ${answer}$."):
        assert verify_answer(expected, said)[0] == reward


def test_their_order_counts_where_the_question_asks_for_one() -> None:
    question = "Rank them from least to greatest."
    assert verify_answer("A,C,B", r"\boxed{\text{A, C, B}}", question)[0] == 1
    assert verify_answer("A,C,B", r"\boxed{\text{A, B, C}}", question)[0] == 0
