"""Checks answers without a box that announce a value, and end with another expression."""

from __future__ import annotations

from time import process_time

import pytest
from processor import slowness

from ray_gym.envs.math.announced import announced_value
from ray_gym.envs.math.verification import verify_answer


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        ("12", "The answer is 12. Check: 12 - 5 = 7"),
        ("12", "Answer: $12$. Check: 12 - 5 = 7"),
        ("12", "The answer is 12 cm. The number of boys is 3."),
        (r"12 \text{ cm}", "The answer is $12$ cm. The number of boys is 3."),
        ("12", "The final answer is 12 (see above). Check: 12 - 5 = 7"),
        ("12", "The answer is **12** (option B). Check: 12 - 5 = 7"),
        ("12", "The answer is 12 \u2013 see above. Check: 12 - 5 = 7"),
        ("12", "**Answer:** 12 apples. The number of boys is 3."),
        (r"5\pi", "The answer is 5π, where r = 7."),
        (r"5\pi", r"The final answer is $5\pi$ and n = 7"),
        ("(2,3)", "The answer is $(2,3)$, with r = 7."),
        ("[2,5)", "The answer is [2, 5), since x = 5."),
        ("2x+3", "The answer is 2x + 3, where x = 7."),
    ],
)
def test_an_announced_value_is_read_as_in_a_box(expected: str, answer: str) -> None:
    assert verify_answer(expected, answer)[0] == 1.0
    for other in ("3", "7"):
        assert verify_answer(other, answer)[0] == 0.0


@pytest.mark.parametrize("announced", ["The answer is {}", "The final answer is {}", "Answer: {}", "**Answer:** {}"])
@pytest.mark.parametrize(("number", "value"), [("5", "5π"), ("5", "5x"), ("2", "2√3"), ("3", "3/4"), ("2", "(2, 3)")])
def test_a_number_within_an_announced_value_is_not_the_answer(number: str, value: str, announced: str) -> None:
    for rest in (". The radius is 7", ", where r = 7.", "\n\nScore: 7/7", " since the radius is 7.", " because r = 7"):
        assert verify_answer(number, f"{announced.replace('{}', value)}{rest}")[0] == 0.0


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        (r"6\pi", "The answer is 2πr, where r is the radius. The radius is 3, so the circumference is 6π."),
        (r"6\pi", "The answer is 2 · π · 3. That is 6π."),
        (r"6\pi", "If r = 1 the answer is 2π. With r = 3 it is 6π."),
        (r"6\pi", "A common wrong answer is 9π, since the area is easily confused. The circumference is 6π."),
        (r"6\pi", "First I thought that the answer is 6, but I forgot π. The circumference is 6π."),
        (r"6\pi", "To get the answer: 1. Find the radius. 2. Multiply by 2π.\n\nSo the circumference is 6π."),
        (r"6\pi", "The answer is 3 times the area. A = 6π"),
        (r"6\pi", "The answer is 4π. Wait, A = 6π"),
        (r"\frac{3}{4}", "The answer is 1 minus that of none. That is 1/4, so the probability is 3/4."),
        (r"\frac{3}{4}", r"The answer is $1 - \frac14$. So it is $\frac34$."),
        (r"\frac{3}{4}", "The answer is 3 of 4 cards. So the probability is 3/4."),
        (r"2\sqrt{3}", r"The answer is \sqrt{12}. Hence x = 2\sqrt{3}"),
        (r"2\sqrt{3}", "We can find the answer: 3 + 4 = 7. x = 2√3"),
        ("15", "The answer is 3 times 5. So it is 15."),
        ("15", "The answer is 30 divided by 2. That is 15."),
        ("15", "The answer is 20% of 75. 0.2 · 75 = 15"),
        ("15", "I thought the answer is 12, but it is 15."),
        ("15", "The answer is 12. Oops, it is 15."),
        ("15", "For part 1, the answer is 12. For part 2 it is 15."),
        ("15", "At first glance the answer is 12. But counting again, it is 15."),
    ],
)
def test_a_conclusion_behind_an_announced_value_counts_too(expected: str, answer: str) -> None:
    assert verify_answer(expected, answer)[0] == 1.0


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        ("3", "The answer is 2πr where r = 3. So the point is (2, 3)."),
        ("2", "The answer is 2 more than the square. it is 2n+1."),
        ("2", "The answer is 3 times the radius. So x = 2√3."),
        ("5", "The answer is 3 times the radius. So 2x = 5."),
        ("5", "The final answer is 6. So y = 5"),
        ("5", "The answer is 6. Then y = 5."),
        ("1", "To get the answer: 1. Find the radius. 2. Multiply by 2π.\n\nSo the circumference is 6π."),
        ("9", "A common wrong answer is 9, since the area is easily confused. The circumference is 6π."),
        ("1", "The answers are 1, 2 and 3, because n = 3"),
        ("2", "The answers are 1, 2 and so on. it is 2n+1."),
    ],
)
def test_neither_reading_takes_a_number_within_an_expression(expected: str, answer: str) -> None:
    assert verify_answer(expected, answer)[0] == 0.0


@pytest.mark.parametrize(
    "text", ["answer", "answer is 5, ", "answer: (", "(a, ", "\\a=", "the answer is ", " and x = "]
)
def test_an_announced_value_is_found_in_a_longest_answer_in_time(text: str) -> None:
    started = process_time()
    announced_value(f"The answer is 5{text * 2000}"[:2000] + "x = 7")
    assert process_time() - started < slowness()
