"""Checks that the label of a part, and a number that is no score, is no verdict on the whole."""

from __future__ import annotations

import time

import pytest

from ray_gym.graders.labels import clear_label, last_label
from tests.graders.label_sets import BARE, CORRECT, PASS, SCORES, YES

TO_FIVE = tuple("12345")


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("Step 1: CORRECT\nStep 2: has a mistake\nOverall the solution fails.", CORRECT),
        ("Part a: CORRECT\nPart b: wrong", CORRECT),
        ("Grammar: CORRECT\nFacts: bad", CORRECT),
        ("**Grammar:** INCORRECT\n**Facts:** good", CORRECT),
        ("1. Grammar: CORRECT\n2. Facts: off", CORRECT),
        ("| Grammar | CORRECT |\n| Facts | bad |", CORRECT),
        ("Grammar - CORRECT\nFacts - bad", CORRECT),
        ("Grammar: CORRECT, Facts: bad", CORRECT),
        ("Grammar: CORRECT. The facts are off.", CORRECT),
        ("Grammar: CORRECT\nReason: fine.\nFacts: bad", CORRECT),
        ("Answer 1: CORRECT\nAnswer 2: bad", CORRECT),
        ('{"grammar": "CORRECT", "facts": "bad"}', CORRECT),
        ("Step 1: [[YES]]\nStep 2: off", YES),
        ("Clarity: 5\nTruth: 5\nOverall: not good", TO_FIVE),
        ("The format is CORRECT.\nThe value is off by one.", CORRECT),
        ("CORRECT (in format only; the content is wrong)", CORRECT),
        ("CORRECT (the format; the content is wrong)", CORRECT),
        ("CORRECT (only the format)", CORRECT),
        ("Deduction: 3", TO_FIVE),
        ("Deduction: [[3]]", ("[[1]]", "[[2]]", "[[3]]")),
        ("Points lost: 3", TO_FIVE),
        ("Errors found: 3", TO_FIVE),
        ("Confidence: 5", TO_FIVE),
        ("Step 3: 4", TO_FIVE),
    ],
)
def test_the_label_of_a_part_is_no_verdict(text: str, labels: tuple[str, ...]) -> None:
    assert clear_label(text, labels) is last_label(text, labels) is None


@pytest.mark.parametrize(
    ("text", "label", "labels"),
    [
        ("Grammar: CORRECT\nFacts: CORRECT\nVerdict: CORRECT", "CORRECT", CORRECT),
        ("The sign matches: CORRECT", "CORRECT", CORRECT),
        ("Final answer: CORRECT. The value is 12.", "CORRECT", CORRECT),
        ("My evaluation of the response: PASS. It is fine.", "PASS", PASS),
        ("Polite: YES\nReason: it was kind", "YES", BARE),
        ('{"polite": "YES", "reason": "It was kind: very."}', "YES", BARE),
        ("Comparing 0.5 with 1/2: CORRECT, as both are equal.", "CORRECT", CORRECT),
        ("The format is CORRECT.", "CORRECT", CORRECT),
        ("Clarity: 5", "5", SCORES),
        ("Score (1-10): 8", "8", SCORES),
        ("Score out of 10: 8", "8", SCORES),
        ("Points awarded: 3. Well done.\n\nScore: 3", "3", SCORES),
        ("Score: 4\nConfidence: 5", "4", SCORES),
        ("Deduction: 2\nScore: 8", "8", SCORES),
    ],
)
def test_a_label_behind_another_title_counts_as_the_last_thing_said(
    text: str, label: str, labels: tuple[str, ...]
) -> None:
    assert clear_label(text, labels) == last_label(text, labels) == label


@pytest.mark.parametrize(
    "text",
    ["a: " * 20_000, "Step: 3\n" * 10_000, "CORRECT (a;" * 20_000, "of of " * 20_000 + ": 3", "3" + ", a" * 20_000],
)
def test_titles_are_read_in_linear_time(text: str) -> None:
    began = time.process_time()
    clear_label(text, [*CORRECT, *SCORES])
    assert time.process_time() - began < 2
