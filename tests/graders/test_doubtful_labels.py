"""Checks that a label is unclear where its sentence denies or doubts it, and counts where it stands alone."""

from __future__ import annotations

import time

import pytest
from processor import slowness

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


STRUCK = [
    "<s>YES</s>", "<del>YES</del>", "<strike>YES</strike>", '<DEL class="x">\nYES\n</DEL>', "<s>Verdict: YES</s>",
    "~~Verdict: YES~~", "\u0336YES", "YES\u0336", "~~NO~~YES",
]  # fmt: skip
CROSSED = ["YES \U0001f44e", "YES \u274c", "\U0001f44e YES", "**YES** \u26d4", "Verdict: YES \U0001f6ab"]


@pytest.mark.parametrize("text", [*STRUCK, *CROSSED])
@pytest.mark.parametrize("labels", [("YES", "NO"), ("[[YES]]", "[[NO]]")])
def test_a_label_that_is_struck_or_crossed_out_is_unclear(text: str, labels: tuple[str, ...]) -> None:
    text = text.replace("YES", labels[0])
    assert clear_label(text, labels) is last_label(text, labels) is None


@pytest.mark.parametrize(
    "text", ["[[YES]]</s>", "<s> [[YES]]", "[[YES]] \U0001f44d", "~~~\n[[YES]]\n~~~", "<b>[[YES]]</b>"]
)
def test_other_marks_around_a_label_strike_nothing_out(text: str) -> None:
    assert clear_label(text, ["[[YES]]", "[[NO]]"]) == "[[YES]]"


def test_a_negative_label_may_have_a_cross() -> None:
    assert clear_label("NO \U0001f44e", ["YES", "NO"]) == clear_label("\U0001f6ab NO", ["YES", "NO"]) == "NO"


@pytest.mark.parametrize(
    "text", ["**IN**CORRECT", "IN**CORRECT**", "The answer is *IN*`CORRECT`.", "<b>IN</b>CORRECT", "IN\u200bCORRECT"]
)
def test_marks_within_a_word_part_no_label_from_it(text: str) -> None:
    assert clear_label(text, CORRECT) == last_label(text, CORRECT) == "INCORRECT"
    assert clear_label(text, ["CORRECT", "WRONG"]) is last_label(text, ["CORRECT", "WRONG"]) is None


def test_marks_between_the_words_of_a_label_stay() -> None:
    assert clear_label("**NOT**SUPPORTED", ["SUPPORTED", "NOT SUPPORTED"]) == "NOT SUPPORTED"
    assert clear_label("\u7b54\u6848**\u6b63\u786e**", ["\u6b63\u786e"]) == "\u6b63\u786e"


@pytest.mark.parametrize(
    "text", ["not CORRECT " * 20_000, "CORRECT, incorrect " * 15_000, "CORRECT? " * 30_000, "CORRECT: " * 30_000,
             "CORRECT\n" * 30_000, "(CORRECT" * 30_000, "incorrect" * 30_000, "7 - 8 because " * 20_000,
             "<s>" * 80_000, "~~a" * 80_000, "a*" * 120_000 + "CORRECT"],
)  # fmt: skip
@pytest.mark.clock
def test_doubts_are_found_in_linear_time(text: str) -> None:
    began = time.process_time()
    clear_label(text, [*CORRECT, *SCORES])
    assert time.process_time() - began < 5 * slowness()


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
