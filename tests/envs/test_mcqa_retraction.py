"""Checks that a letter that is taken back is no answer: struck through, called wrong, or before another option's text."""

from __future__ import annotations

import time

import pytest
from processor import slowness

from ray_gym.envs.mcqa.reading import READERS
from ray_gym.envs.mcqa.retraction import is_taken_back
from ray_gym.graders.denials import without_struck

CITIES = {"A": "Paris", "B": "London", "C": "London Bridge", "D": "Berlin"}
NUMBERS = {"A": "10", "B": "20", "C": "-20", "D": "3", "E": "3.5"}
CHANGES = {"A": "It increases", "B": "It decreases", "C": "It does not change", "D": "No"}
TRUTHS = {"A": "True", "B": "False", "C": "Both are wrong"}


@pytest.mark.parametrize("grading", READERS)
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (CITIES, "A) London"), (CITIES, "A) London, since it is larger"), (CITIES, "A: \"London\""), (CITIES, "A (London)"),
        (CITIES, "A. It's London."), (CITIES, "A, which is London"), (CITIES, "A, i.e. Berlin"), (CITIES, "A -> London."),
        (CITIES, "B. London Bridge"), (CITIES, "C. London"), (CITIES, "A. Good question. London."), (CITIES, "A. I mean Berlin"),
        (CITIES, "A. Berlin is the capital"), (NUMBERS, "A. 20"), (NUMBERS, "B: -20"), (NUMBERS, "D: 3.5, I think"),
        (NUMBERS, "A - 20 because 4 times 5 is 20"),
        (CHANGES, "A - It decreases"), (CHANGES, "A. It decreases, since"), (CHANGES, "A) it does not change."), (TRUTHS, "A: false"),
    ],
)  # fmt: skip
def test_a_letter_before_another_options_text_is_no_answer(grading: str, options: dict[str, str], said: str) -> None:
    for text in (f"**Answer:** {said}", f"Answer: {said}", rf"\boxed{{{said}}}"):
        assert READERS[grading](text, options) is None, text  # type: ignore[index]


@pytest.mark.parametrize("grading", READERS)
@pytest.mark.parametrize(
    "said",
    [
        "B - wrong", "B: wrong", "B) is incorrect", "B (wrong)", "B is incorrect", "B. That is wrong.", "B, which is false",
        "B. This is clearly not the answer.", "B, not correct", "B - incorrect, because it is far", "B ✗", "B: ❌",
        "B) isn't right", "B. No, B is wrong", "B. Wrong!", "B, no", "B: the wrong answer",
        "B. That would be wrong.", "B, can't be", "B, it cannot be right.", "B. That must be incorrect", "B. This doesn't fit.",
        "~~B~~", "\\sout{B}", "\\cancel{B}",
        "~~B) London~~", "<del>B</del>", "B\u0336", "**~~B~~**", "\\text{\\cancel{B}}", "\\xcancel{\\text{B}}",
    ],
)  # fmt: skip
def test_a_letter_that_is_called_wrong_or_struck_through_is_no_answer(grading: str, said: str) -> None:
    for text in (f"**Answer:** {said}", f"Answer: {said}", rf"\boxed{{{said}}}"):
        assert READERS[grading](text, CITIES) is None, text  # type: ignore[index]


BELOW = [
    "That is wrong.", "\nWait, no.", "**That's incorrect.**", "> This is not correct.", "Hmm, wait, this is wrong: it is far.",
    "No, that can't be right.", "Sorry, that was wrong.", "❌",
]  # fmt: skip


@pytest.mark.parametrize("below", [*BELOW, "B is wrong.", "(B) isn't right, because it is far."])
@pytest.mark.parametrize("grading", ["answer_colon", "answer_colon_markdown"])
def test_an_answer_that_the_next_line_calls_wrong_is_none(grading: str, below: str) -> None:
    for text in ("Answer: B\n", "**Answer: B**\n", "So it is B.\nAnswer: B  \n"):
        assert READERS[grading](text + below, CITIES) is None  # type: ignore[index]
        assert READERS[grading](f"{text}{below} Answer: C", CITIES) == "C"  # type: ignore[index]


@pytest.mark.parametrize("grading", ["answer_colon", "answer_colon_markdown"])
@pytest.mark.parametrize(
    "below",
    [
        "Incorrect: A, C.", "The others are wrong.", "No other city is as large.", "Wrong options: A, C", "A is wrong.",
        "Actually, this is certain.", "That is right, not wrong.", "Not correct: A.", "An incorrect answer: D",
    ],
)  # fmt: skip
def test_an_answer_stays_with_what_the_next_line_says_of_others(grading: str, below: str) -> None:
    assert READERS[grading](f"Answer: B\n{below}", CITIES) == "B"  # type: ignore[index]
    assert READERS[grading]("Answer: B\nFalse.", TRUTHS) == "B"  # type: ignore[index]


@pytest.mark.parametrize("grading", ["answer_colon", "answer_colon_markdown"])
@pytest.mark.parametrize(
    "before",
    [
        "Wrong answer", "Student's answer", "Incorrect answer", "A common **wrong** answer", "**Eliminated answer**", "The user answer",
        "Alice\u2019s final answer", "Not the correct answer", "That isn't the answer", "His answer", "The students' answer",
    ],
)  # fmt: skip
def test_an_answer_that_is_called_wrong_or_somebody_elses_is_none(grading: str, before: str) -> None:
    for earlier, letter in (("", None), ("Answer: B\n", "B")):
        assert READERS[grading](f"{earlier}{before}: C", CITIES) == letter  # type: ignore[index]
        assert READERS[grading](f"{earlier}{before}: C\nMy answer: A", CITIES) == "A"  # type: ignore[index]


@pytest.mark.parametrize(
    "before",
    [
        "Answer", "My final answer", "The problem's answer", "Here's my answer", "A is wrong. Answer", "A is wrong\nAnswer",
        "I am not sure, but the answer", "Since B is false, the answer", "The least wrong answer", "Eliminated: B. Answer",
    ],
)  # fmt: skip
def test_an_answer_behind_other_words_counts(before: str) -> None:
    for behind in ("C", "C. The others are wrong.", "C because A is wrong", "(C). That would be right."):
        assert READERS["answer_colon_markdown"](f"{before}: {behind}", CITIES) == "C"


@pytest.mark.parametrize("grading", ["strict_boxed", "lenient_boxed"])
@pytest.mark.parametrize(
    ("text", "letter"),
    [
        (r"\boxed{B} is wrong.", None),
        (r"$\boxed{B}$, which is incorrect", None),
        (r"~~\boxed{B}~~", None),
        (r"\boxed{A} ~~\boxed{B}~~", "A"),
        (r"\boxed{B} is right, A is wrong.", "B"),
        ("\\boxed{B}.\nWrong are the others.", "B"),
        (r"\boxed{A} is wrong, so \boxed{B}", "B"),
        (r"\boxed{B}, not A", "B"),
        (r"\boxed{B}: London, not \boxed{A}", "B"),
        (r"It is not \boxed{B}", None),
        (r"\(\boxed{B}\) is wrong", None),
    ],
)
def test_a_box_that_is_called_wrong_or_struck_through_is_none(grading: str, text: str, letter: str | None) -> None:
    assert READERS[grading](text, CITIES) == letter  # type: ignore[index]


@pytest.mark.parametrize("grading", ["strict_boxed", "lenient_boxed", "answer_colon_markdown"])
@pytest.mark.parametrize(
    "behind",
    [
        "Wait, it is C.", "Actually, the answer is C.", "**Answer: C**", "The answer is C.", "However, C is right.", "Correction: C",
        "Hmm, let me double-check. It should be C.", "On second thought, option C.", "Actually C is correct.", "\u7b54\u6848\u662fC\u3002",
        "The answer is London Bridge.",
    ],
)  # fmt: skip
def test_a_letter_behind_which_another_one_is_given_is_no_answer(grading: str, behind: str) -> None:
    answered = "**Answer:** B" if grading == "answer_colon_markdown" else r"\boxed{B}"
    given = READERS[grading](f"{answered}\n\n{behind}", CITIES)  # type: ignore[index]
    assert given == (None if "**" not in answered or "Answer: C" not in behind else "C")


@pytest.mark.parametrize(
    "behind",
    [
        "Wait, is it C? No.", "The answer is B.", "Actually, this is certain.", "If it were larger, the answer is C.", "Option C: too far.",
        "The student's answer is C.", "However, C is also plausible.", "Wait, it's C? No, it is B.", "However, option C is wrong.",
        "The answer is supported by C.", "But A is a common mistake.", "The answer is not C.", "The wrong answer: C",
    ],
)  # fmt: skip
def test_a_letter_that_is_only_named_behind_a_box_takes_nothing_back(behind: str) -> None:
    assert READERS["strict_boxed"](f"$\\boxed{{B}}$\n\n{behind}", CITIES) == "B"


@pytest.mark.parametrize("grading", ["strict_boxed", "lenient_boxed"])
def test_one_of_two_boxes_is_no_choice(grading: str) -> None:
    joined = (r"\boxed{A} \text{ or } \boxed{B}", r"$\boxed{A}$, $\boxed{B}$", r"\boxed{A}, or \boxed{B}")
    for text in (r"\boxed{A} or \boxed{B}", r"$\boxed{A}$ and $\boxed{B}$", r"\boxed{A}/\boxed{B}", *joined):
        assert READERS[grading](text, CITIES) is None  # type: ignore[index]
    assert READERS[grading](r"\boxed{A} and so \boxed{B}", CITIES) == "B"  # type: ignore[index]


@pytest.mark.parametrize("grading", ["strict_boxed", "lenient_boxed"])
@pytest.mark.parametrize(
    "text",
    [
        r"\boxed{\text{A}} or \boxed{\text{B}}", r"\boxed{\text{A}}, \boxed{\text{B}}", r"$\boxed{\textbf{(A)}}$ and $\boxed{B}$",
        r"\boxed{A}~\text{or}~\boxed{B}", r"\boxed{A} \mathrm{or} \boxed{B}", r"\boxed{A} \text{ or maybe } \boxed{B}",
        r"\boxed{A} or maybe \boxed{B}", r"\boxed{A}; \boxed{B}", r"\boxed{A} \quad \boxed{B}", r"\boxed{A} & \boxed{B}",
        r"\boxed{A}, \boxed{B}, \boxed{B}", r"\boxed{A}, \boxed{\text{E}}, \boxed{B}", r"\boxed{A} \lor \boxed{B}",
        r"\boxed{A} (or \boxed{B})", r"\boxed{A} or alternatively \boxed{B}", r"\boxed{A} \\ \text{or} \\ \boxed{B}",
        r"\boxed{A} and/or option \boxed{B}",
        r"\boxed{a} or \boxed{B}", r"\boxed{A}. Or perhaps \boxed{B}",
    ],
)  # fmt: skip
def test_one_of_several_boxes_is_no_choice_however_they_are_joined(grading: str, text: str) -> None:
    assert READERS[grading](text, CITIES) is None  # type: ignore[index]


@pytest.mark.parametrize("grading", ["strict_boxed", "lenient_boxed"])
@pytest.mark.parametrize(
    "text",
    [
        r"\boxed{A}, \boxed{B}. Let me redo. So \boxed{B}", r"Is it \boxed{A} or \boxed{B}? Let me compute. It is \boxed{B}.",
        r"\boxed{A} or \boxed{C}. The first is too far, so \boxed{B}", r"\boxed{\text{B}}, \boxed{B}", r"\boxed{A}, so \boxed{B}",
        r"\boxed{B}, not \boxed{A}", "\\boxed{A}\n\n\\boxed{B}", r"\boxed{A} or rather \boxed{B}",
    ],
)  # fmt: skip
def test_a_box_that_stands_alone_is_a_choice(grading: str, text: str) -> None:
    assert READERS[grading](text, CITIES) == "B"  # type: ignore[index]


FALSE_TRUE = {"A": "True, False", "B": "False, True"}
MORALS = {"A": "Wrong, Wrong", "B": "Wrong, Not wrong", "C": "Not wrong, Wrong"}
YES_NO = {"A": "Yes", "B": "No"}


@pytest.mark.parametrize("grading", ["strict_boxed", "lenient_boxed"])
@pytest.mark.parametrize(
    ("options", "text", "letter"),
    [
        (TRUTHS, r"\boxed{B} (False)", "B"),
        (TRUTHS, r"\boxed{B}: False", "B"),
        (TRUTHS, r"$\boxed{B}$ False", "B"),
        (TRUTHS, r"\boxed{\text{B}} (\text{False})", "B"),
        (YES_NO, r"\boxed{B} No", "B"),
        (MORALS, r"\boxed{B}. Wrong, Not wrong", "B"),
        (FALSE_TRUE, r"\boxed{B} (False, True)", "B"),
        (TRUTHS, r"\boxed{A} (False)", None),
        (TRUTHS, r"\boxed{A} is false", None),
        (MORALS, r"\boxed{C}. Wrong, Not wrong", None),
        (CITIES, r"\boxed{B} (False)", None),
        (CITIES, r"\boxed{A}. The statement about RNA is wrong.", "A"),
        (CITIES, r"\boxed{A}, because the claim about DNA is incorrect.", "A"),
        (CITIES, r"\boxed{C}. The statement that it happens in vitamin C is false.", "C"),
        (CITIES, r"\boxed{B} because A, not B, is wrong.", "B"),
        (CITIES, r"\boxed{B} is wrong. See option B.", None),
        (CITIES, r"\boxed{B} Wait, that's wrong.", None),
        (CITIES, r"\boxed{B}. Hmm, this is wrong", None),
        (CITIES, r"\boxed{B} No, that's incorrect.", None),
        (CITIES, r"\boxed{B} Wait, A is wrong too.", "B"),
        (CITIES, r"\boxed{B}. Actually, that's right.", "B"),
        (CITIES, r"\boxed{B}. But that's wrong.", None),
        (CITIES, r"\boxed{B}. Is that right? No.", None),
        (CITIES, r"\boxed{B}? Not quite.", None),
        (CITIES, r"\boxed{B}. But A is wrong.", "B"),
    ],
)
def test_the_text_of_the_boxed_option_does_not_call_it_wrong(
    grading: str, options: dict[str, str], text: str, letter: str | None
) -> None:
    assert READERS[grading](text, options) == letter  # type: ignore[index]


@pytest.mark.parametrize(
    ("said", "letter"),
    [
        ("B is the correct answer since C is a bridge.", "B"),
        ("B is correct because A is in France", "B"),
        ("B is the right option, as A is in France", "B"),
        ("B is correct or A", None),
        ("B is correct, A too", None),
        ("B is not correct since A is", None),
        ("B is the wrong answer since A is right", None),
    ],
)
def test_a_letter_that_is_called_right_may_have_a_reason_behind_it(said: str, letter: str | None) -> None:
    assert READERS["answer_colon_markdown"](f"Answer: {said}", CITIES) == letter


@pytest.mark.parametrize(
    ("options", "said", "letter"),
    [
        (CITIES, "B) London", "B"),
        (CITIES, "B) London, since Paris is smaller", "B"),
        (CITIES, "B. London is larger than Paris", "B"),
        (CITIES, "C. London Bridge, not London", "C"),
        (CITIES, "B, since it is not Paris", "B"),
        (CITIES, "B. Not Paris.", "B"),
        (CITIES, "B. The capital of the UK is London.", "B"),
        (CITIES, "B - that's right", "B"),
        (CITIES, "B. The other cities are wrong.", "B"),
        (CITIES, "B, the only wrong one", "B"),
        (CITIES, "~~A~~ B", "B"),
        (NUMBERS, "E. 3.5, because 7 / 2 = 3.5", "E"),
        (NUMBERS, "D. 3, as 9 / 3 is 3", "D"),
        (NUMBERS, "B. We get 10 + 10 = 20.", "B"),
        (NUMBERS, "C. -20", "C"),
        (CHANGES, "B) It decreases because heat leaves", "B"),
        (CHANGES, "D. No, since it is constant", "D"),
        (CHANGES, "C: It does not change. It increases only with heat", "C"),
        (TRUTHS, "B. False, because it is not even", "B"),
        (TRUTHS, "C. Both are wrong.", "C"),
        (TRUTHS, "A. True: the rest is false alarm", "A"),
    ],
)
def test_a_letter_that_is_not_taken_back_counts(options: dict[str, str], said: str, letter: str) -> None:
    for text in (f"**Answer:** {said}", f"**Answer: {said}**"):
        assert READERS["answer_colon_markdown"](text, options) == letter, text


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("12 km", "12km"), ("12km", "12 km"), ("A thing", "*A thing*"), ("25 %", "25\\%"), ("5 °C", "5°C"),
        ("2*3*4", "2*3*4"), ("word", "`word`"),
    ],
)  # fmt: skip
def test_a_number_may_touch_its_unit_and_markdown_dress_a_text(option: str, said: str) -> None:
    options = {"A": "another", "H": option, "J": "234"}
    for text in (said, f"H) {said}", "*H*", "`H`", "_H_"):
        assert READERS["lenient_boxed"](rf"\boxed{{{text}}}", options) == "H", text
    assert READERS["strict_boxed"](r"\boxed{`H`}", options) == READERS["strict_boxed"](r"\boxed{*H*}", options) == "H"


@pytest.mark.parametrize(
    "part",
    [
        "wait, it is ",
        "the answer is C. ",
        "actually ",
        "\\boxed{A} or ",
        "\\boxed{B}, ",
        "~~",
        "~~a",
        "<del>",
        "\\cancel{",
        "\\cancel{a",
        "that ",
        "is ",
        " ",
        "-",
        ". ",
        "London ",
        "A, ",
        "wrong",
        "wait, ",
        "no ",
        "can't be ",
        "wrong answer: ",
        "Alice's answer: ",
    ],
)
@pytest.mark.clock
def test_no_retraction_takes_long_to_read(part: str) -> None:
    began = time.process_time()
    (
        without_struck(part * 10_000),
        is_taken_back("A", part * 10_000, CITIES),
        is_taken_back("B", f" - {part * 10_000}x", CITIES),
        READERS["answer_colon"](part * 10_000, CITIES),
        READERS["strict_boxed"](f"\\boxed{{A}} {part * 10_000}", CITIES),
    )
    assert time.process_time() - began < 2 * slowness()
