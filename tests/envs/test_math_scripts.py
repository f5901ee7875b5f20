"""Checks units and words in other letters than A to Z, what dresses an answer without a box, and unreadable answers."""

# ruff: noqa: RUF001

from __future__ import annotations

import time

import pytest
from processor import slowness

from ray_gym.envs.math.environment import Mathematics, MathTask
from ray_gym.envs.math.expected import why_unreadable
from ray_gym.envs.math.prose import without_quotes
from ray_gym.envs.math.scripts import is_named_in, with_latin_units, without_other_words
from ray_gym.envs.math.verification import verify_answer


@pytest.mark.parametrize(
    ("expected", "right", "wrong"),
    [
        ("12 см", ["12", r"12\text{ см}", "12 cm"], [r"13\text{ см}", r"12\text{ м}"]),
        ("12元", ["12", r"12\text{元}", "¥12", "￥12"], ["12美元", "12万元"]),
        (
            "12",
            ["12元", "12个", r"12\text{厘米}", r"12\text{ 元}", "12円", "12 명", "12 руб.", "12 м²"],
            ["12万", "12亿"],
        ),
        ("12", ["₽12", "12₽", "₱12", "Rs. 12", r"\text{Rs. }12"], ["12倍", "12个以上", "12不对", "12点5", "12米以下"]),
        ("₱12", ["12", "₱12"], ["₽12", "13"]),
        ("12 яблок", ["12", r"12\text{ яблок}"], ["12 груш", "13 яблок"]),
        ("12 тысяч", ["12 тысяч"], ["12"]),
        ("12 ألف", ["12 ألف", r"12\text{ ألف}"], ["12"]),
        ("60千米/小时", ["60", "60千米/时", "60 km/h"], ["60 m/s"]),
        ("12平方厘米", [r"12\text{ cm}^2", "12"], [r"12\text{ cm}"]),
        ("3小时20分钟", [r"3\text{小时}20\text{分钟}", "3 hours 20 minutes"], ["3", "20"]),
        (r"2\sqrt{3}", [r"2\sqrt{3}厘米"], []),
        ("是", [r"\text{是}", "是"], ["不是", "否"]),
        ("да", [r"\text{да}", "Да"], ["нет"]),
        (r"\text{星期三}", ["星期三"], ["星期四"]),
        ("हाँ", [r"\text{हाँ}"], []),
        ("αβ", [r"\beta\alpha"], []),
        ("≤3", [r"\le 3", r"\leqslant 3", "<= 3"], [r"\ge 3", "< 3", "3", r"\le 4"]),
        ("x ∈ ℝ", [r"x \in \mathbb{R}"], []),
    ],
)
def test_units_and_words_count_in_any_letters(expected: str, right: list[str], wrong: list[str]) -> None:
    for answer in right + wrong:
        assert verify_answer(expected, f"\\boxed{{{answer}}}")[0] == (answer in right), answer


@pytest.mark.parametrize(
    ("answer", "question", "value"),
    [
        ("12 яблок", "Сколько яблок у Маши?", 1),
        ("12 груш", "Сколько яблок у Маши?", 0),
        ("12个苹果", "有多少个苹果？", 1),
        ("12个梨", "有多少个苹果？", 0),
        ("12 млн", "Сколько млн?", 0),
        ("12倍", "几倍？", 0),
    ],
)
def test_words_of_the_question_count_in_other_letters(answer: str, question: str, value: float) -> None:
    assert verify_answer("12", f"\\boxed{{{answer}}}", question)[0] == value


@pytest.mark.parametrize(
    "answer",
    [
        "Answer:12",
        "The final answer is:12.",
        "**Answer:**12",
        "The answer is *12*.",
        "The answer is __12__.",
        "The answer is (12).",
        "The answer is twelve (12).",
        "The answer is “12”.",
        "The answer is '12'.",
        "The answer is +12",
        "→12",
        "=>12",
        "The answer is <b>12</b>.",
        "所以答案是**12**。",
        "答案是12个。",
    ],
)
def test_what_dresses_a_value_in_prose_does_not_count(answer: str) -> None:
    assert verify_answer("12", answer)[0] == 1
    assert verify_answer("13", answer)[0] == 0


@pytest.mark.parametrize(
    "answer",
    [
        "The answer is eleven (12).",
        "It follows from equation (12).",
        "The answer is (12)!",
        "The answer isn't:12",
        'The answer is "12" or "13".',
        "The answer is 'x12'",
        "The answer is (12, 3).",
        "≤12",
    ],
)
def test_no_other_value_is_undressed(answer: str) -> None:
    assert verify_answer("12", answer)[0] == 0


@pytest.mark.parametrize(
    ("expected", "wrong"),
    [
        ("\\boxed{}", "no expression"),
        ("$", "no expression"),
        ("9" * 5000, "5,000 characters"),
        ("[1, 2", "not closed"),
        ("\\left( 1, 2 \\right", "not closed"),
        ("\\frac{1}{2", "not closed"),
    ],
)
def test_a_row_that_nothing_could_equal_is_a_bad_one_without_a_judge(expected: str, wrong: str) -> None:
    task = MathTask(question="Which?", expected_answer=expected)
    with pytest.raises(ValueError, match=f"expected_answer: .*{wrong}"):
        Mathematics(Mathematics.Options(judge=False)).check(task)
    Mathematics().check(task)


@pytest.mark.parametrize(
    "expected", ["[2, 5)", "]3, 4[", "]1, 2]", "a) 5", "\\left\\{\\begin{cases} x=1 \\\\ y=2 \\end{cases}\\right.", "-"]
)
def test_others_are_good(expected: str) -> None:
    assert why_unreadable(expected) is None


@pytest.mark.parametrize(
    "part", ["12个", "12 км/", "“1", "'1", "*1", "__1", "<b>1", "(1", "is (1", ":1", "→1", "==", "Rs.", "个 "]
)
def test_nothing_takes_long(part: str) -> None:
    began = time.process_time()
    text = part * 10_000
    with_latin_units(text), without_other_words(text), without_quotes(text), is_named_in(text, text, text)
    why_unreadable(text[:1900])
    assert time.process_time() - began < slowness()
