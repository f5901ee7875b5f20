"""The last box of an answer, whatever a model makes of its braces."""

from __future__ import annotations

import time

import pytest

from ray_gym.graders import last_boxed


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("nothing in a box", None),
        (r"\boxed{7}", "7"),
        (r"\boxed{7} no, \boxed{ 8 }.", "8"),
        (r"\fbox{9} and \boxed {10}", "10"),
        (r"\boxed{\frac{1}{2}}", r"\frac{1}{2}"),
        (r"\boxed{\{1, 2\}}", r"\{1, 2\}"),
        (r"\boxed{}", ""),
        (r"\boxed{A} or \boxed{B", "A"),
        (r"\boxed{\boxed{A}}", "A"),
        (r"an open { before \boxed{A}", "A"),
        (r"a closed } before \boxed{A}", "A"),
        (r"twice escaped \\boxed{A}", "A"),
        (r"a \\} b \boxed{x \\} y", r"x \\"),
        (r"\boxed{A \} B", None),
        ("\\boxed{two\nlines}", "two\nlines"),
        ("boxed{A}", None),
    ],
)
def test_the_last_closed_box_is_found(text: str, found: str | None) -> None:
    assert last_boxed(text) == found


@pytest.mark.parametrize("text", [r"\boxed{" * 30_000, r"\boxed{{" * 15_000 + "}" * 10_000, r"\boxed " * 30_000])
def test_a_model_that_repeats_itself_does_not_hold_up_the_worker(text: str) -> None:
    began = time.monotonic()
    assert last_boxed("\\boxed{A} " + text) is not None
    assert time.monotonic() - began < 2, "with every box looked at to its end it takes minutes"
