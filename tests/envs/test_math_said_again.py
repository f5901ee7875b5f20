"""Checks that an answer which is said again behind its box, rounded or checked stays right."""

from __future__ import annotations

import pytest

from ray_gym.envs.math.verification import verify_answer


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        ("(3,4)", "\\boxed{(3,4)}\n\nAnswer: (3, 4)"),
        ("(3,4)", "\\boxed{(3,4)}\n\n**Final Answer:** (3, 4)"),
        ("3, 4", "\\boxed{3, 4}\n\nThe answer is 3, 4."),
        ("3, 4", "\\boxed{3,4}\nAnswer: x = 3, x = 4"),
        ("\\frac13", "\\boxed{\\frac13}\nThe answer is 0.333."),
        ("2\\sqrt{3}", "\\boxed{2\\sqrt3}\n\nNumerically, the answer is 3.4641."),
        ("3", "\\boxed{3}. Let me double-check: for x = 3 the value is 7, as the problem says."),
        ("3", "\\boxed{3}\n\nLet me double check: 2*3 + 1 = 7. The sum is 7."),
        ("12", "The answer is 12. Is it 13? No."),
        ("2", "\\boxed{2}\n\nA common mistake: the answer is 5."),
    ],
)
def test_it_stays_right(expected: str, answer: str) -> None:
    assert verify_answer(expected, answer)[0] == 1


@pytest.mark.parametrize(
    "answer",
    [
        "\\boxed{12}\n\nHmm, let me recheck. 3*5=15. So the answer is 15.",
        "\\boxed{12}\nThe answer is 12.4.",
        "\\boxed{12}\n\nThe answer is 13, as one was forgotten.",
    ],
)
def test_another_value_is_none(answer: str) -> None:
    assert verify_answer("12", answer)[0] == 0


def test_the_question_has_the_order_of_other_names() -> None:
    question = "Find the ordered pair (p, m)."
    assert verify_answer("(1,2)", "\\boxed{p = 1, m = 2}", question)[0] == 1
    assert verify_answer("(1,2)", "\\boxed{p = 2, m = 1}", question)[0] == 0
    assert verify_answer("(1,2)", "\\boxed{y = 2, x = 1}", "Find (x, y).")[0] == 1


@pytest.mark.parametrize("answer", ["答案是12。", "答えは12です。", "答案是12元。", "所以答案是**12**。"])
def test_a_number_in_chinese_or_japanese(answer: str) -> None:
    assert verify_answer("12", answer)[0] == 1


@pytest.mark.parametrize(
    "answer",
    [
        "答案是12万。",
        "答案是负12。",
        "答案是12分之1。",
        "答案是12又1/2",
        "答案是12倍。",
        "答案是12到13。",
        "答えは12以上です。",
        "答案可能是12。",
    ],
)
def test_one_that_another_word_changes(answer: str) -> None:
    assert verify_answer("12", answer)[0] == 0
