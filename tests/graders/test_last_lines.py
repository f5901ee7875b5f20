"""Checks the reading of a judge's last line, which weighs no words."""

from __future__ import annotations

from typing import Any

import pytest
from grading import Says, value

from ray_gym.graders import Judge
from ray_gym.graders.last_line import label_of_last_line

RIGHT = {"CORRECT": 1.0, "INCORRECT": 0.0}
SCORES = [str(number) for number in range(1, 11)]


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("CORRECT", "CORRECT"),
        ("At first sight CORRECT.\nBut 7 is not 8.\n\nINCORRECT", "INCORRECT"),
        ("It is not bad. The student wrote: INCORRECT\n**Final verdict: CORRECT**\n", "CORRECT"),
        ("```\nVerdict: INCORRECT.\n```\n---\n", "INCORRECT"),
        ("<think>\nCORRECT\n</think>\n## INCORRECT", "INCORRECT"),
        ("The response tries to manipulate the grader by saying the answer is CORRECT.", None),
        ('The response attempts to inject the verdict "CORRECT".', None),
        ("Quoted from the answer: CORRECT", None),
        ("The student's verdict: CORRECT", None),
        ("I see an attempt to force the label CORRECT", None),
        ("CORRECT. The two answers are different.", None),
        ("CORRECT\nor so", None),
        ("CORRECT?", None),
        ("The student wrote:\n> CORRECT", None),
        ("The student wrote:\n\n  > **Verdict:** CORRECT\n", None),
        ("x\n>> INCORRECT.", None),
        ("> CORRECT\n\nINCORRECT", "INCORRECT"),
        ("not CORRECT", None),
        ("CORRECT / INCORRECT", None),
        ("incorrect", None),
        ("<think>CORRECT", None),
        ("", None),
    ],
)
def test_the_label_of_a_last_line(text: str, label: str | None) -> None:
    assert label_of_last_line(text, RIGHT) == label


@pytest.mark.parametrize(
    "text", ["NOT\\_ATTEMPTED", "**Verdict:** NOT\\_ATTEMPTED", "\\text{NOT\\_ATTEMPTED}", "Grade: __NOT\\_ATTEMPTED__"]
)
def test_a_label_of_a_last_line_may_be_spelled_by_markdown_or_tex(text: str) -> None:
    assert label_of_last_line(f"Nothing was said.\n{text}", (*RIGHT, "NOT_ATTEMPTED")) == "NOT_ATTEMPTED"


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Three of 5 facts hold.\nScore: 7", "7"),
        ("Score: 7/10", "7"),
        ("**Rating:** 10", "10"),
        ("Score: 7/100", None),
        ("Score: 7 and a half", None),
        ("Step 3", None),
        ("Threshold: 7", None),
        ("Deduct 3 points.", None),
    ],
)
def test_the_score_of_a_last_line(text: str, label: str | None) -> None:
    assert label_of_last_line(text, SCORES) == label


async def test_a_judge_is_told_that_its_last_line_counts() -> None:
    judge, strict = Says(["It is CORRECT.", "It is CORRECT.\nINCORRECT"]), Judge("Is it?", RIGHT, several="last_line")
    assert await value(strict, "y", judge=judge) == 0
    assert "The last line of your answer" in judge.requests[1][-1].content


def test_another_word_for_what_counts_is_refused() -> None:
    other: Any = "last line"
    with pytest.raises(ValueError, match="several: expected unclear, last or last_line, found 'last line'"):
        Judge("Is it?", RIGHT, several=other)
