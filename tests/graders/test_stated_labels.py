"""Checks in what places of a sentence a label is a verdict, and which words, values and bounds beside it make it none."""

from __future__ import annotations

import time

import pytest
from processor import slowness

from ray_gym.graders.labels import clear_label, last_label
from tests.graders.label_sets import BARE, BETTER, CORRECT, GOOD, MANNER, MARKED_SCORES, PASS, ROLE, SAME, SCORES, YES

CONDITIONS = {
    CORRECT: [
        "I would have said CORRECT, had the units been given.",
        "It would be CORRECT only with the units.",
        "To be CORRECT, the answer needs the sign, which is missing.",
        "Had the sign been right, this would be CORRECT.",
        "This would have been CORRECT in base 10.",
        "The answer should be CORRECT to get credit.",
        "CORRECT apart from the sign.",
        "CORRECT up to a sign.",
        "CORRECT with the exception of the units.",
        "It is too far off to be CORRECT.",
        "CORRECT is too generous a verdict here.",
        "CORRECT except for the sign.",
        "CORRECT requires a unit.",
        "It needs a unit to be CORRECT.",
        "It must be CORRECT to pass.",
        "CORRECT, provided the unit is metres.",
        "CORRECT as long as the unit is metres.",
        "CORRECT until the last step.",
        "It was CORRECT until the last step.",
        "Were the sign flipped, it would be CORRECT.",
        "CORRECT, had it a sign.",
        "CORRECT, apart from the sign.",
        "CORRECT (up to a sign).",
        "The student thinks it is CORRECT.",
        "The response claims that the proof is CORRECT.",
        "CORRECT, however the units are missing.",
    ],
    MANNER: [
        "It would be [[GOOD]] had it apologised.",
        "It falls short of [[GOOD]].",
        "below [[GOOD]]",
        "too curt to be [[GOOD]]",
        "[[GOOD]] except at the end.",
        "[[GOOD]] at first, rude later.",
        "Close to [[GOOD]]",
        "It is too curt for [[GOOD]].",
        "A polite opening would have made it [[GOOD]].",
        "It misses the bar for [[GOOD]].",
        "[[GOOD]] requires an apology, which is missing.",
        "With an apology it would earn [[GOOD]].",
        "The agent is not far from [[GOOD]]",
    ],
    SAME: [
        "I am not sure, so [[A=B]]",
        "It might be equal, so [[A=B]].",
        "[[A=B]] would be too lenient.",
        "For [[A=B]], both must have the same unit; here they do not.",
        "To get [[A=B]] the unit must match.",
        "A should equal B for [[A=B]].",
        "Were it rounded, [[A=B]] would hold.",
        "[[A=B]] would be right only if A were rounded.",
    ],
    ROLE: [
        "He was [[TRUE TO ROLE]] until the last message.",
        "[[TRUE TO ROLE]] would require that he keeps the number secret.",
    ],
    PASS: [
        "It must PASS all tests; it passes two of three.",
        "To PASS it needs three sources.",
    ],
}
VALUES = {
    CORRECT: [
        '{"CORRECT": 0}',
        '{"CORRECT": null}',
        "CORRECT: 0",
        "CORRECT = 0",
        "CORRECT: n/a",
        "P(CORRECT) = 0.1",
        "CORRECT (10% confidence)",
        "CORRECT: none",
        "CORRECT: 0.2",
        "CORRECT = 20%",
        "CORRECT (0.3)",
        "| CORRECT | 0 |",
        '{"CORRECT": "n/a"}',
        "CORRECT -> false",
        "Probability CORRECT: 0.2",
        "Confidence that it is CORRECT: 5%",
        "CORRECT with low confidence.",
        '{"CORRECT": 0.0, "x": 1}',
    ],
}
WITHDRAWN = {
    CORRECT: [
        "CORRECT... wait, the sign differs.",
        "CORRECT. Actually, no: the sign differs.",
        "CORRECT\n\nOn second thought, the sign differs.",
        "CORRECT. Correction: the sign differs.",
        "CORRECT. Hold on, the sign differs.",
        "CORRECT - wait, that is off.",
        "- [ ] CORRECT",
        "[ ] CORRECT",
        "\u2610 CORRECT",
        "- [ ] CORRECT\n- [ ] INCORRECT",
        "* [ ] **CORRECT**",
    ],
    YES: [
        "The answer is [[YES]]... wait, the sign differs.",
        "[[YES]]. Wait, no.",
    ],
    PASS: [
        "- [ ] PASS",
    ],
}
DENIED_NEGATIVE = {
    CORRECT: [
        "INCORRECT is not the right verdict here.",
        "INCORRECT - not really",
        "INCORRECT, no.",
        "INCORRECT, I don't think so",
        "INCORRECT: false",
        "Calling it INCORRECT would be unfair.",
        "I can't call this INCORRECT.",
        "INCORRECT if units matter",
        "It is wrong to say that this is INCORRECT",
        "Nothing here is INCORRECT.",
        "INCORRECT? No, CORRECT.",
        "No part is INCORRECT.",
        "not so INCORRECT",
        "I can't say that, so not INCORRECT",
        "INCORRECT, unless rounding is allowed",
    ],
    YES: [
        "[[NO]] would be wrong.",
    ],
    PASS: [
        "FAIL, not really",
    ],
}
BOUNDS = {
    SCORES: [
        "Score: at most 2",
        "Score: at least 2",
        "Score: <2",
        "Score: \u2264 2",
        "Score: > 2",
        "Score: >= 2",
        "Score: less than 4",
        "more than 4",
        "Score: up to 4",
        "between 3 and 4",
        "Score: 4 or less",
        "Score: 4 at most",
        "Score: below 4",
        "Score: no more than 4",
        "Score: 4 minus 1 for style",
        "Score: \u2248 4",
        "score < 4",
        "Score: 4 or higher",
        "Score: 3\u00bd",
        "Score: 3 1/2",
        "Score: maximum 4",
    ],
    MARKED_SCORES: [
        "Score: at most [[2]]",
        "Rating: >[[2]]",
        "Rating: [[4]] or less",
    ],
}
IN_PROSE = {
    BARE: [
        "NO issues found.",
        "NO ERRORS FOUND",
        "There are NO differences.",
        "NO problem, the answer is fine",
    ],
}
FURTHER = {
    CORRECT: [
        "INCORRECT, but I'm not sure",
        "INCORRECT, though I am not certain",
        "INCORRECT, but not by much",
        "Perhaps they match, so CORRECT",
        "Perhaps they differ, so INCORRECT.",
        "CORRECT because I am not sure",
        "With SI units, CORRECT.",
        "It would take a miracle to call it CORRECT.",
        "Anyone would mark it CORRECT were it not for the sign.",
        "One could argue CORRECT.",
        "CORRECT in the first part, wrong in the second",
        "CORRECT save for the sign.",
        "CORRECT bar the sign.",
        "CORRECT minus the sign",
        "CORRECT barring the sign.",
        "CORRECT when rounded.",
        "CORRECT with a caveat",
        "CORRECT under the assumption of SI units.",
        "CORRECT assuming SI units",
        "Assuming SI units, it is CORRECT.",
        "If rounded, CORRECT.",
        "I was about to say CORRECT.",
        "I wanted to write CORRECT.",
        "I want to say CORRECT.",
        "The label CORRECT does not apply.",
        "The label CORRECT is reserved for full answers.",
        "The rubric says CORRECT means exact.",
        "A CORRECT answer has a unit.",
        "A CORRECT answer would be 12.",
        "The CORRECT answer is 12.",
        "Only a full match is CORRECT.",
        "The reference answer is CORRECT.",
        "What is CORRECT is the sign.",
        "It comes close to being CORRECT.",
        "It is anything but CORRECT",
        "CORRECT?? The sign is off",
        "CORRECT (if rounded)",
        "CORRECT: 30%",
        "CORRECT (confidence: 20%)",
        "CORRECT - 0",
        "CORRECT,0",
        "CORRECT 0",
        '{"CORRECT": "false"}',
        '{"CORRECT": []}',
        '{"CORRECT": ""}',
        '"CORRECT": {}',
        "CORRECT = False",
        "CORRECT: N",
        "CORRECT: \u2717",
        "CORRECT\nNo wait, the sign is off.",
        "CORRECT. Hmm, wait.",
        "CORRECT. Let me reconsider.",
        "CORRECT. Sorry, I misread.",
        "CORRECT. No, the sign is off.",
        "CORRECT. I change my mind.",
        "CORRECT. Never mind, it is not.",
        "CORRECT. Strike that.",
        "CORRECT \u2014 scratch that",
        "CORRECT. Oops, the sign differs.",
        "( ) CORRECT",
        "[_] CORRECT",
        "CORRECT [ ]",
        "a third CORRECT",
        "CORRECT (in part)",
        "CORRECT \u2014 for the most part",
        "CORRECT, to a degree",
        "CORRECT (mostly correct)",
        "overwhelmingly CORRECT",
        "The answer is mainly CORRECT.",
        "Partially correct: CORRECT",
        "Verdict: partly CORRECT",
        "CORRECT (some parts)",
        "weitgehend CORRECT",
        "\u00e0 moiti\u00e9 CORRECT",
        "m\u00e1s o menos CORRECT",
        "\u5927\u81f4CORRECT",
        "\u304a\u304a\u3080\u306dCORRECT",
        "CORRECT (zum Teil)",
        "CORRECT (\u00e0 moiti\u00e9)",
        "CORRECT\uff08\u57fa\u672c\uff09",
        "4/5 CORRECT",
        "one of two parts CORRECT",
        "3 out of 4 CORRECT",
        "CORRECT 80%",
        "CORRECT at 80%",
        "CORRECT, 80%",
        "mostly: CORRECT",
        "CORRECT modulo sign",
        "CORRECT but for the sign",
    ],
    SCORES: [
        "Score: 2 or so",
        "Score: around 2",
        "Score: 2-ish",
        "Score: 2~3",
        "Score: <= 2",
        "Score: under 2",
        "Score: not more than 2",
        "Score: somewhere between 2 and 3",
        "Score: 2+",
        "Score: 2 (at most)",
        "Score: 2 max",
        "Score: 2?",
        "Score: 2 or 3",
        "fewer than 2",
        "Score: >2",
        "score\u22652",
    ],
    MANNER: [
        "It borders on [[GOOD]]",
        "It approaches [[GOOD]].",
        "One apology away from [[GOOD]].",
        "The bar for [[GOOD]] is an apology.",
        "It stops short of [[GOOD]]",
        "I'd like to give [[GOOD]].",
        "It aims to be [[GOOD]].",
        "It was on its way to [[GOOD]].",
        "Meant as [[GOOD]].",
        "It could have been [[GOOD]].",
    ],
    ROLE: [
        "He tried to stay [[TRUE TO ROLE]].",
        "He was supposed to be [[TRUE TO ROLE]].",
        "[[TRUE TO ROLE]] for the first three messages.",
        "[[TRUE TO ROLE]] before the last message.",
        "[[TRUE TO ROLE]] at the start.",
    ],
}
"""Inputs of all these kinds that were thought of after the words and places were chosen."""
UNCLEAR = [
    (text, labels)
    for kind in (CONDITIONS, VALUES, WITHDRAWN, DENIED_NEGATIVE, BOUNDS, IN_PROSE, FURTHER)
    for labels, texts in kind.items()
    for text in texts
]


@pytest.mark.parametrize(("text", "labels"), UNCLEAR)
def test_a_label_that_is_no_verdict_in_its_place_is_unclear(text: str, labels: tuple[str, ...]) -> None:
    assert clear_label(text, labels) is last_label(text, labels) is None


def test_a_label_in_the_midst_of_a_sentence_leaves_a_verdict_elsewhere_as_it_is() -> None:
    assert clear_label("It kept to the GOOD manners.\nGOOD", GOOD) == "GOOD"
    assert last_label("Verdict: GOOD. It kept to the GOOD manners.", GOOD) == "GOOD"
    assert clear_label("It kept to the GOOD manners.\nPOOR", GOOD) is None
    assert last_label("Verdict: POOR. It kept to the GOOD manners.", GOOD) is None


@pytest.mark.parametrize("times", [1, 40, 41, 2000])
def test_a_judge_that_repeats_its_verdict_gave_it(times: int) -> None:
    assert clear_label("CORRECT\n" * times, CORRECT) == last_label("CORRECT\n" * times, CORRECT) == "CORRECT"


@pytest.mark.parametrize("other", ["INCORRECT", "not CORRECT"])
def test_another_verdict_amid_very_many_makes_them_unclear(other: str) -> None:
    text = "CORRECT\n" * 60 + f"It is {other}.\n" + "CORRECT\n" * 60
    assert clear_label(text, CORRECT) is None
    assert last_label(text, CORRECT) == "CORRECT"


LETTERS = ("A", "B")
RESPONSES = ("Response 1", "Response 2")


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("Loser: A", LETTERS),
        ("Loser: 1", ("1", "2")),
        ("The worse answer is A", LETTERS),
        ("Eliminated: A", LETTERS),
        ("A is worse", LETTERS),
        ("A - the worse one", LETTERS),
        ("Winner: B\nLoser: B", LETTERS),
        ('{"loser": "A"}', LETTERS),
        ("**Loser:**\n[[A]]", BETTER),
        ("The less helpful response is [[A]].", BETTER),
        ("[[A]] (eliminated)", BETTER),
        ("So the weaker response is Response 1.", RESPONSES),
    ],
)
def test_the_name_of_the_worse_answer_is_no_verdict(text: str, labels: tuple[str, ...]) -> None:
    assert clear_label(text, labels) is last_label(text, labels) is None


@pytest.mark.parametrize(
    ("text", "label", "labels"),
    [
        ("The loser is A. The winner is B.", "B", LETTERS),
        ("Winner: B\nLoser: A", "B", LETTERS),
        ("Winner: A. Loser: B", "A", LETTERS),
        ("Winner: [[B]]\nLoser: [[A]]", "[[B]]", BETTER),
        ("B is better. A is worse.", "B", LETTERS),
        ('{"winner": "B", "loser": "A"}', "B", LETTERS),
        ("B is worse: [[A]]", "[[A]]", BETTER),
        ("B is the worse response: [[A]]", "[[A]]", BETTER),
        ("B is worse, so [[A]]", "[[A]]", BETTER),
        ("[[A]] is better, B loses.", "[[A]]", BETTER),
        ("Neither is worse: [[C]]", "[[C]]", BETTER),
        ("Worse: YES", "YES", BARE),
        ("Worst: 1", "1", SCORES),
    ],
)
def test_the_winner_beside_a_worse_answer_counts(text: str, label: str, labels: tuple[str, ...]) -> None:
    assert clear_label(text, labels) == last_label(text, labels) == label


@pytest.mark.parametrize(
    "text",
    [
        "I rate it CORRECT and the " * 10_000,
        "says that it is CORRECT " * 10_000,
        "wait, " * 40_000,
        "CORRECT... wait " * 20_000,
        "no more " * 30_000,
        "so, " * 50_000 + "CORRECT",
        "is a the " * 30_000 + "CORRECT",
        "CORRECT" + " (" * 50_000,
        "\n" * 200_000 + "CORRECT",
    ],
)
@pytest.mark.clock
def test_places_are_found_in_linear_time(text: str) -> None:
    began = time.process_time()
    clear_label(text, CORRECT)
    assert time.process_time() - began < 5 * slowness()
