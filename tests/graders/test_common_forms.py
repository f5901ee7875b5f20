"""Checks forms that judges often give a verdict in: scores of other languages, stars, boxes, brackets, and reasons."""

import time

import pytest
from processor import slowness

from ray_gym.graders.labels import clear_label, last_label
from tests.graders.label_sets import CORRECT, PASS, SAME, SCORES, YES

FIVE = tuple("12345")
POLITE = ("Yes", "No")
SIMPLE = ("CORRECT", "INCORRECT", "NOT_ATTEMPTED")
GRADE = ("GRADE: C", "GRADE: I")
READ = [
    ('{"score": 4, "reason": "1 mistake"}', "4", FIVE),
    ('{"reasoning": "1 mistake", "score": 4}', "4", FIVE),
    ("Rating: \u2b50\u2b50\u2b50\u2b50 (4/5)", "4", FIVE),
    ("Puntuaci\u00f3n: 4 de 5", "4", FIVE),
    ("\u041e\u0446\u0435\u043d\u043a\u0430: 4 \u0438\u0437 5", "4", FIVE),
    ("Punteggio: 4 su 5", "4", FIVE),
    ("\uc810\uc218: 4\uc810", "4", FIVE),
    ("4\uc810\uc785\ub2c8\ub2e4.", "4", FIVE),
    ("10\uc810 \ub9cc\uc810\uc5d0 8\uc810", "8", SCORES),
    ("\u3010\u8bc4\u5206\u30113", "3", FIVE),
    ("\ub530\ub77c\uc11c CORRECT \uc785\ub2c8\ub2e4.", "CORRECT", CORRECT),
    ("The score is 7/10, up from 5/10.", "7", SCORES),
    ("Rating: 8\n\nStrengths:\n1. Clear\n2. Brief\n\nWeaknesses:\n1. Missing 3 points", "8", SCORES),
    ('{"verdict":"INCORRECT","explanation":"The answer is not CORRECT since 5 != 6"}', "INCORRECT", CORRECT),
    ("verdict: PASS\nreason: the policy did not FAIL any test", "PASS", PASS),
    ("- [x] PASS\n- [ ] FAIL", "PASS", PASS),
    ("( ) PASS (x) FAIL", "FAIL", PASS),
    ("[ ] INCORRECT [x] CORRECT", "CORRECT", CORRECT),
    ("PASS [ ]\nFAIL [x]", "FAIL", PASS),
    ("\\[\\[NO\\]\\]", "[[NO]]", YES),
    ("NOT\\_ATTEMPTED", "NOT_ATTEMPTED", SIMPLE),
    ("**NOT\\_ATTEMPTED**", "NOT_ATTEMPTED", SIMPLE),
    ("Verdict: NOT\\_ATTEMPTED.", "NOT_ATTEMPTED", SIMPLE),
    ("\\[\\[A\\>B\\]\\]", "[[A>B]]", ("[[A>B]]", "[[B>A]]")),
    ("\\boxed{\\text{INCORRECT}}", "INCORRECT", CORRECT),
    ("$\\boxed{\\textbf{CORRECT}}$", "CORRECT", CORRECT),
    ("\\boxed{\\mathrm{A}}", "A", ("A", "B")),
    ("\\boxed{\\text{NOT\\_ATTEMPTED}}", "NOT_ATTEMPTED", SIMPLE),
    ("\\boxed{\\textbf{\\text{Response A}}}", "Response A", ("Response A", "Response B")),
    ("\\text{A}", "\\text{A}", ("\\text{A}", "\\text{B}")),
    ("GRADE:C", "GRADE: C", GRADE),
    ("GRADE : C", "GRADE: C", GRADE),
    ("**GRADE**: C", "GRADE: C", GRADE),
    ("GRADE\uff1aC", "GRADE: C", GRADE),
    ("The values agree.\nGRADE:C", "GRADE: C", GRADE),
    ("[[ YES ]]", "[[YES]]", YES),
    ("[[ YES ]]", "[[ YES ]]", ("[[ YES ]]", "[[ NO ]]")),
    ("[[A!=B]] they are not equivalent", "[[A!=B]]", SAME),
    ("[[A = B]]", "[[A=B]]", SAME),
    ("[[ A != B ]]", "[[A!=B]]", SAME),
    ("[[A == B]]", "[[A=B]]", SAME),
    ("**[[A \u2260 B]]**", "[[A!=B]]", SAME),
    ("They are equal: \\[\\[A = B\\]\\].", "[[A=B]]", SAME),
    ("[[A >> B]]", "[[A>>B]]", ("[[A>>B]]", "[[A>B]]", "[[B>A]]")),
    ("[[ B >A ]]", "[[B>A]]", ("[[A>>B]]", "[[A>B]]", "[[B>A]]")),
    ("FAIL - 2 of 5 tests pass", "FAIL", PASS),
    ("Yes.\n\nThe assistant was polite throughout. No rude words were used.", "Yes", POLITE),
]
UNCLEAR = [
    ("It is not [[A = B]].", SAME),
    ("[[A = B]] or [[A != B]]", SAME),
    ("[[A\n=\nB]]", SAME),
    ("A = B", SAME),
    ("\\text{IN}CORRECT", CORRECT),
    ("IN\\text{CORRECT}", CORRECT),
    ("not \\boxed{\\text{CORRECT}}", CORRECT),
    ("\\boxed{\\text{partially CORRECT}}", CORRECT),
    ("GRADE:CI", GRADE),
    ("GRADE:C or GRADE:I", GRADE),
    ("Not GRADE:C", GRADE),
    ("No\n\nReason: Yes, the user asked, but the assistant was rude.", POLITE),
    ('{"verdict": "CORRECT", "reason": "it is not CORRECT"}', CORRECT),
    ("CORRECT, not INCORRECT", CORRECT),
    ("Yes.\n\nNo it does.", POLITE),
    ("FAIL - 5 of 5 tests pass", PASS),
    ("4 de 10", FIVE),
    ("[ ] PASS", PASS),
]


@pytest.mark.parametrize(("text", "label", "labels"), READ)
def test_these_are_read(text: str, label: str, labels: tuple[str, ...]) -> None:
    assert clear_label(text, labels) == last_label(text, labels) == label


@pytest.mark.parametrize(("text", "labels"), UNCLEAR)
def test_these_are_unclear(text: str, labels: tuple[str, ...]) -> None:
    assert clear_label(text, labels) is last_label(text, labels) is None


@pytest.mark.parametrize(
    "part", ["[ ] CORRECT ", "\nnot INCORRECT ", "Reason: CORRECT, ", "4\uc810 ", "[[ ", "1. a\n", "\\text{"]
)
@pytest.mark.clock
def test_these_take_linear_time(part: str) -> None:
    began = time.process_time()
    clear_label("CORRECT" + part * 8_000, [*CORRECT, *YES, "4"])
    assert time.process_time() - began < 2 * slowness()
