"""Checks verdicts in other languages than English, and English ones that mean the reverse of their label."""

import time

import pytest
from processor import slowness

from ray_gym.graders.labels import clear_label, last_label
from tests.graders.label_sets import CORRECT, SCORES

ACCEPT = ("ACCEPT", "REJECT")
ALIKE = ("[[SAME]]", "[[DIFFERENT]]")
BARE = ("yes", "no")
TAKEN_BACK = [
    (
        "\u5224\u5b9a: CORRECT\n"
        "\u305f\u3060\u3057\u3001\u5358\u4f4d\u304c\u9593\u9055\u3063\u3066\u3044\u307e\u3059\u3002"
    ),
    "\u5224\u5b9a: CORRECT\n\u3067\u3082\u3001\u5358\u4f4d\u304c\u9055\u3046\u3002",
    "\ud310\uc815: CORRECT\n\ud558\uc9c0\ub9cc \ub2e8\uc704\uac00 \ud2c0\ub838\uc2b5\ub2c8\ub2e4.",
    (
        "\u0412\u0435\u0440\u0434\u0438\u043a\u0442: CORRECT\n"
        "\n"
        "\u041d\u043e \u0437\u043d\u0430\u043a \u043d\u0435\u0432\u0435\u0440\u043d\u044b\u0439."
    ),
    (
        "\u0412\u0435\u0440\u0434\u0438\u043a\u0442: CORRECT\n"
        "\u041e\u0434\u043d\u0430\u043a\u043e \u0437\u043d\u0430\u043a \u043d\u0435\u0432\u0435\u0440"
        "\u043d\u044b\u0439."
    ),
    "Urteil: CORRECT\n\nMoment, das Vorzeichen stimmt nicht.",
    "\u683c\u5f0f\uff1aCORRECT\n\u5185\u5bb9\uff1a\u9519\u8bef",
    "\u683c\u5f0f\uff1aCORRECT\n\u5185\u5bb9\uff1a\u4e0d\u6b63\u786e",
    "\u5185\u5bb9\uff1a\u9519\u8bef\n\u683c\u5f0f\uff1aCORRECT",
    (
        "\u0424\u043e\u0440\u043c\u0430\u0442: CORRECT\n"
        "\u0421\u043e\u0434\u0435\u0440\u0436\u0430\u043d\u0438\u0435: \u043d\u0435\u0432\u0435\u0440"
        "\u043d\u043e"
    ),
    "\u5f62\u5f0f: CORRECT\n\u5185\u5bb9: \u9593\u9055\u3044",
    "\ud615\uc2dd: CORRECT\n\ub0b4\uc6a9: \ud2c0\ub9bc",
    "\u5b66\u751f\u8bf4\u7b54\u6848\u662fCORRECT",
    "\u5b66\u751f\u7684\u7b54\u6848\uff1aCORRECT",
    "\u5b66\u751f\u306e\u7b54\u3048\uff1aCORRECT",
    "\ud559\uc0dd\uc758 \ub2f5: CORRECT",
    "\u041e\u0442\u0432\u0435\u0442 \u0441\u0442\u0443\u0434\u0435\u043d\u0442\u0430: CORRECT",
]
GIVEN = [
    "\u5224\u5b9a\uff1aCORRECT\n\u7406\u7531\uff1a\u8a08\u7b97\u304c\u6b63\u3057\u3044\u3002",
    "\ud310\uc815: CORRECT\n\uc774\uc720: \uacc4\uc0b0\uc774 \ub9de\uc2b5\ub2c8\ub2e4.",
    (
        "\u0412\u0435\u0440\u0434\u0438\u043a\u0442: CORRECT\n"
        "\u041e\u0431\u043e\u0441\u043d\u043e\u0432\u0430\u043d\u0438\u0435: \u043e\u0442\u0432\u0435"
        "\u0442 \u0432\u0435\u0440\u043d\u044b\u0439."
    ),
    (
        "\u5b66\u751f\u7684\u7b54\u6848\uff1a\u9519\u8bef\n"
        "\u53c2\u8003\u7b54\u6848\uff1a\u9519\u8bef\n"
        "\u5224\u5b9a\uff1aCORRECT"
    ),
    "\u5b66\u751f\u7684\u56de\u7b54\u662fCORRECT",
    (
        "\u8bc4\u4ef7\uff1aCORRECT\n"
        "\u8bf4\u660e\uff1a\u867d\u7136\u683c\u5f0f\u4e0d\u540c\uff0c\u4f46\u6570\u503c\u4e00\u81f4\u3002"
    ),
    "\u7b54\u6848\uff1aCORRECT",
]
OF_SCORES = [
    ("7\uc810/10\uc810", "7"),
    ("7 Punkte von 10", "7"),
    ("Ich gebe 7 von 10 Punkten.", "7"),
    ("Gesamtpunktzahl: 7 Punkte", "7"),
    ("Nota final: 7 de 10", "7"),
    ("\u042f \u0441\u0442\u0430\u0432\u043b\u044e 7 \u0431\u0430\u043b\u043b\u043e\u0432 \u0438\u0437 10.", "7"),
    ("Po\u00e4ng: 7 av 10", "7"),
    ("\u6e05\u6670\u5ea6\uff1a8/10\n\u51c6\u786e\u6027\uff1a6/10\n\u6700\u7ec8\u8bc4\u5206\uff1a7/10", "7"),
    ("\u683c\u5f0f\uff1a8\u5206\n\u5185\u5bb9\uff1a3\u5206\n\u603b\u5206\uff1a5\u5206", "5"),
    ("\u8bc4\u5206\uff1a7\u5206\n\u62633\u5206", "7"),
]
NO_SCORES = ["\u62633\u5206", "\u6263\u4e863\u5206\u3002", "8 Punkte von 20"]
REVERSED = [
    *((text, BARE) for text in ("Wrong: no", "Is it wrong? no", "Incorrect: yes", "no answer", "no verdict")),
    ("There is no answer in the response.", BARE),
    ("Weak ACCEPT", ACCEPT),
    ("They differ in units but [[SAME]]", ALIKE),
    ("Item 1: met", ("0", "1")),
]
KEPT = [
    *(
        (text, "no", BARE)
        for text in ("Correct: no", "Verdict: no", "no, the answer is wrong", "no\n\nThere is no answer.")
    ),
    ("Errors: no", "no", BARE),  # a judge that is asked for errors answers so
    ("According to the text, it is SUPPORTED.", "SUPPORTED", ("SUPPORTED", "NOT SUPPORTED")),
    ("The case for it is weak: REJECT", "REJECT", ACCEPT),
    ("They differ only in spelling: [[SAME]]", "[[SAME]]", ALIKE),
    ("Weak Accept", "Weak Accept", ("Weak Accept", "Accept", "Reject")),
]


@pytest.mark.parametrize("text", TAKEN_BACK)
def test_a_label_that_is_taken_back_in_another_language_is_unclear(text: str) -> None:
    assert clear_label(text, CORRECT) is last_label(text, CORRECT) is None


@pytest.mark.parametrize("text", GIVEN)
def test_a_label_that_is_given_in_another_language_counts(text: str) -> None:
    assert clear_label(text, CORRECT) == last_label(text, CORRECT) == "CORRECT"


@pytest.mark.parametrize(("text", "score"), OF_SCORES)
def test_scores_of_other_languages(text: str, score: str) -> None:
    assert clear_label(text, SCORES) == last_label(text, SCORES) == score


@pytest.mark.parametrize("text", NO_SCORES)
def test_points_that_are_taken_off_and_other_scales_are_no_scores(text: str) -> None:
    assert clear_label(text, SCORES) is last_label(text, SCORES) is None


@pytest.mark.parametrize(("text", "labels"), REVERSED)
def test_a_label_that_may_mean_the_reverse_is_unclear(text: str, labels: tuple[str, ...]) -> None:
    assert clear_label(text, labels) is last_label(text, labels) is None


@pytest.mark.parametrize(("text", "label", "labels"), KEPT)
def test_a_label_that_means_what_it_says_counts(text: str, label: str, labels: tuple[str, ...]) -> None:
    assert clear_label(text, labels) == last_label(text, labels) == label


@pytest.mark.parametrize(
    "part",
    [
        "\u683c\u5f0f\uff1a",
        "\n\u5185\u5bb9\uff1a",
        "wrong: ",
        "no answer ",
        "differs but ",
        "weak ",
        "\u5b66\u751f\u8bf4",
        "7 Punkte ",
        "\n\u603b\u5206\uff1a7\u5206",
    ],
)
@pytest.mark.clock
def test_these_are_read_in_linear_time(part: str) -> None:
    began = time.process_time()
    clear_label("CORRECT" + part * 8_000 + " 7", [*CORRECT, *BARE, "7"])
    assert time.process_time() - began < 2 * slowness()
