"""Checks which box of an answer stands: not one that is struck through, denied, or called wrong."""

from __future__ import annotations

import time

import pytest

from ray_gym.graders.withdrawn import split_at_standing_box, standing_box


@pytest.mark.parametrize(
    ("text", "box"),
    [
        (r"\boxed{12}", "12"), (r"\boxed{13} ~~\boxed{12}~~", "13"), (r"~~\boxed{12}~~ I take it back", None),
        (r"<del>\boxed{12}</del>", None), (r"\cancel{\boxed{\frac{1}{2}}}", None), (r"\sout{\boxed{12}} \boxed{13}", "13"),
        (r"\boxed{12} is wrong", None), (r"\(\boxed{12}\) is wrong.", None), (r"\boxed{12}. No wait, that is incorrect.", None),
        (r"not \boxed{12}", None), (r"It isn't $\boxed{12}$", None), (r"\boxed{13}, not \boxed{12}", "13"),
        (r"If not, \boxed{12}", "12"), (r"It is not 13, but \boxed{12}", "12"), (r"\boxed{12} is right", "12"),
        (r"\boxed{1~~\text{or}~~2}", r"1~~\text{or}~~2"),
    ],
)  # fmt: skip
def test_the_last_box_that_is_not_taken_back_stands(text: str, box: str | None) -> None:
    assert standing_box(text) == box


@pytest.mark.parametrize("part", ["not ", "not $", "~~a", "\\boxed{", "not \\boxed{", "}$", "\\) "])
def test_no_box_takes_long_to_find(part: str) -> None:
    began = time.process_time()
    split_at_standing_box(f"\\boxed{{1}}{part * 10_000}")
    assert time.process_time() - began < 2
