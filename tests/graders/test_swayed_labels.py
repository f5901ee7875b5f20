"""Checks labels that hold their title: another label behind one counts though its title is left out."""

from __future__ import annotations

import pytest

from ray_gym.graders.labels import clear_label, last_label

GRADES = ("GRADE: C", "GRADE: P", "GRADE: I")
SCORES = tuple(f"Score: {number}" for number in range(1, 6))
WINNERS = ("Winner: A", "Winner: B")


@pytest.mark.parametrize(
    ("said", "labels"),
    [
        ("GRADE: C -> I", GRADES),
        ("GRADE: C \u2192 P", GRADES),
        ("GRADE: C or I", GRADES),
        ("GRADE: **C** or **I**", GRADES),
        ("GRADE: C/I", GRADES),
        ("GRADE: C | P | I", GRADES),
        ("GRADE: C, P", GRADES),
        ("GRADE: C (or P)", GRADES),
        ("GRADE: C... I", GRADES),
        ("GRADE: C-", GRADES),
        ("Score: 3 or 4 points", SCORES),
        ("Score: 4-5", SCORES),
        ("Score: 4, or 5", SCORES),
        ("Score: 4/10", SCORES),
        ("Score: 4 out of 10", SCORES),
        ("Winner: A and B (tie)", WINNERS),
        ("Winner: A = B", WINNERS),
        ("Winner: A-B", WINNERS),
    ],
)
def test_another_label_sways_it(said: str, labels: tuple[str, ...]) -> None:
    assert clear_label(said, labels) is None
    assert last_label(said, labels) is None


@pytest.mark.parametrize(
    ("said", "label", "labels"),
    [
        ("GRADE: C, I am sure", "GRADE: C", GRADES),
        ("GRADE: C - I checked it", "GRADE: C", GRADES),
        ("GRADE: C and I stand by it", "GRADE: C", GRADES),
        ("GRADE: C\nI agree.", "GRADE: C", GRADES),
        ("Score: 4/5", "Score: 4", SCORES),
        ("Score: 4 out of 5", "Score: 4", SCORES),
        ("Score: 4, 5 criteria were met", "Score: 4", SCORES),
        ("Winner: A, B is worse", "Winner: A", WINNERS),
    ],
)
def test_words_and_scales_do_not(said: str, label: str, labels: tuple[str, ...]) -> None:
    assert clear_label(said, labels) == label
    assert last_label(said, labels) == label
