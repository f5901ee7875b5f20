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
        (r"If x were 2: \boxed{12}", None), (r"So \boxed{3}. If x were 2: $\boxed{12}$", "3"),
        (r"So \boxed{3}. If x were 2.5, it would be \boxed{12}.", "3"), (r"So \boxed{3}. Had x been 2, \boxed{12}", "3"),
        (r"\boxed{3}, and if x were 2 then \boxed{12}", "3"), ("\\boxed{3}\nWere it 4:\n\\[\\boxed{12}\\]", "3"),
        (r"If x were 2, we'd have 4, but x is 3, so \boxed{9}", "9"), (r"If x were 2, it would be 4. \boxed{9}", "9"),
        (r"If x = 2, then \boxed{12}", "12"), (r"If I had to choose: \boxed{12}", "12"), (r"They had 4, so \boxed{8}", "8"),
        (r"If x were 2: \boxed{4}. If x were 3: \boxed{9}", None), (r"If they had 4 each, they have \boxed{8}", "8"),
        (r"\boxed{3}. If there were 4, there would be \boxed{8}", "3"), (r"If $x$ were 2, y would be \boxed{8}", None),
        (r"If there were 10 apples, and 3 were eaten, \boxed{7} are left", "7"), (r"If a were there: \boxed{4}", "4"),
        (r"If there were 4, there would be \boxed{8}", "8"), (r"\boxed{1}. If there were 4 and 2, it's \boxed{6}", "6"),
        (r"\boxed{1~~\text{or}~~2}", r"1~~\text{or}~~2"),
    ],
)  # fmt: skip
def test_the_last_box_that_is_not_taken_back_stands(text: str, box: str | None) -> None:
    assert standing_box(text) == box


def test_a_question_that_supposes_has_answers_that_do() -> None:
    question = "They have 3 apples. If x were 2, how many would there be?"
    assert standing_box(r"If x were 2, there would be \boxed{8}", question) == "8"


def test_a_question_that_is_not_known_may_suppose() -> None:
    assert split_at_standing_box(r"If x were 2, it is \boxed{8}.") == ("8", ".")
    assert split_at_standing_box(r"\boxed{3}. If x were 2, it is \boxed{8}.")[0] == "3"


@pytest.mark.parametrize(
    "part",
    ["if x were 2: \\boxed{1} ", "if had were ", "not ", "not $", "~~a", "\\boxed{", "not \\boxed{", "}$", "\\) "],
)
def test_no_box_takes_long_to_find(part: str) -> None:
    began = time.process_time()
    split_at_standing_box(f"\\boxed{{1}}{part * 10_000}")
    assert time.process_time() - began < 2
