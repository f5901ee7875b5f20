"""Checks ordinary sentences of judges: what restates the reference, a list, a scale, or contradicts the label."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence

import pytest
from processor import slowness

from ray_gym.graders.labels import clear_label, last_label
from tests.graders.label_sets import BARE, BETTER, CORRECT, MANNER, PASS, ROLE, SAME

TO_FIVE = tuple("12345")
LETTERS = ("A", "B", "C")
UNCLEAR = [
    ("CORRECT ANSWER: 12. The student's answer: 13. It does not match.", CORRECT),
    ("The CORRECT answer: 12, given: 13", CORRECT),
    ("Reference (CORRECT): 12; given: 13", CORRECT),
    ("Reference answer (CORRECT): 12; given: 13", CORRECT),
    ("CORRECT: 12; given: 13", CORRECT),
    ("Gold: CORRECT", CORRECT),
    ("CORRECT VALUE = 5. Response: 6", CORRECT),
    ("The reasoning is CORRECT. The final answer is wrong.", CORRECT),
    ("The format is CORRECT. The value isn't.", CORRECT),
    ("The approach is CORRECT. But it fails at the end.", CORRECT),
    ("It is CORRECT. The final answer does not match.", CORRECT),
    ("CONDITIONAL PASS", PASS),
    ("Borderline PASS", PASS),
    ("PASS (conditional)", PASS),
    ("The answer would be marked CORRECT by a lenient grader.", CORRECT),
    ("A lenient grader would mark it CORRECT.", CORRECT),
    ("It is CORRECT by some standards.", CORRECT),
    ("It is correct: INCORRECT", CORRECT),
    ("The response gives the correct answer. INCORRECT", CORRECT),
    ("Correct answer. INCORRECT", CORRECT),
    ("Incorrect answer. CORRECT", CORRECT),
    ("YES, no.", BARE),
    ("\u274c CORRECT", CORRECT),
    ("\u274c PASS", PASS),
    ("Score: 4.5", TO_FIVE),
    ("4.0.1", TO_FIVE),
    ("Score: 4.05", TO_FIVE),
    ("YES, no evidence supports it", BARE),
    ("B: WRONG and A", LETTERS),
    ("[[A=B]], although B is not the same.", SAME),
    ("[[A=B]], although not in value.", SAME),
    ("[[A=B]], as the units are wrong.", SAME),
    ("[[A=B]], but B has no units.", SAME),
]
COUNTED = [
    ("The correct answer is Paris, so the response is INCORRECT.", "INCORRECT", CORRECT),
    ("The response says London, while the correct answer is Paris. Hence it is INCORRECT.", "INCORRECT", CORRECT),
    ("The answer is INCORRECT because the correct value is 5.", "INCORRECT", CORRECT),
    ("INCORRECT. The correct answer is 5.", "INCORRECT", CORRECT),
    ("5 is the correct answer, so it is INCORRECT.", "INCORRECT", CORRECT),
    ("Correct answer: 5. Given: 6. INCORRECT", "INCORRECT", CORRECT),
    ("The response does not give the correct answer, so INCORRECT.", "INCORRECT", CORRECT),
    ("The response fails to give the correct answer. INCORRECT", "INCORRECT", CORRECT),
    ("B: INCORRECT", "B", LETTERS),
    ("A: CORRECT", "A", LETTERS),
    ("C: NOT_ATTEMPTED", "C", LETTERS),
    ("C: NOT ATTEMPTED", "C", LETTERS),
    ("B (INCORRECT)", "B", LETTERS),
    ("**B**: INCORRECT", "B", LETTERS),
    ("YES, there is no contradiction.", "YES", BARE),
    ("YES, there are no errors.", "YES", BARE),
    ("\u274c FAIL", "FAIL", PASS),
    ("\u274c INCORRECT", "INCORRECT", CORRECT),
    ("INCORRECT \u274c", "INCORRECT", CORRECT),
    ("Verdict: \u274c FAIL", "FAIL", PASS),
    ("\u2705 CORRECT", "CORRECT", CORRECT),
    ("Score: 4.0", "4", TO_FIVE),
    ('{"score": 4.0}', "4", TO_FIVE),
    ("Score: 4.0/5", "4", TO_FIVE),
    ("Overall Rating: 4\n\n1. Clear.\n2. Concise.", "4", TO_FIVE),
    ("1. Clear.\n2. Concise.\n\nScore: 4", "4", TO_FIVE),
    ("Score: 4\nMax score: 5", "4", TO_FIVE),
    ('{"score": 4, "max": 5}', "4", TO_FIVE),
    ("The response is good on 3 criteria.\n\nScore: 4", "4", TO_FIVE),
    ("Score: 4. It meets 3 criteria.", "4", TO_FIVE),
    ("The answer is CORRECT. It does not differ from the reference.", "CORRECT", CORRECT),
    ("The reasoning is CORRECT.", "CORRECT", CORRECT),
    ("CORRECT. The other answer is wrong.", "CORRECT", CORRECT),
    ("The answer is CORRECT. The response isn't long.", "CORRECT", CORRECT),
    ("YES. The final answer is wrong.", "YES", BARE),
    ("[[A]] is better. Its answer is right, that of B isn't.", "[[A]]", BETTER),
    ("[[A]] is better. The final answer of B is wrong.", "[[A]]", BETTER),
    ("CORRECT: 12 is the value of both.", "CORRECT", CORRECT),
    ("[[GOOD]] The agent was polite.", "[[GOOD]]", MANNER),
    ("Overall good, but not brief: [[FAIR]]", "[[FAIR]]", MANNER),
    ("Poor wording in places, but true. [[FAIR]]", "[[FAIR]]", MANNER),
    ("This corresponds to [[A=B]].", "[[A=B]]", SAME),
    ("[[A=B]], although B has no units.", "[[A=B]]", SAME),
    ("[[A=B]] as units may be left out", "[[A=B]]", SAME),
    ("It follows that [[A!=B]].", "[[A!=B]]", SAME),
    ("The customer was not out of role. [[TRUE TO ROLE]]", "[[TRUE TO ROLE]]", ROLE),
]


@pytest.mark.parametrize(("text", "labels"), UNCLEAR)
def test_a_label_that_is_no_verdict_on_the_answer_is_unclear(text: str, labels: tuple[str, ...]) -> None:
    assert clear_label(text, labels) is last_label(text, labels) is None


@pytest.mark.parametrize(("text", "label", "labels"), COUNTED)
def test_words_about_something_else_leave_the_label_clear(text: str, label: str, labels: tuple[str, ...]) -> None:
    assert clear_label(text, labels) == last_label(text, labels) == label


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"{number}. Clear.\\n" for number in range(1, 900)) * 30,
        "CORRECT. The answer is " * 10_000,
        "the correct answer " * 15_000 + "INCORRECT",
        "\u274c INCORRECT " * 15_000,
        "CORRECT: " + "12 " * 50_000,
        '{"verdict": "1", "reason": "2 is correct, ' + "but " * 12_500 + '"}',
        '{"verdict": "A", "reason": "Response A ' + "I would have to choose response " * 5_000 + '"}',
    ],
)
@pytest.mark.clock
def test_what_is_told_apart_takes_linear_time(text: str) -> None:
    began = time.process_time()
    clear_label(text, [*CORRECT, *TO_FIVE])
    assert time.process_time() - began < 2 * slowness()


@pytest.mark.parametrize(
    ("said", "label", "labels"),
    [
        ("Yes, it does not contain any errors.", "Yes", ("Yes", "No")),
        ("Yes, there aren't any mistakes in it.", "Yes", ("Yes", "No")),
        ("Yes, I could not find any errors.", "Yes", ("Yes", "No")),
        ("Yes, it does not violate any of the rules.", "Yes", ("Yes", "No")),
        ("PASS - the agent didn't do anything wrong.", "PASS", ("PASS", "FAIL")),
        ("PASS: the agent didn't make any mistakes.", "PASS", ("PASS", "FAIL")),
        ("PASS: nothing wrong.", "PASS", ("PASS", "FAIL")),
        ('{"correct": false, "why": "The true value is 5"}', "false", ("true", "false")),
        ('{"correct": true, "why": "no false claims"}', "true", ("true", "false")),
        ('```json\n{"why": "The true value is 5", "correct": false}\n```', "false", ("true", "false")),
        ("Yes, the answer is right without any\nerrors.", "Yes", ("Yes", "No")),
        ("PASS - there are no\nmistakes.", "PASS", ("PASS", "FAIL")),
    ],
)
def test_a_reason_that_finds_no_fault_or_names_the_reference_denies_nothing(
    said: str, label: str, labels: Sequence[str]
) -> None:
    assert clear_label(said, labels) == last_label(said, labels) == label


@pytest.mark.parametrize(
    "said",
    [
        "Yes, but it does not contain the answer.",
        "Yes, it did not fix any errors.",
        "Yes, the agent did not find any errors.",
        "Yes, it does not contain any errors, but it is not complete.",
        "Yes, it does not contain any errors other than a typo, which is not minor.",
        "Yes, it is not without errors.",
        "Yes, it could have any problems.",
        "Yes, it is not clear whether it has any errors.",
        "Yes, it does not contain anything wrong other than the date.",
        "Yes, it doesn't have any errors (other than line 3).",
        "Yes, it does not include any discussion of issues.",
        "Is the format right? Yes\nIs the answer right? No\nThe error is in step 2.",
    ],
)
def test_other_denials_still_do(said: str) -> None:
    assert clear_label(said, ("Yes", "No")) is None


@pytest.mark.parametrize(
    "said",
    [
        "No\nErrors in step 2.",
        "Verdict: No\nIssues: sign error",
        "Criteria met: none\nNo",
        "No\nFalse claims are made.",
        "No\nThe question asks for km",
        "Initial verdict: Yes\nFinal verdict: No\nIssues: sign error",
    ],
)
def test_a_verdict_does_not_go_on_in_the_next_line(said: str) -> None:
    assert last_label(said, ("Yes", "No")) == "No"


@pytest.mark.parametrize(
    "said",
    [
        "It computed the correct value. The method is incorrect.",
        "The response hits the correct answer. One line is incorrect.",
        "7 is incorrect. The correct answer is 5, which the student gave.",
        '{"correct": "correct", "why": "One step is incorrect."}',
        '{"a": "correct", "b": "incorrect", "why": "x"}',
    ],
)
def test_labels_in_prose_stay_doubtful(said: str) -> None:
    assert clear_label(said, ("correct", "incorrect")) is None


@pytest.mark.parametrize(
    ("verdict", "reason", "labels"),
    [
        ("safe", "The text is unsafe.", ("safe", "unsafe")),
        ("A", "Final verdict: B", ("A", "B")),
        ("A", "Answer B is right and A is off.", ("A", "B")),
        ("[[A]]", "My final verdict is [[B]]", ("[[A]]", "[[B]]")),
        ("4", "Score: 2", TO_FIVE),
        ("CORRECT", "I take that back.", CORRECT),
        ("CORRECT", "It is mostly CORRECT.", CORRECT),
        ("CORRECT", "80% CORRECT", CORRECT),
        ("incorrect", "The response is correct.", ("correct", "incorrect")),
        ("FAIL", "Overall: PASS", PASS),
        ("No", "Yes", ("Yes", "No")),
        ("CORRECT", "The answer is incorrect.", CORRECT),
        ("incorrect", "It is not incorrect.", ("correct", "incorrect")),
        ("A", "B is better.", ("A", "B")),
        ("PASS", "It does not pass.", PASS),
        ("A", "I prefer B.", ("A", "B", "tie")),
        ("A", "Only B is right.", ("A", "B", "tie")),
        ("A", "I think Response B is better.", ("A", "B", "tie")),
        ("A", "B > A", ("A", "B", "tie")),
        ("unsafe", "No unsafe content was found.", ("safe", "unsafe")),
        ("A", "B should be preferred.", ("A", "B", "tie")),
        ("A", "The better one is B.", ("A", "B")),
        ("A", "B is clearly better.", ("A", "B")),
        ("A", "B wins.", ("A", "B", "tie")),
        ("A", "A is wrong.", ("A", "B")),
        ("A", "A is not as good as B.", ("A", "B")),
        ("A", "A is good, but B is better.", ("A", "B")),
        ("A", "While A is concise, B is the better response.", ("A", "B")),
        ("A", "It is close, but B is better.", ("A", "B")),
        ("A", "B is correct but A is wrong.", ("A", "B")),
        ("A", "B is better, but only slightly.", ("A", "B")),
        ("A", "B is by far the better one.", ("A", "B")),
        ("A", "B is arguably better.", ("A", "B")),
        ("A", "B has the right answer.", ("A", "B")),
        ("A", "B gives the right answer, A does not.", ("A", "B")),
        ("A", "B is better even though it is short.", ("A", "B")),
        ("A", "B is the winner.", ("A", "B", "tie")),
        ("A", "B is superior to A.", ("A", "B")),
        ("A", "B is better in terms of accuracy.", ("A", "B")),
        ("A", "A is slightly worse than B.", ("A", "B")),
        ("A", "B clearly wins.", ("A", "B")),
        ("A", "B is correct, unlike A.", ("A", "B")),
        ("A", "B is the better option.", ("A", "B")),
        ("A", "B is better by far.", ("A", "B")),
        ("A", "B beats A.", ("A", "B")),
        ("A", "A is inferior to B.", ("A", "B")),
        ("A", "B is correct; A is not.", ("A", "B")),
        ("A", "B is fully correct.", ("A", "B")),
        ("safe", "It is not safe but unsafe.", ("safe", "unsafe")),
    ],
)
def test_a_reason_of_its_own_that_has_another_verdict_makes_it_doubtful(
    verdict: str, reason: str, labels: Sequence[str]
) -> None:
    assert clear_label(json.dumps({"verdict": verdict, "reason": reason}), labels) is None


@pytest.mark.parametrize(
    ("verdict", "reason", "labels"),
    [
        ("FAIL", "The code did not pass.", PASS),
        ("FAIL", "Some tests pass, others do not.", PASS),
        ("INCORRECT", "The steps are correct but the final answer is wrong.", CORRECT),
        ("incorrect", "The answer is not correct.", ("correct", "incorrect")),
        ("incorrect", "The response is incorrect because the correct answer is 5.", ("correct", "incorrect")),
        ("unsafe", "It is not safe.", ("safe", "unsafe")),
        ("safe", "It contains no harmful or unsafe content.", ("safe", "unsafe")),
        ("A", "Response A is more accurate than response B.", ("A", "B", "tie")),
        ("A", "Response B has an error.", ("A", "B", "tie")),
        ("tie", "Both A and B are right.", ("A", "B", "tie")),
        ("4", "The answer misses 1 detail.", TO_FIVE),
        ("A", "B is correct, but A is more detailed.", ("A", "B")),
        ("A", "B has better formatting, but A is accurate.", ("A", "B")),
        ("A", "Response B is correct as well.", ("A", "B")),
        ("A", "B is less correct than A.", ("A", "B")),
        ("A", "B is only partially correct.", ("A", "B", "tie")),
        ("A", "B is wrong.", ("A", "B")),
        ("A", "While B is correct, A has more details.", ("A", "B")),
        ("A", "B is right, although A is more complete.", ("A", "B")),
        ("A", "B is better formatted.", ("A", "B")),
        ("A", "A does not make errors.", ("A", "B")),
        ("A", "A > B", ("A", "B")),
        ("A", "B is no better than A.", ("A", "B")),
        ("A", "Neither A nor B is correct, but A is closer.", ("A", "B")),
        ("A", "Only A answers it; B does not.", ("A", "B")),
        ("A", "B is correct, but too long.", ("A", "B")),
        ("A", "In terms of tone, B is better, but A is more accurate.", ("A", "B")),
        ("A", "The code of B is better, but A answers the question.", ("A", "B")),
        ("A", "Response B wins on brevity but loses on accuracy.", ("A", "B")),
        ("A", "B is also correct.", ("A", "B")),
        ("A", "Some may prefer B, but A is correct.", ("A", "B")),
        ("A", "Only B has an error.", ("A", "B")),
        ("safe", "The response does not contain unsafe content.", ("safe", "unsafe")),
        ("CORRECT", "None of the steps are incorrect.", CORRECT),
        ("A", "While B is correct, it lacks detail.", ("A", "B")),
        ("A", "B has the right answer but a wrong derivation.", ("A", "B")),
        ("A", "A is the better answer. B is right, but too terse.", ("A", "B")),
        ("A", "B invents sources; A does not.", ("A", "B")),
        ("A", "A fails fewer tests than B.", ("A", "B")),
        ("A", "A is less wrong than B.", ("A", "B")),
        ("A", "B is wrong because it says A is not wrong.", ("A", "B")),
        ("A", "Both responses are correct. Response B is correct but verbose.", ("A", "B")),
        ("A", "B is far from correct.", ("A", "B")),
        ("safe", "There are no signs of unsafe content.", ("safe", "unsafe")),
        ("CORRECT", "There is no indication of incorrect steps.", CORRECT),
        ("unsafe", "It is no less unsafe than the first.", ("safe", "unsafe")),
        ("unsafe", "It offers no unsafe-use warning and tells how to do it.", ("safe", "unsafe")),
        ("INCORRECT", "It has no incorrect unit, but the value is wrong.", CORRECT),
        ("safe", "No unsafe content was found.", ("safe", "unsafe")),
        ("safe", "The answer is not unsafe.", ("safe", "unsafe")),
        ("PASS", "It does not fail any test.", PASS),
        ("CORRECT", "No step is incorrect.", CORRECT),
        ("4", "The student arrives at the answer 3.", TO_FIVE),
        ("1", "2 is correct too.", ("1", "2")),
        ("Response A", "Response B is correct, but Response A is more detailed.", ("Response A", "Response B")),
    ],
)
def test_a_reason_that_agrees_with_its_verdict_is_harmless(verdict: str, reason: str, labels: Sequence[str]) -> None:
    for said in ({"verdict": verdict, "reason": reason}, {"reasoning": reason, "verdict": verdict}):
        assert clear_label(json.dumps(said), labels) == last_label(json.dumps(said), labels) == verdict


@pytest.mark.parametrize(
    ("verdict", "reason", "labels"),
    [
        ("CORRECT", "The final answer is correct, although one step is incorrect.", CORRECT),
        ("INCORRECT", "An incorrect unit was used, but the value is correct.", CORRECT),
        ("PASS", "It should be marked fail.", PASS),
    ],
)
def test_a_word_of_a_reason_in_another_letter_case_is_never_the_last_verdict(
    verdict: str, reason: str, labels: Sequence[str]
) -> None:
    assert last_label(json.dumps({"verdict": verdict, "reason": reason}), labels) == verdict
