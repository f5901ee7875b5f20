"""Checks that the number out of which a score is given is no score."""

from __future__ import annotations

import time

import pytest
from processor import slowness

from ray_gym.graders.labels import clear_label, last_label
from tests.graders.label_sets import SCORES


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("8分\uff08满分10分\uff09", "8"),
        ("评分\uff1a8分\uff08满分为10分\uff09。", "8"),
        ("满分10分\uff0c得8分", "8"),
        ("10点満点中8点", "8"),
        ("8 von 10", "8"),
        ("Note : 8 sur 10", "8"),
        ("Score out of 10: 8", "8"),
        ("Score (/10): 8", "8"),
        ("Score: 8/10. Clear.", "8"),
        ("Score: 10", "10"),
        ("10 von 10", "10"),
        ("Die Note ist 8.", "8"),
    ],
)
def test_the_number_that_a_score_is_out_of_is_none(text: str, label: str) -> None:
    assert clear_label(text, SCORES) == last_label(text, SCORES) == label


@pytest.mark.parametrize("part", ["8 von ", "8分/", "8/10. ", "1,1,1"])
def test_tops_are_found_in_linear_time(part: str) -> None:
    began = time.process_time()
    clear_label(part * 8_000, SCORES)
    assert time.process_time() - began < 2 * slowness()
