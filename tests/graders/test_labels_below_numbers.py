"""Checks that lines before and behind a label's own line do not make it doubtful."""

from __future__ import annotations

import pytest

from ray_gym.graders.labels import clear_label, last_label


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("x = 0\n\nYES", ("YES", "NO")),
        ("Reference answer: 0\nStudent answer: 0\n\nYES", ("YES", "NO")),
        ("Mistakes: 0\n\nYES", ("YES", "NO")),
        ("Passed: 4\nFailed: 0\nPASS", ("PASS", "FAIL")),
        ("NO\nScore: 2", ("NO", "YES")),
        ("No\nRating: 2/10", ("No", "Yes")),
        ("NO\nEvidence: none is given", ("NO", "YES")),
    ],
)
def test_the_label_stands(text: str, labels: tuple[str, str]) -> None:
    assert clear_label(text, labels) == last_label(text, labels) == labels[0]


@pytest.mark.parametrize(
    "text",
    [
        "[[A=B]] The two answers are different in form only.",
        "[[A=B]] The answers are different representations of the same value.",
        "The answers differ in form but [[A=B]]",
        "Neither answer is wrong. [[A=B]]",
    ],
)
def test_a_difference_of_form_is_none(text: str) -> None:
    assert clear_label(text, ("[[A=B]]", "[[A!=B]]")) == "[[A=B]]"


@pytest.mark.parametrize("title", ["Final adjusted score", "Adjusted score", "Average score", "Overall average"])
def test_a_score_of_the_whole_is_one(title: str) -> None:
    assert clear_label(f"{title}: 7", [str(number) for number in range(1, 11)]) == "7"


def test_on_the_same_line_they_do() -> None:
    assert clear_label("0 CORRECT", ("CORRECT", "INCORRECT")) is None
    assert clear_label("no answer", ("yes", "no")) is None
