"""Exact match, and whether there is an answer at all."""

from __future__ import annotations

import pytest
from grading import graded, value, verdicts

from ray_gym.graders import ExactMatch, Found, answer_line, folded, last_boxed


@pytest.mark.parametrize(
    ("grader", "said", "expected"),
    [
        (ExactMatch("42"), " 42\n", 1),
        (ExactMatch("42"), "42.", 0),
        (ExactMatch(" 42 "), "42", 1),
        (ExactMatch(("a", "b")), "b", 1),
        (ExactMatch(("a", "b")), "ab", 0),
        (ExactMatch("New York"), "new  york", 0),
        (ExactMatch("New York", normalise=folded), "new  york", 1),
        (ExactMatch("42", extract=last_boxed), r"first \boxed{41}, no: \boxed{42}", 1),
        (ExactMatch("42", extract=last_boxed), "42", 0),
        (ExactMatch("Paris", extract=answer_line, normalise=folded), "Answer: Paris.", 1),
        (ExactMatch("42", extract=answer_line), "It is so.\nAnswer: 42.", 1),
        (ExactMatch("Acme Inc.", extract=answer_line), "Answer: Acme Inc.", 1),
        (ExactMatch("wait", extract=answer_line), "Answer: wait...", 0),
        (ExactMatch("\u00e9", normalise=folded), "e\u0301", 1),
        (ExactMatch("42", normalise=folded), "\uff14\uff12", 1),
        (ExactMatch("42"), " ", 0),
        (Found(last_boxed), r"\boxed{wrong}", 1),
        (Found(last_boxed), r"\boxed{}", 0),
    ],
)
async def test_the_answer_is_the_expected_one(grader: ExactMatch | Found, said: str, expected: float) -> None:
    assert await value(grader, said) == expected


async def test_the_last_words_count() -> None:
    assert await value(ExactMatch("2"), "1", "2") == 1
    assert await value(ExactMatch("1"), "1", "2") == 0


async def test_reasons_are_in_the_record_and_stay_short() -> None:
    assert verdicts(await graded(ExactMatch("42"), "41")) == [(0, "ExactMatch: '41', expected '42'")]
    assert verdicts(await graded(ExactMatch("42", extract=last_boxed), "41")) == [
        (0, "ExactMatch: no answer was found")
    ]
    assert verdicts(await graded(Found(last_boxed), r"\boxed{x}")) == [(1, "Found: 'x'")]
    [(_, why)] = verdicts(await graded(ExactMatch("y" * 10**5), "x" * 10**6))
    assert len(why) < 600 and "(1000002 characters)" in why and "(100002 characters)" in why
