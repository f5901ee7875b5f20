"""Checks that a label is unclear where its sentence denies or doubts it, and counts where it stands alone."""

from __future__ import annotations

import time

import pytest

from ray_gym.graders.labels import clear_label, last_label

CORRECT = ("CORRECT", "INCORRECT")
SCORES = tuple(str(number) for number in range(11))
DENIED = [
    'not "CORRECT"', "not (CORRECT)", "not: CORRECT", "cannot be CORRECT", "I don't think it's CORRECT",
    "by no means CORRECT", "no longer CORRECT", "fails to be CORRECT", "CORRECT, but not fully", "CORRECT? No.",
    "CORRECT?", "CORRECT: false", '{"CORRECT": false}', "Incorrect. CORRECT", "The answer is incorrect. CORRECT",
    "No. CORRECT", "CORRECT. No.", "I doubt it is CORRECT", "If it were so, CORRECT", "CORRECT (No)", "not INCORRECT",
    "not: INCORRECT", "It is correct: INCORRECT", "It might be CORRECT", "nicht CORRECT", "pas CORRECT", "nunca es CORRECT",
    "\u8fd9\u4e0d\u662f CORRECT",
    "CORRECT\u3067\u306f\u306a\u3044", "~~CORRECT~~", "\u274c CORRECT", "!CORRECT",
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        *((text, CORRECT) for text in DENIED),
        ("I would not say [[YES]]", ("[[YES]]", "[[NO]]")),
        ("NO, [[YES]]", ("[[YES]]", "[[NO]]")),
        ("No. YES", ("YES", "NO")),
        ("PASS is not warranted", ("PASS", "FAIL")),
        ("[[A=B]] is false", ("[[A=B]]", "[[A!=B]]")),
        *((text, SCORES) for text in ("7%", "7:30", "7+", "not 7", "7 is not right", "7? No")),
    ],
)
def test_a_label_that_its_sentence_denies_or_doubts_is_unclear(text: str, labels: tuple[str, ...]) -> None:
    assert clear_label(text, labels) is last_label(text, labels) is None


@pytest.mark.parametrize(
    ("text", "label", "labels"),
    [
        ("It does not miss a thing.\nCORRECT", "CORRECT", CORRECT),
        ("I am not sure that it is incorrect.\n\n**CORRECT**", "CORRECT", CORRECT),
        ('No error was found.\n"CORRECT".', "CORRECT", CORRECT),
        ("Nothing is wrong. Verdict: CORRECT!", "CORRECT", CORRECT),
        ("No. INCORRECT", "INCORRECT", CORRECT),
        ("It is not correct, no: INCORRECT", "INCORRECT", CORRECT),
        ("It is not what was asked: INCORRECT", "INCORRECT", CORRECT),
        ('{"reason": "it is not long", "verdict": "CORRECT"}', "CORRECT", CORRECT),
        ("There is no error. YES", "YES", ("YES", "NO")),
        ("NO, that is no answer", "NO", ("YES", "NO")),
        ("Answer A is better than B: [[A]]", "[[A]]", ("[[A]]", "[[B]]")),
        *((text, "7", SCORES) for text in ("7 (out of 10)", "7 points out of 10", "7 - out of 10", "$7$/$10$")),
        ("Score: 7 - it does not cite its sources", "7", SCORES),
    ],
)
def test_a_label_that_stands_alone_or_that_nothing_denies_counts(
    text: str, label: str, labels: tuple[str, ...]
) -> None:
    assert clear_label(text, labels) == last_label(text, labels) == label


@pytest.mark.parametrize(
    "text", ["not CORRECT " * 20_000, "CORRECT, incorrect " * 15_000, "CORRECT? " * 30_000, "CORRECT: " * 30_000,
             "CORRECT\n" * 30_000, "(CORRECT" * 30_000, "incorrect" * 30_000, "7 - 8 because " * 20_000],
)  # fmt: skip
def test_doubts_are_found_in_linear_time(text: str) -> None:
    began = time.process_time()
    clear_label(text, [*CORRECT, *SCORES])
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("I noticed nothing wrong: [[YES]]", "[[YES]]"),
        ("Nothing is missing: **[[YES]]**", "[[YES]]"),
        ("It could not be better \uff1a [[YES]].", "[[YES]]"),
        ("not: [[YES]]", None),
        ("I can't say: [[YES]]", None),
        ("It is fine: [[YES]] is wrong", None),
        ("It is fine: [[YES]], not [[NO]]", None),
    ],
)
def test_a_marked_label_right_behind_a_colon_has_its_reason_before_it(said: str, expected: str | None) -> None:
    assert clear_label(said, ["[[YES]]", "[[NO]]"]) == expected
