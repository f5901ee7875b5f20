"""Checks that an answer which says no itself is not denied by words that say the same again."""

from __future__ import annotations

import time

import pytest
from processor import slowness

from ray_gym.envs.math.verification import verify_answer
from ray_gym.envs.mcqa.reading import READERS
from ray_gym.graders import answer_line

TRUTH = {"A": "True", "B": "False"}
BIRDS = {"A": "Birds fly", "B": "Birds are mammals"}


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Answer: False\nThis is wrong: the sky is blue.", "False"),
        ("Answer: No.\n\nThat is false.", "No."),
        ("Answer: False\n\nThis is incorrect because the sky is blue.", "False"),
        ("Answer: No\n\nNot true.", "No"),
        ("Answer: Invalid\n\nThis is invalid since the key is missing.", "Invalid"),
        ("Answer: False\nWait, that is wrong.", None),
        ("Answer: False\nNo, that's wrong.", None),
        ("Answer: True\nThis is false.", None),
        ("Answer: No\n\nThat's incorrect. The answer is yes.", None),
        ("Answer: No\n\nThat is wrong, it should be Yes.", None),
        ("Answer: Impossible\n\nThat's wrong, x = 5.", None),
        ("Answer: No\n\nThat is wrong. Let me reconsider.", None),
        ("Answer: No\n\nThat is wrong. Yes.", None),
        ("Answer: No\n\nThat is wrong.\n\nThe answer is yes.", None),
        ("Answer: No\n\nThat is wrong.\n\nSo yes.", None),
        ("Answer: No.\n\n❌", None),
        ("Answer: Nobody\nThat is wrong.", None),
    ],
)
def test_an_answer_line(text: str, answer: str | None) -> None:
    assert answer_line(text) == answer


@pytest.mark.parametrize(
    ("expected", "answer", "reward"),
    [
        (r"\text{False}", "\\boxed{\\text{False}}\n\nThis is incorrect because 5 is odd.", 1),
        (r"\text{No}", "\\boxed{\\text{No}}\n\nThat is not true, since 7 is odd.", 1),
        ("False", r"\boxed{False}. Wait, this is wrong.", 0),
        ("12", r"\boxed{12}. This is wrong.", 0),
        ("No", r"\boxed{No}. This is incorrect: the answer is yes.", 0),
        ("No", "\\boxed{No}\n\nThat is incorrect. The answer is Yes.", 0),
        ("False", r"\boxed{\text{False}} is incorrect, the right answer is True.", 0),
        ("False", r"\boxed{\text{False}} is wrong.", 0),
        ("False", r"\boxed{\text{False}} (wrong)", 0),
        ("False", r"\boxed{\text{False}} ❌", 0),
        ("False", "\\boxed{\\text{False}}\n\nIs that right? No.", 0),
        ("No", "\\boxed{\\text{No}}\n\nThis is wrong. Yes.", 0),
        ("No", "\\boxed{\\text{No}} That is wrong.\nLet me reconsider.", 0),
        ("No", "\\boxed{\\text{No}} It is wrong since 7 is prime. So yes", 0),
        ("No", "\\boxed{\\text{No}} That's false.\n\n**Answer:** Yes", 0),
        ("False", "\\boxed{\\text{False}}\n\nThat is wrong: True.", 0),
        ("No", "\\boxed{\\text{No}}\n\nThis is wrong: 91 is 7 times 13.\n\nIt is composite.", 1),
        ("No", "\\boxed{\\text{No}}\n\nThis is not true.\n\nCounterexample: n = 4.", 1),
        ("No", "\\boxed{\\text{No}}\n\nThis is false.\n\nSet B is empty. The final answer is no.", 1),
    ],
)
def test_a_box(expected: str, answer: str, reward: float) -> None:
    assert verify_answer(expected, answer)[0] == reward


@pytest.mark.parametrize(
    ("text", "options", "letter"),
    [
        ("\\boxed{B}\n\nThis is false because birds lay eggs.", TRUTH, "B"),
        ("\\boxed{A}\n\nThis is false because birds lay eggs.", TRUTH, None),
        ("\\boxed{B}\n\nWait, this is false.", TRUTH, None),
        ("The incorrect statement is \\boxed{B}.\n\nIt is false because birds lay eggs.", BIRDS, "B"),
        ("The incorrect statement is \\boxed{B}. Wait, that is wrong.", BIRDS, None),
        ("The statement that is not true is \\boxed{B}.\n\nThis is incorrect.", BIRDS, "B"),
        ("\\boxed{B}\n\nThat's not right, it's A.", TRUTH, None),
        ("\\boxed{B} is wrong.", TRUTH, None),
        ("\\boxed{B}\n\nThat's wrong. So A.", TRUTH, None),
        ("\\boxed{B} This is wrong, so I choose A.", TRUTH, None),
        ("\\boxed{B} This is wrong.\n\nA is right.", TRUTH, None),
        ("\\boxed{B} This is wrong. A bird lays eggs.", TRUTH, "B"),
        ("\\boxed{B} ❌", TRUTH, None),
        ("The false positive rate is \\boxed{B}. That is incorrect.", BIRDS, None),
        ("Not <|begin_of_box|>B<|end_of_box|>", TRUTH, None),
        ("<|begin_of_box|>B<|end_of_box|>", TRUTH, "B"),
        ("A is wrong, so it is \\boxed{B}.\n\nThat is wrong.", BIRDS, None),
    ],
)
def test_an_option_in_a_box(text: str, options: dict[str, str], letter: str | None) -> None:
    assert READERS["strict_boxed"](text, options) == letter


def test_an_option_behind_answer() -> None:
    assert READERS["answer_colon"]("Answer: B\n\nThis is false: birds lay eggs.", TRUTH) == "B"
    assert READERS["answer_colon"]("Answer: A\n\nThis is false: birds lay eggs.", TRUTH) is None
    assert READERS["answer_colon"]("Answer: B\n\nThat is incorrect; \\boxed{A}", TRUTH) is None


@pytest.mark.clock
def test_long_answers_take_no_time() -> None:
    began = time.process_time()
    for end in (" " * 100_000 + "x", "*" * 100_000, "!" * 100_000 + "x", "." * 100_000 + "x"):
        answer_line(f"Answer: no{end}\nfoo")
        verify_answer("5", f"\\boxed{{no{end}}}\nhm")
    assert time.process_time() - began < 5 * slowness()


YES_OR_NO = {"A": "Yes", "B": "No"}
GIVE_ANOTHER = [
    *("It should be A.", "It's A.", "It is A.", "So it must be A.", "The correct one is A.", "I'd go with A."),
    *(
        "My answer is now A.",
        "A is the answer.",
        "A must be correct.",
        "Correct: A",
        "Final: A",
        "**A**",
        "**A.**",
        "$A$",
        "`A`",
    ),
    *(
        "It should be A because x > 0.",
        "It's A since x > 0.",
        "The claim is true for all n.",
        "Actually, the statement holds.",
    ),
    *("The claim is actually true because n is even.", "It is true that 7 is prime.", "So the answer is affirmative."),
    "The opposite is right.",
]


@pytest.mark.parametrize("behind", GIVE_ANOTHER)
@pytest.mark.parametrize("between", ["\n\n", " "])
def test_another_answer_behind_a_denial_takes_back(behind: str, between: str) -> None:
    for reader, before in (
        ("strict_boxed", "\\boxed{B}"),
        ("lenient_boxed", "\\boxed{B}"),
        ("answer_colon", "Answer: B"),
    ):
        assert READERS[reader](f"{before}\n\nThat's wrong.{between}{behind}", YES_OR_NO) is None


@pytest.mark.parametrize(
    "behind",
    [
        *("This is false, since it is divisible by 7.", "This is false: 91 is 7 times 13, so it is composite."),
        *("This is not true because n = 4 is a counterexample.", "This is false. Its right side is larger."),
        *("This is false, so the answer is no.", "This is false.\n\nIf it were true, 91 would be prime."),
        *("This is false.\n\nThe claim is never true.", "This is false.\n\nThe converse isn't true."),
        *("This is false.\n\nFor the claim to be true, n must be even.", "This is false.\n\nThe true value is 5."),
        *("This is false.\n\nIn fact 91 is actually composite.", "This is false.\n\nSo A = 3 is a counterexample."),
        *(
            "This is false.\n\nThus $E[X] = 2$, and not 3.",
            "This is false.\n\nHence F(2) = 0.",
            "This is false.\n\nSet B is empty.",
        ),
    ],
)
def test_the_reason_of_a_no_takes_nothing_back(behind: str) -> None:
    question = "Is the claim true? Answer Yes or No, in a box."
    assert verify_answer("No", f"\\boxed{{\\text{{No}}}}\n\n{behind}", question)[0] == 1
    assert READERS["strict_boxed"](f"\\boxed{{B}}\n\n{behind}", YES_OR_NO) == "B"
