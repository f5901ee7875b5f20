"""Mathematical answers that are taken back, denied or hedged, which are none."""

from __future__ import annotations

import time

import pytest
from processor import slowness

from ray_gym.envs.math.hedged import alternatives, is_hedged, without_contrast
from ray_gym.envs.math.verification import verify_answer


@pytest.mark.parametrize(
    "answer",
    [
        r"~~\boxed{12}~~ I take it back", r"<del>\boxed{12}</del>", r"\cancel{\boxed{12}}", r"\sout{\boxed{12}}",
        r"\boxed{13} ~~\boxed{12}~~", r"\boxed{12} is wrong", r"\boxed{12}. No wait, that is incorrect.", r"not \boxed{12}",
        "The answer is 12 or 13.", "The answer is 13 or 12.", "It is 13, maybe 12.", r"The answer is \$12 or \$13",
        "It is 12 cm or 13 cm.", "12 is wrong.", "The answer is not 12.", "It isn't $12$.", "more than 12", "It is 13, not 12.",
        "The answer is at least 12.", "The answer is 12 or more.", "between 11 and 12", "It is 13 rather than 12",
        "12. That would be wrong.", r"\boxed{12}. That can't be right.", "USD 12 or USD 13", "not USD 12", r"\text{not } 12",
        "The answer isn't 12, it's 13", "The answer is not $12$, it is $13$.", "The answer cannot be 12, so it is 13",
    ],
)  # fmt: skip
def test_an_answer_that_is_taken_back_or_hedged_is_none(answer: str) -> None:
    assert verify_answer("12", answer)[0] == 0


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("\\boxed{12}\n\n**Final Answer: 15**", 0), ("\\boxed{12}. Wait, actually it's 13.", 0),
        ("\\boxed{12}? No.", 0), ("The answer is 12? No: 13.", 0), ("The answer is 12. Wait, it's 13.", 0),
        ("Answer: 12\nThat is wrong.", 0), ("\\boxed{12}\n\n**Final Answer: 12.0**", 1),
        ("\\boxed{12}\n\nAnswer: $x = 12$", 1), ("\\boxed{12}\n\nThe answer is 24/2.", 1),
        ("The answer is 12. Wait, let me check: 3*4 = 12. Yes, it's 12.", 1), ("\\boxed{12}\n\nAnswer: 12 apples", 1),
        ("\\boxed{12}. Hmm, I made a mistake; it's 13.", 0), ("\\boxed{12} -> 13", 0), ("\\boxed{12} -> 24/2", 1),
        ("The answer is 12. Oops, I meant 13.", 0), ("The answer is 12? Not quite, it is 13.", 0),
    ],
)  # fmt: skip
def test_an_answer_behind_which_another_value_is_given_is_none(answer: str, value: float) -> None:
    assert verify_answer("12", answer)[0] == value


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        ("13", r"\boxed{13} ~~\boxed{12}~~"), ("13", r"\boxed{13}, not \boxed{12}"), ("13", r"\boxed{13}. 12 is wrong."),
        ("13", "The answer is 13, not 12."), ("13", "It is 13 rather than 12."), ("12", "It is not 13. The answer is 12."),
        ("12", "12 is more than 11, so it is 12."), ("\\frac{1}{2}", "The answer is 1/2 or 0.5."), ("12", "About 12"),
        ("\\{1, 2\\}", "Either $x=1$ or $x=2$"), ("12", "With 3 or 4 steps left, the answer is 12."), ("13", "It is USD 13, not USD 12."),
        ("13", "The answer isn't 12, it's 13"), ("13", "It is not 12 but 13."), ("13", "The answer cannot be 12, so it is 13"),
    ],
)  # fmt: skip
def test_an_answer_that_tells_itself_from_another_counts(expected: str, answer: str) -> None:
    assert verify_answer(expected, answer)[0] == 1


@pytest.mark.parametrize("part", ["not ", "12 or ", "1 ", ", not 1", "$", "\\(", "more than ", "1/", "a "])
def test_no_hedge_takes_long_to_read(part: str) -> None:
    text, began = part * 10_000, time.process_time()
    (is_hedged(text), alternatives(text), without_contrast(text))
    assert time.process_time() - began < 2 * slowness()
