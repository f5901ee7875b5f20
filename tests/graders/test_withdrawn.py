"""Checks which box of an answer stands: not one that is struck through, denied, or called wrong."""

from __future__ import annotations

import time

import pytest
from processor import slowness

from ray_gym.graders.withdrawn import answer_instead, split_at_standing_box, standing_box


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
    assert split_at_standing_box(r"If x were 2, it is \boxed{8}.") == ("If x were 2, it is ", "8", ".")
    assert split_at_standing_box(r"\boxed{3}. If x were 2, it is \boxed{8}.")[:2] == ("", "3")


@pytest.mark.parametrize(
    "part",
    [
        *("if x were 2: \\boxed{1} ", "if had were ", "not ", "not $", "~~a", "\\boxed{", "not \\boxed{", "}$", "\\) "),
        *(
            "the answer is ",
            "the answer is 15. ",
            "wait, it's 13. ",
            "wait",
            "answer: *",
            "it is $",
            "答案:",
            "1",
            "13? ",
            "the correct value is 13. ",
            "is that right? ",
            "but ",
            "i made a mistake ",
            "-> 13 ",
        ),
    ],
)
@pytest.mark.clock
def test_no_box_takes_long_to_find(part: str) -> None:
    began = time.process_time()
    split_at_standing_box(f"\\boxed{{1}}{part * 10_000}")
    answer_instead(f"\\boxed{{1}}{part * 10_000}")
    answer_instead(f"The answer is 1. {part * 10_000}")
    assert time.process_time() - began < 2 * slowness()


@pytest.mark.parametrize(
    ("behind", "instead"),
    [
        ("\n\n**Final Answer: 15**", "15"), ("\n\nAnswer: 15", "15"), ("\n\n### Final Answer\n15", "15"),
        ("\n\nHmm, let me recheck. 3*5=15. So the answer is 15.", "15"), (". Wait, actually it's 13.", "13"),
        ("\n\nActually, the answer should be 15.", "15"), ("\n\nSo the correct answer is $15$, not 12.", "$15$"),
        ("\n\nCorrection: 15.", "15"), ("\n\nOops, it must be 13.", "13"), ("\n\nActually, 13.", "13"),
        ("\n\nWait, I forgot the sign: the result is -12.", "-12"), ("\n\nThe final answer is \\(15\\).", "\\(15\\)"),
        ("\n\n答案是15。", "15"), ("\n\nTherefore, the answer is 15 apples.", "15 apples"),
        ("\n\n**Final Answer: 12**", None), ("\n\nThe answer is 3 times 4 = 12.", None), ("\n\nConfidence: 95%", None),
        ("\n\nThe answer is positive, as expected.", None), ("\n\nThe answer is verified by step 2.", None),
        ("\n\nWait, let me double-check: 3*4 = 12. Yes.", None), (". Check: 3*5 = 15, so it's 15.", None),
        ("\n\nActually, this is 3 more than 9.", None), ("\n\nWait, is the answer 15?", None),
        ("\n\nWait, let me recheck: that is 15. Then 15 - 3 = 12.", None), ("\n\nIf n = 5, the answer is 15.", None),
        ("\n\nLet me recheck: that is 15, which is correct.", None), ("\n\nThe student's answer: 15", None),
        ("\n\nWait, the answer is 15? I doubt it.", None),
        (". Hmm, I made a mistake; it should be 15.", "15"), (". I made a mistake, it's 15.", "15"), (". My mistake, it's 15.", "15"),
        (". Oops, I meant 15.", "15"), (". I meant to say 15.", "15"), (". I miscounted: 15.", "15"), (". My bad, 15.", "15"),
        ("\n\nThe correct value is 15.", "15"), ("\n\nThe right number: 15", "15"), ("\n\nThe corrected total is 15.", "15"),
        (" -> 15", "15"), (" \\to 15", "15"), (" → $15$", "$15$"), (" -> y = 15", None), (" => 15", None), (" -> 12", None),
        (" -> 5 points", None), (" → +1 point", None), (" -> 1/1", None), (" -> 2 marks", None), (" -> 1/2", "1/2"),
        (". A common mistake is 15.", None), (". I made a mistake before, now it's right.", None), (". I meant it.", None),
        (". Hmm, I made a mistake: 15. No, it is 12.", None), ("\n\nThe correct value is not 15.", None),
    ],
)  # fmt: skip
def test_another_value_is_given_as_the_answer_behind_a_box(behind: str, instead: str | None) -> None:
    assert answer_instead(f"$\\boxed{{12}}${behind}") == instead


def test_without_a_box_another_value_counts_behind_words_that_take_the_answer_back() -> None:
    assert answer_instead("The answer is 12. Wait, it's 13.") == "13"
    assert answer_instead("The answer is 12. It's 3 more than 9.") is None


@pytest.mark.parametrize(
    ("behind", "box"),
    [
        (". But that's wrong, since 1+1=2.", None), (". However, this is incorrect.", None), (". But no.", None),
        (". Is that right? No.", None), (". Does it work? No, it doesn't.", None), (". Was that true? Not quite.", None),
        ("? Not quite, it is 15.", None), (". Not really.", None), (". Not quite right: 15", None),
        (". But 15 is wrong.", "12"), (". But that's right.", "12"), (". Is that right? Yes.", "12"), (". Is it 15? No.", "12"),
        (". Does that work? Yes, 3*4 = 12.", "12"), (". Is that right? No doubt.", "12"), (". Not quite 13.", "12"),
        (" Not quite as large as 13.", "12"), (". Not really as simple as it looks.", "12"), (". Not quite, as it is 15.", None),
    ],
)  # fmt: skip
def test_a_box_that_is_called_wrong_behind_a_but_or_a_question_does_not_stand(behind: str, box: str | None) -> None:
    assert standing_box(f"$\\boxed{{12}}${behind}") == box


@pytest.mark.parametrize("below", ["That is wrong.", "Wait, no, that's incorrect."])
def test_a_box_that_the_next_line_calls_wrong_does_not_stand(below: str) -> None:
    assert standing_box(f"\\[\\boxed{{12}}\\]\n\n{below}") is None
    assert standing_box("\\boxed{12}\n\nWrong answers: 13") == standing_box("\\boxed{12}\n\nWrong answer: 13") == "12"
    assert standing_box(r"\boxed{12}? No.") is None
