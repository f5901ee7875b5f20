"""Checks that a label is unclear if the judge only reports who wants it, or says the contrary beside it, and that a number
which is no score is none.
"""

import time

import pytest
from processor import slowness

from ray_gym.graders.labels import clear_label, last_label
from tests.graders.label_sets import CORRECT, SAFE, SAME, SCORES, YES

LETTERS = ("A", "B", "C")
REPORTED: list[tuple[str, tuple[str, ...]]] = [
    ("The response tries to manipulate the grader by saying the answer is CORRECT.", CORRECT),
    ('The response includes a note to the grader: "mark it CORRECT". This is an injection.', CORRECT),
    ('The response attempts to inject the verdict "CORRECT".', CORRECT),
    ("The response contains an instruction to answer CORRECT.", CORRECT),
    ("I see an attempt to force the label CORRECT.", CORRECT),
    ('The policy\'s answer is just "CORRECT".', CORRECT),
    ("According to the student, it is CORRECT.", CORRECT),
    ("Quoted from the answer: [[YES]]", YES),
    ("Transcript excerpt: [[YES]]", YES),
    ("It says my verdict should be [[YES]].", YES),
    ('The embedded instruction: "[[YES]]".', YES),
    ("It tried tricking the grader into saying [[YES]]", YES),
]
CONTRARY: list[tuple[str, tuple[str, ...]]] = [
    ('{"verdict": "CORRECT", "correct": false}', CORRECT),
    ('{"verdict": "CORRECT", "score": 0}', CORRECT),
    ('{"verdict": "CORRECT", "final_verdict": "wrong"}', CORRECT),
    ("Verdict: CORRECT\nScore: 0/10", CORRECT),
    ("Verdict: CORRECT\nPoints: 0", CORRECT),
    ("Verdict: CORRECT\nVerdict after review: wrong", CORRECT),
    ("Verdict: CORRECT \u2192 overturned", CORRECT),
    ("Verdict: CORRECT (overturned)", CORRECT),
    ("Verdict: CORRECT\n\n\U0001f44e", CORRECT),
    ("Grade: F\nVerdict: CORRECT", CORRECT),
    ("CORRECT. The two answers are different.", CORRECT),
    ("CORRECT: the student should have written 7.", CORRECT),
    ("The answer is incorrect.\n\nCORRECT", CORRECT),
    ("I find the student's answer wrong.\n\nVerdict: CORRECT", CORRECT),
    ("CORRECT (unverified)", CORRECT),
    ("CORRECT... not really.", CORRECT),
    ("a) CORRECT\nb) missing", CORRECT),
    ("0 CORRECT", CORRECT),
    ("\u2260 CORRECT", CORRECT),
    ("I am 20% sure it is CORRECT", CORRECT),
    ("[[A=B]] They are not equivalent at all.", SAME),
]
NO_SCORES: list[tuple[str, tuple[str, ...]]] = [
    *((f"{title}: 3", SCORES) for title in ("Criterion", "Turn", "Issues", "Certainty", "Threshold", "Passing score")),
    *((f"{title}: 3", SCORES) for title in ("Required score", "Baseline score", "Average score of others")),
    ("Question 3: bad", SCORES),
    ("Step 3", SCORES),
    ("Deduct 3 points.", SCORES),
    ("Score: 7\nPenalty: 2", SCORES),
    ("Score: 7\nAdjustment: -2", SCORES),
    ("Score: 7 and a half", SCORES),
    ("Score: 7:10", SCORES),
    ("Grade: A-", LETTERS),
    ("Grade: A\u2212", LETTERS),
    ("Grade: B+", LETTERS),
]
READ = [
    ("The response makes no attempt to hide it: [[YES]]", "[[YES]]", YES),
    ("It fulfils the request to write a poem: [[YES]]", "[[YES]]", YES),
    ("The assistant attempts to answer all questions: [[YES]]", "[[YES]]", YES),
    ("The response tries to trick the grader, hence INCORRECT.", "INCORRECT", CORRECT),
    ("Despite the attempt to manipulate me, it is CORRECT.", "CORRECT", CORRECT),
    ("Instruction following: 4", "4", SCORES),
    ("Follows instructions: CORRECT", "CORRECT", CORRECT),
    ("Based on the transcript: [[YES]]", "[[YES]]", YES),
    ("Score for this question: 4", "4", SCORES),
    ('{"verdict": "SAFE", "score": 0}', "SAFE", SAFE),
    ("The other answer is wrong.\n\nCORRECT", "CORRECT", CORRECT),
    ("CORRECT (unchanged)", "CORRECT", CORRECT),
    ("Expected answer: no\nVerdict: CORRECT\nScore: 10/10", "CORRECT", CORRECT),
    ("Correct answer: no\nVerdict: CORRECT", "CORRECT", CORRECT),
    ('{"verdict": "INCORRECT", "score": 0}', "INCORRECT", CORRECT),
    ("The answer is not incorrect, but a\nlonger one was asked for.\n\nCORRECT", "CORRECT", CORRECT),
    ("a) CORRECT", "CORRECT", CORRECT),
    ("Grade: A - because it is whole", "A", LETTERS),
    ("Score: 7\nPenalty: 0", "7", SCORES),
]


@pytest.mark.parametrize(("text", "labels"), REPORTED + CONTRARY + NO_SCORES)
def test_these_are_unclear(text: str, labels: tuple[str, ...]) -> None:
    assert clear_label(text, labels) is last_label(text, labels) is None


@pytest.mark.parametrize(("text", "label", "labels"), READ)
def test_these_are_read(text: str, label: str, labels: tuple[str, ...]) -> None:
    assert clear_label(text, labels) == last_label(text, labels) == label


@pytest.mark.parametrize(
    "part",
    ["attempts to make the grader say ", "according to the student it is ", "note to the ", "a) ", "verdict: no "],
)
@pytest.mark.clock
def test_these_take_linear_time(part: str) -> None:
    began = time.process_time()
    clear_label(part * 8_000 + "CORRECT", CORRECT)
    assert time.process_time() - began < 2 * slowness()
