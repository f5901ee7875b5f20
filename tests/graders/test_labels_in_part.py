"""Checks that a judge's label is unclear where words beside it make less of it."""

from __future__ import annotations

import time

import pytest
from processor import slowness

from ray_gym.graders.labels import clear_label, last_label

IN_PART = [
    "to some extent CORRECT",
    "in part CORRECT",
    "for the most part CORRECT",
    "Partially: CORRECT",
    "Only partially. CORRECT",
    "CORRECT [partial]",
    "CORRECT/partially",
    "CORRECT (partial credit)",
    "CORRECT, partial credit",
    "2 of 3 parts CORRECT",
    "CORRECT (2/3)",
    "CORRECT (2 of 3 parts)",
    "Half of it is CORRECT",
    "Only the first part is CORRECT.",
    "generally CORRECT",
    "in principle CORRECT",
    "conditionally CORRECT",
    "all but CORRECT",
    "incompletely CORRECT",
    "teilweise CORRECT",
    "CORRECT (teilweise)",
    "partiellement CORRECT",
    "parcialmente CORRECT",
    "en partie CORRECT",
    "fast CORRECT",
    "presque CORRECT",
    "casi CORRECT",
    "\u90e8\u5206CORRECT",
    "\u57fa\u672c CORRECT",
    "\u51e0\u4e4e CORRECT",
    "CORRECT\uff08\u90e8\u5206\uff09",
    "N\u00e3o \u00e9 CORRECT",
    "niet CORRECT",
    "\u043d\u0435 CORRECT",
    "\u0644\u064a\u0633 CORRECT",
    "CORRECT de\u011fil",
    "gr\u00f6\u00dftenteils CORRECT",
    "CORRECT, en partie",
    "CORRECT (casi)",
    "\u307b\u307c CORRECT",
    "CORRECT\uff08\u4e00\u90e8\uff09",
    "\u5927\u90e8\u5206CORRECT",
    "Die Antwort ist teilweise CORRECT.",
    "La r\u00e9ponse est presque CORRECT.",
    "Mostly: CORRECT",
    "CORRECT - partly",
    "two thirds CORRECT",
    "3 of 4 steps are CORRECT",
    "Some parts are CORRECT.",
    "Most of the steps are CORRECT",
    "Part (a) is CORRECT, part (b) has a sign error.",
    "CORRECT in most respects",
    "CORRECT for part (a) only",
    "near CORRECT",
    "The answer is technically CORRECT.",
    "seemingly CORRECT",
    "to a large extent CORRECT",
    "CORRECT at best",
]
"""Degrees in English, German, French, Spanish, Chinese and Japanese, and denials in others."""


@pytest.mark.parametrize(
    "text",
    ["partially CORRECT", "It is **Partly** CORRECT.", "mostly CORRECT", "almost CORRECT", "nearly CORRECT", "half CORRECT",
     "not entirely CORRECT", "80% CORRECT", "3.5 % CORRECT", "CORRECT (partially)", "CORRECT, mostly.", "CORRECT in part",
     "CORRECT-ish", "far from CORRECT", "anything but CORRECT", "neither CORRECT", "probably CORRECT", "quasi-CORRECT",
     "more or less CORRECT", "not at all CORRECT", "CORRECT to some extent", "only somewhat CORRECT", "less than CORRECT"],
)  # fmt: skip
def test_a_label_in_part_is_unclear(text: str) -> None:
    labels = ["CORRECT", "INCORRECT"]
    assert clear_label(text, labels) is last_label(text, labels) is None
    assert clear_label(f"{text} Rather: INCORRECT", ["CORRECT", "INCORRECT"]) is None
    bracketed = text.replace("CORRECT", "[[YES]]")
    assert clear_label(bracketed, ["[[YES]]", "[[NO]]"]) is None


@pytest.mark.parametrize("text", IN_PART)
def test_degrees_before_and_behind_a_label_are_one_list(text: str) -> None:
    assert clear_label(text, ["CORRECT", "INCORRECT"]) is last_label(text, ["CORRECT", "INCORRECT"]) is None


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("partially CORRECT", "PARTIALLY CORRECT"),
        ("PARTIALLY_CORRECT", "PARTIALLY CORRECT"),
        ("Half CORRECT", "HALF CORRECT"),
        ("It is mostly fine. CORRECT", "CORRECT"),
        ("CORRECT, mostly because it fits", "CORRECT"),
        ("completely CORRECT", "CORRECT"),
        ("100% CORRECT", "CORRECT"),
        ("Half of it is there: INCORRECT", "INCORRECT"),
    ],
)
def test_a_declared_label_in_part_counts_and_words_elsewhere_make_nothing_less(text: str, label: str) -> None:
    labels = ["CORRECT", "INCORRECT", "PARTIALLY CORRECT", "HALF CORRECT"]
    assert clear_label(text, labels) == last_label(text, labels) == label


@pytest.mark.parametrize(
    "text",
    ["half " * 40_000, "SUPPORTED, in part" * 20_000, "9" * 200_000 + "%", "more or " * 30_000, "YES" + "(" * 200_000],
)
@pytest.mark.clock
def test_words_in_part_are_found_in_linear_time(text: str) -> None:
    began = time.process_time()
    clear_label(text, ["SUPPORTED", "NOT SUPPORTED", "YES"])
    assert time.process_time() - began < 2 * slowness()
