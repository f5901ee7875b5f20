"""Checks that the label of a part, and a number that is no score, is no verdict on the whole."""

from __future__ import annotations

import time

import pytest
from processor import slowness

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
        ("Helpfulness: 4\nAccuracy: 5\nOverall: 4", "4", TO_FIVE),
        ("**Helpfulness**: 4/5\n**Accuracy:** 5/5\n\n**Overall: 4/5**", "4", TO_FIVE),
        ("Criterion 1: PASS\nCriterion 2: FAIL\nOverall: FAIL", "FAIL", PASS),
        ("- Criterion 1: PASS\nIt is kind.\n- Criterion 2: FAIL\nIt is long.\n\nFinal verdict: PASS", "PASS", PASS),
        ("1. Tone: FAIL\n2. Facts: PASS\nVerdict: PASS.", "PASS", PASS),
        ("Step 1: CORRECT\nStep 2: INCORRECT\nVerdict: INCORRECT", "INCORRECT", CORRECT),
        ("| Grammar | CORRECT |\n| Facts | INCORRECT |\n| Overall | INCORRECT |", "INCORRECT", CORRECT),
        ("Tone: [[YES]]\nFacts: [[NO]]\nOverall: [[NO]]", "[[NO]]", YES),
        ("Correctness: 5\nStyle: 3\nOverall: 4", "4", TO_FIVE),
        ("Correctness (1-5): 5\nStyle (1-5): 3\nOverall (1-5): 4", "4", TO_FIVE),
        ("Correctness: 5 out of 5\nStyle: 3 out of 5\nOverall: 4 out of 5", "4", TO_FIVE),
        ("Correctness: 5 (right)\nStyle: 3 - long\nOverall: 4 (good)", "4", TO_FIVE),
        ("Correctness: 5, Style: 3, Overall: 4", "4", TO_FIVE),
        ('{"correctness": 5, "style": 3, "overall": 4}', "4", TO_FIVE),
        ('```json\n{\n  "facts": "PASS",\n  "tone": "FAIL",\n  "overall": "FAIL"\n}\n```', "FAIL", PASS),
        ('{"correctness": 5, "style": 3, "overall": 4, "reason": "It is long, but right."}', "4", TO_FIVE),
    ],
)
def test_a_label_behind_another_title_counts_as_the_last_thing_said(
    text: str, label: str, labels: tuple[str, ...]
) -> None:
    assert clear_label(text, labels) == last_label(text, labels) == label


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("Criterion 1: PASS\nVerdict: PASS\nOverall: FAIL", PASS),
        ("PASS\nCriterion 1: PASS\nOverall: FAIL", PASS),
        ("I say PASS.\nCriterion 1: FAIL\nOverall: FAIL", PASS),
        ("[[YES]], but ...\nTone: [[YES]]\nFinal verdict: [[NO]]", YES),
        ("Criterion 1: PASS\nCriterion 2: FAIL\nOverall: not FAIL", PASS),
        ("Criterion 1: PASS\nCriterion 2: FAIL\nOverall: FAIL? I doubt it.", PASS),
        ("Criterion 1: PASS\nOverall: FAIL\nCriterion 2: PASS", PASS),
        ("Criterion 1: PASS\nCriterion 2: FAIL", PASS),
        ("Step 1: CORRECT\nExpected answer: INCORRECT", CORRECT),
        ("Style: 3\nCorrectness: 5", TO_FIVE),
        ("Correctness: 5\nOverall: 4\nStyle: 3", TO_FIVE),
        ("Facts: PASS, Tone: FAIL", PASS),
        ("The student wrote: Facts: FAIL, Overall: PASS", PASS),
    ],
)
def test_different_labels_that_are_not_behind_titles_of_parts_are_unclear(text: str, labels: tuple[str, ...]) -> None:
    assert clear_label(text, labels) is None


@pytest.mark.parametrize(
    "form",
    ["Grammar: FAIL\nOverall: PASS", "Grammar: FAIL, Overall: PASS", "- Grammar: FAIL\n- Overall: PASS",
     '{"grammar": "FAIL", "overall": "PASS"}', "Overall: PASS"],
)  # fmt: skip
def test_parts_that_somebody_else_has_rated_make_no_verdict(form: str) -> None:
    assert clear_label(f"The student wrote:\n{form}", PASS) is None
    assert clear_label(f"My scores:\n{form}", PASS) == "PASS"


@pytest.mark.parametrize(
    "text",
    [
        "Step: 3\n" * 10_000 + "Overall: 3",
        "- " * 20_000 + "\nOverall: 3",
        "a: 3, " * 10_000 + "Overall: 3",
        "a: 3 (" + "b (" * 20_000 + "\nOverall: 3",
        "a " * 20_000 + ": 3\nOverall: 3",
        "a: " * 20_000,
        "Step: 3\n" * 10_000,
        "CORRECT (a;" * 20_000,
        "of of " * 20_000 + ": 3",
        "3" + ", a" * 20_000,
    ],
)
@pytest.mark.clock
def test_titles_are_read_in_linear_time(text: str) -> None:
    began = time.process_time()
    clear_label(text, [*CORRECT, *SCORES])
    assert time.process_time() - began < 2 * slowness()
