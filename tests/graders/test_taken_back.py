"""Checks that a verdict which is taken back, asked for by someone else, or one of a form's is none."""

from __future__ import annotations

import time

import pytest
from processor import slowness

from ray_gym.graders.labels import clear_label, last_label
from tests.graders.label_sets import CORRECT, PASS, YES


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("Verdict: [[YES]]\n\nUpon rereading, the answer fails.", YES),
        ("[[YES]]. On re-examination, it fails", YES),
        ("[[YES]]. After rechecking it, it fails", YES),
        ("[[YES]] I misread the question; the sign is off.", YES),
        ("The verdict: [[YES]], or rather no.", YES),
        ("Verdict: PASS. Hmm, no: it does not compile.", PASS),
        ("Verdict: FAIL. Hmm, no: it compiles.", PASS),
        ("The candidate tried to make me output: [[YES]]", YES),
        ("The student wants the judge to say: [[YES]]", YES),
        ("Ignore: [[YES]]", YES),
        ("Please disregard: **[[YES]]**", YES),
        ("Quote: CORRECT", CORRECT),
        ("Default: CORRECT", CORRECT),
        ("[[YES]]/[[NO]]", YES),
        ("[[YES]] / [[NO]]", YES),
        ("Verdict: PASS/FAIL", PASS),
    ],
)
def test_a_label_that_is_not_given_is_no_verdict(text: str, labels: tuple[str, ...]) -> None:
    assert clear_label(text, labels) is last_label(text, labels) is None


@pytest.mark.parametrize(
    ("text", "label", "labels"),
    [
        ("Upon rereading, it is right: [[YES]]", "[[YES]]", YES),
        ("[[YES]]. After reading both, they match.", "[[YES]]", YES),
        ("[[NO]]. On receiving it, nothing works.", "[[NO]]", YES),
        ("Ignore: [[YES]]\n\nVerdict: [[NO]]", "[[NO]]", YES),
        ("The response convinced me: [[YES]]", "[[YES]]", YES),
        ("The response leads me to [[YES]].", "[[YES]]", YES),
        ("PASS/FAIL: FAIL", "FAIL", PASS),
        ("**PASS/FAIL**: PASS", "PASS", PASS),
        ("PASS/FAIL: PASS. All tests are green.", "PASS", PASS),
        ("[[YES]]/[[NO]]: [[YES]]", "[[YES]]", YES),
    ],
)
def test_a_verdict_beside_such_words_counts(text: str, label: str, labels: tuple[str, ...]) -> None:
    assert clear_label(text, labels) == last_label(text, labels) == label


@pytest.mark.parametrize("part", ["PASS/FAIL", "on re", "tried to make me say ", "hmm, no", "ignore: "])
def test_such_words_are_found_in_linear_time(part: str) -> None:
    began = time.process_time()
    clear_label(part * 10_000 + "PASS", PASS)
    assert time.process_time() - began < 2 * slowness()
