"""Checks that a judge's label is unclear where words beside it make less of it."""

from __future__ import annotations

import time

import pytest

from ray_gym.graders.labels import clear_label, last_label


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
def test_words_in_part_are_found_in_linear_time(text: str) -> None:
    began = time.process_time()
    clear_label(text, ["SUPPORTED", "NOT SUPPORTED", "YES"])
    assert time.process_time() - began < 2
