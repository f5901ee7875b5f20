"""The last box of a text, in one pass: a model may write a box thousands of times without closing any."""

from __future__ import annotations

import time

import pytest

from ray_gym.graders import last_boxed


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("\\boxed{1} and \\boxed{ 2 }", "2"),
        ("\\boxed{\\frac{1}{2}}", "\\frac{1}{2}"),
        ("\\boxed{1} and \\boxed{2", "1"),
        ("\\boxed{\\boxed{3}}", "3"),
        ("\\boxed{\\{1, 2\\}}", "\\{1, 2\\}"),
        ("\\fbox {x} }", "x"),
        ("} { \\boxed{5} {", "5"),
        ("\\boxed{}", ""),
        ("\\boxed 7", None),
        ("\\boxed{\\}", None),
    ],
)
def test_what_it_holds(text: str, inside: str | None) -> None:
    assert last_boxed(text) == inside


def test_boxes_that_are_never_closed_take_no_time() -> None:
    begin = time.process_time()
    assert last_boxed("\\boxed{1}" + "\\boxed{" * 20_000) == "1"
    assert time.process_time() - begin < 2, "each was looked for to the end of the text"
