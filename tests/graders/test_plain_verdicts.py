"""Checks that a verdict which is withdrawn, ascribed to someone else, restated or on another scale is unclear."""

from __future__ import annotations

import time

import pytest
from processor import slowness

from ray_gym.graders.labels import clear_label, last_label
from tests.graders.label_sets import BARE, BETTER, CORRECT, MANNER, PASS, SCORES, YES

TO_FIVE = tuple("12345")
MARKED_TO_FIVE = tuple(f"[[{number}]]" for number in range(1, 6))
LETTERS = ("A", "B")
WITHDRAWN = [
    "That verdict was wrong.", "The above is mistaken.", "I take that back.", "Scratch that.", "Correction: it fails.",
    "The verdict above is wrong.", "That was a mistake.", "That isn't right.", "That's wrong.", "I was too lenient.",
    "I withdraw my verdict.", "Please ignore the above verdict.", "I made a mistake.", "I changed my mind.",
    "This verdict no longer holds.", "Revised verdict: fail", "Looking at it again, the output is empty.",
    "The verdict should be negative.", "It should have been negative.", "I spoke too soon.", "Forget what I said.",
    "What I said is wrong.", "That conclusion was premature.", "Update: it crashed.",
    "But it crashed.", "However it fails on empty input", "Although it crashes on empty input.", "Yet it crashes.",
    "Nevertheless, it crashed.", "That said, it crashed.", "Unfortunately, it crashed.", "Aber es st\u00fcrzt ab.",
    "This was the wrong verdict.", "The verdict I gave above is not right.", "My answer was wrong.", "No, it is empty.",
    "Just kidding.", "Cancel that.", "Erratum: it crashed.", "Regrettably, it crashed.",
    "Don't count that.", "Do not count my verdict.",
]  # fmt: skip
"""Sentences behind a verdict."""
ASCRIBED = [
    "Candidate's verdict:", "The student's answer:", "**The student's answer:**", "Model A says:", "Student answer:",
    "Student:", "Model A:", "The response's verdict:", "Reviewer 2 says:", "The other judge's verdict:", "Previous judge:",
    "Its own verdict:", "Claimed verdict:", "Self-assessment:", "Reference verdict:", "Verdict of the candidate:",
    "Verdict according to the student:", "According to the student:", "GPT-4 says:", "John's verdict:", "His answer:",
    "Verdict (candidate):", "The candidate gave:", "The student's self-assessment:", "Given answer:", "Draft:",
    "The candidate's verdict is", "The student's final answer is:", '{"student_answer":', "The user wants:",
    "What the student said:", "**What the student wrote:**", "What they said is:", "What was said:",
]  # fmt: skip
"""Titles of a label that is not the judge's."""
RESTATED = [
    "Final: {}", "Final verdict: {}", "{}", "**{}**", "Verdict: {}", "So the verdict is {}.", "Overall, {}.", "{}.",
    "Final decision - {}", "Therefore, {}.", "I rate it {}.", "Final answer: {}, as it crashed",
]  # fmt: skip
"""Another label in another letter case."""


@pytest.mark.parametrize("behind", WITHDRAWN)
def test_a_verdict_that_the_next_sentence_withdraws_is_unclear(behind: str) -> None:
    for text, labels in ((f"Verdict: PASS\n{behind}", PASS), (f"[[YES]]. {behind}", YES)):
        assert clear_label(text, labels) is last_label(text, labels) is None


@pytest.mark.parametrize("title", ASCRIBED)
def test_a_title_that_names_someone_else_makes_no_verdict(title: str) -> None:
    for text, labels in ((f"{title} PASS", PASS), (f"{title} [[YES]]", YES)):
        assert clear_label(text, labels) is last_label(text, labels) is None
    text = f"{title} PASS\nVerdict: FAIL"
    assert clear_label(text, PASS) == last_label(text, PASS) == "FAIL"


@pytest.mark.parametrize("form", RESTATED)
def test_another_label_in_another_letter_case_makes_it_unclear(form: str) -> None:
    for before, other, labels in (
        ("Draft: PASS", "fail", PASS),
        ("Verdict: PASS", "Fail", PASS),
        ("[[YES]]", "[[no]]", YES),
        ("4", "three", TO_FIVE),
    ):
        text = f"{before}\n{form.format(other)}"
        assert clear_label(text, labels) is last_label(text, labels) is None


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("PASS, but it crashed.", PASS),
        ("PASS\nIn fact, it fails.", PASS),
        ("Score: 4\nThat score was wrong.", TO_FIVE),
        ("Score: 4\nThe score should be lower.", TO_FIVE),
        ("FAIL\nThat verdict was wrong.", PASS),
        ("PASS (but it crashed)", PASS),
        ("CORRECT\nVerdict: not correct", CORRECT),
        ("PASS\nThat answer was wrong.", PASS),
        ("PASS\nNote: it crashed.", PASS),
        ("PASS\n**Note:** the program timed out.", PASS),
        ("PASS. Note that the build still fails.", PASS),
        ("Score 1-10: 4", TO_FIVE),
        ("Steps 1-5: 4", TO_FIVE),
        ("Score 1/5: 4", TO_FIVE),
        ("CORRECT\nThe final answer is wrong.", CORRECT),
        ("4 (1-10)", TO_FIVE),
        ("Verdict: A\nFinal: b", LETTERS),
        *((text, TO_FIVE) for text in (
            "4/10", "4 out of 10", "4 of 10", "4 / 10", "Score: **4**/10", "4 (out of 10)", "4 von 10", "4 points out of 10",
            "I give it 4/10.", "3/4", "Score (out of 10): 4", "On a scale of 1 to 10, I give it a 4.", "4分(满分10分)",
            '{"score": 4, "max": 10}', "4.0/10",
        )),
        ("[[4]]/10", MARKED_TO_FIVE),
        ("[[4]] out of 10", MARKED_TO_FIVE),
        ("Score: 4/5", SCORES),
    ],
)  # fmt: skip
def test_what_is_not_plain_is_unclear(text: str, labels: tuple[str, ...]) -> None:
    assert clear_label(text, labels) is last_label(text, labels) is None


@pytest.mark.parametrize(
    ("text", "labels", "never"),
    [
        ("4 (was 5)", TO_FIVE, "5"),
        ("4 (previously 5)", TO_FIVE, "5"),
        ("4, not 5", TO_FIVE, "5"),
        ("Score: 4 (it was 5)", TO_FIVE, "5"),
        ("Score: 4 (before: 5)", TO_FIVE, "5"),
        ("Score: 4. Previously 5.", TO_FIVE, "5"),
        ("4 (I first gave 5)", TO_FIVE, "5"),
        ("4; was 5", TO_FIVE, "5"),
        ("4 <- 5", TO_FIVE, "5"),
        ("4 (1-5)", TO_FIVE, "5"),
        ("1. B: clear\n2. A: long", LETTERS, "A"),
        ("FAIL (was PASS)", PASS, "PASS"),
        ("[[NO]] (was [[YES]])", YES, "[[YES]]"),
        ("B > A", LETTERS, "A"),
        ("A < B", LETTERS, "A"),
        ("B >> A", LETTERS, "A"),
        ("B>A because it is clear", LETTERS, "A"),
        ("[[B]] > [[A]]", BETTER, "[[A]]"),
        ("Ranking: B, A", LETTERS, "A"),
        ("1. B\n2. A", LETTERS, "A"),
        ("First: B\nSecond: A", LETTERS, "A"),
    ],
)
def test_a_former_score_and_the_lower_rank_are_never_the_verdict(
    text: str, labels: tuple[str, ...], never: str
) -> None:
    assert never not in (clear_label(text, labels), last_label(text, labels))


@pytest.mark.parametrize(
    ("text", "label", "labels"),
    [
        ("PASS\n\nThe answer matches the reference.", "PASS", PASS),
        ("CORRECT. The approach is clear. However, it could be shorter.", "CORRECT", CORRECT),
        ("FAIL. That is wrong.", "FAIL", PASS),
        ("INCORRECT. It should be 12.", "INCORRECT", CORRECT),
        ("FAIL, but close.", "FAIL", PASS),
        ("Score: 4\nHowever, it lacks sources.", "4", TO_FIVE),
        ("[[A]], but B is close.", "[[A]]", BETTER),
        ("PASS\nThe verdict follows from the tests.", "PASS", PASS),
        ("FAIL\nNote: it crashed.", "FAIL", PASS),
        ("FAIL. Do not accept this answer.", "FAIL", PASS),
        ("PASS\nNote: it never crashed.", "PASS", PASS),
        ("PASS\nThe program fails gracefully.", "PASS", PASS),
        ("PASS\nThe program fails as expected.", "PASS", PASS),
        ("PASS\nThe submission fails to say why.", "PASS", PASS),
        ("What the student said is right: YES", "YES", BARE),
        ("It matches what the student said: YES", "YES", BARE),
        ("What I say: YES", "YES", BARE),
        ("Verdict:&nbsp;PASS", "PASS", PASS),
        ("&lt;verdict&gt;PASS&lt;/verdict&gt;", "PASS", PASS),
        ("PASS\nWhile running the tests, I saw no error.", "PASS", PASS),
        ("The judge's verdict: PASS", "PASS", PASS),
        ("Your verdict: PASS", "PASS", PASS),
        ("The student's score: 4", "4", TO_FIVE),
        ("Verdict on the candidate: PASS", "PASS", PASS),
        ("The agent's manner: [[GOOD]]", "[[GOOD]]", MANNER),
        ("Better assistant: A", "A", LETTERS),
        ("Assistant: A", "A", LETTERS),
        ("The student's answer: YES\nThat is not what was asked.\nVerdict: NO", "NO", BARE),
        ("CORRECT\nThe answer is correct.", "CORRECT", CORRECT),
        ("NO\nCorrect answer: yes\nStudent's answer: no", "NO", BARE),
        ("PASS\nSo the verdict is pass.", "PASS", PASS),
        ("4/5", "4", TO_FIVE),
        ("4 of 5", "4", TO_FIVE),
        ("4.0/5.0", "4", TO_FIVE),
        ('"4" / 5', "4", TO_FIVE),
        ("[[4]]/5", "[[4]]", MARKED_TO_FIVE),
        ("It passes 3/4 of the tests.\n\nScore: 4", "4", TO_FIVE),
        ("Score (out of 10): 6", "6", SCORES),
        ("Score (1-10): 4", "4", SCORES),
        ("Score 1-10: 4", "4", SCORES),
        ("Score 1-5: 4", "4", TO_FIVE),
        ("Score 1 to 5 = 4", "4", TO_FIVE),
        ("**Rating from 1\u20135**: 4", "4", TO_FIVE),
        ("Helpfulness 1-5: 4", "4", TO_FIVE),
        ("Score (1 to 10): 4", "4", SCORES),
        ("Final score (out of 10): 6", "6", SCORES),
        ("Rating [1-5]: 3", "3", TO_FIVE),
        ("Score (scale 1-5): 4", "4", TO_FIVE),
        ("Score (1=bad, 5=good): 4", "4", TO_FIVE),
        ("Score (max 5): 4", "4", TO_FIVE),
        ("Score (5 is best): 4", "4", TO_FIVE),
        ("Score (5-point scale): 4", "4", TO_FIVE),
        ("Rating (a whole number from 1 to 5): 4", "4", TO_FIVE),
        ("| Score (1-5) | 4 |", "4", TO_FIVE),
        ("Overall quality (1 to 5): 4", "4", TO_FIVE),
        ("On a scale of 1 to 5, I give it a 4.", "4", TO_FIVE),
        ("Rating [1-5]: [[3]]", "[[3]]", MARKED_TO_FIVE),
    ],
)
def test_plain_verdicts_beside_such_words_count(text: str, label: str, labels: tuple[str, ...]) -> None:
    assert clear_label(text, labels) == last_label(text, labels) == label


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        *((text, LETTERS) for text in ("B ->A", "B -> A", "B => A.", "B \u2192 A", "Ranking: B -> A", "B -> A -> B")),
        *((text, LETTERS) for text in ("B&gt;A", "B &gt; A", "A&gt;B", "B&#62;A", "B -&gt; A", "**B** &rarr; **A**")),
        ("[[B]] ->[[A]]", BETTER),
        ("[[B]]&gt;[[A]]", BETTER),
        ("[[B]] -> [[A]] -> [[C]]", BETTER),
        ("B ->A", ("A>B", "B>A", "A=B")),
    ],
)
def test_names_with_an_arrow_between_them_may_be_a_ranking_or_a_revision(text: str, labels: tuple[str, ...]) -> None:
    assert clear_label(text, labels) is last_label(text, labels) is None


@pytest.mark.parametrize(("text", "label"), [("B&gt;A", "B>A"), ("B>A", "B>A"), ("A&gt;B", "A>B"), ("A&#x3e;B", "A>B")])
def test_a_label_of_a_pair_is_the_better_first_also_escaped(text: str, label: str) -> None:
    assert clear_label(text, ["A>B", "B>A"]) == last_label(text, ["A>B", "B>A"]) == label
    marked = ["[[A>B]]", "[[B>A]]", "[[A=B]]"]
    assert clear_label(f"Verdict: [[{text}]]", marked) == last_label(f"[[{text}]]", marked) == f"[[{label}]]"


@pytest.mark.parametrize(
    ("text", "label", "labels"),
    [
        ("A is clearer than B \u2192 [[A]]", "[[A]]", BETTER),
        ("(A is longer) -> [[B]]", "[[B]]", BETTER),
        ("A is clearer than B -> A", "A", LETTERS),
        ("FAIL -> PASS", "PASS", PASS),
        ("4 -> 5", "5", TO_FIVE),
    ],
)
def test_the_last_label_behind_an_arrow_counts_otherwise(text: str, label: str, labels: tuple[str, ...]) -> None:
    assert last_label(text, labels) == label


@pytest.mark.parametrize(
    "part", ["That verdict ", "B -> A ", "&gt;", "Score 1-", "note: it ", "what the ",
             "PASS\nBut ", "the student's own ", "a b c says: ", "Final: x\n", "4/10 ", "Score (1-", "B > A ",
             "(was ", "on a scale of ", "I would ", "pass\n", "looking at it "],
)  # fmt: skip
@pytest.mark.clock
def test_what_is_not_plain_is_found_in_linear_time(part: str) -> None:
    began = time.process_time()
    clear_label("PASS\n" + part * 8_000 + "PASS", [*PASS, *SCORES, *LETTERS])
    assert time.process_time() - began < 3 * slowness()
