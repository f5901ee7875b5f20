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


def test_on_the_same_line_they_do() -> None:
    assert clear_label("0 CORRECT", ("CORRECT", "INCORRECT")) is None
    assert clear_label("no answer", ("yes", "no")) is None
