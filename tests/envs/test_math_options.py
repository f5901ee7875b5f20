"""Checks answers to problems that have options in their text, and numbers in the base that is asked for."""

from __future__ import annotations

import pytest

from ray_gym.envs.math.options import options_in
from ray_gym.envs.math.verification import verify_answer

QUESTIONS = [
    r"What is $2+3$? $\textbf{(A)}\ 5 \qquad \textbf{(B)}\ 6 \qquad \textbf{(C)}\ \frac{1}{2} \qquad \textbf{(D)}\ 8$",
    "What is 2+3?\n(A) 5\n(B) 6\n(C) 1/2\n(D) 8\n",
    "What is 2+3? A. 5 B. 6 C. 1/2 D. 8",
    r"What is 2+3? $\mathrm{(A) \ } 5\qquad \mathrm{(B) \ } 6\qquad \mathrm{(C) \ } \frac{1}{2}\qquad \mathrm{(D) \ } 8$",
    r"What is 2+3? $\mathrm{(A)\ \ }5\qquad\mathrm{(B)\ \ }6\qquad\mathrm{(C)\ \ }\frac12\qquad\mathrm{(D)\ \ }8$",
    r"What is 2+3? $\mathrm{(A) \ 5 }\qquad \mathrm{(B) \ 6 }\qquad \mathrm{(C) \ 1/2 }\qquad \mathrm{(D) \ 8 }$",
    r"What is 2+3? $\textbf{(A)}\ \text{5}\qquad \textbf{(B)}\ \text{6}\qquad \textbf{(C)}\ \text{1/2}\qquad \textbf{(D)}\ \text{8}$",
]
EXPECTED = ["A", "(A)", r"\text{(A)}", r"\textbf{(A)}", "5", r"\textbf{(A)}\ 5"]
RIGHT = [
    r"\textbf{(A)}\ 5",
    r"(A)\ 5",
    r"\text{(A) 5}",
    "A. 5",
    "A) 5",
    "A",
    "(A)",
    "5",
    r"\text{A}",
    r"\textbf{(A) }5",
    r"\mathrm{(A) \ } 5",
    r"\textbf{(A) 5}",
]
WRONG = [r"\textbf{(B)}\ 6", "B", "6", r"\textbf{(A)}\ 6", r"\textbf{(B)}\ 5", "(A) or (B)", "A, B", "5 or 6", "not A"]


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("expected", EXPECTED)
def test_an_option_is_its_letter_its_text_or_both(question: str, expected: str) -> None:
    given = {box: verify_answer(expected, rf"The answer is \boxed{{{box}}}.", question)[0] for box in RIGHT + WRONG}
    assert [box for box, reward in given.items() if reward] == RIGHT


@pytest.mark.parametrize("box", [r"\quad", r"\text{}", "~", "$$", " "])
@pytest.mark.parametrize("expected", ["A", "5"])
def test_an_empty_box_is_no_option(box: str, expected: str) -> None:
    assert [verify_answer(expected, rf"\boxed{{{box}}}", question)[0] for question in QUESTIONS] == [0] * len(QUESTIONS)


def test_an_instruction_behind_the_options_is_none_of_them() -> None:
    question = QUESTIONS[0] + "\n\nGive your answer as a letter."
    assert verify_answer("D", r"\boxed{8}", question)[0] == verify_answer("8", r"\boxed{D}", question)[0] == 1


def test_texts_of_options_are_compared_as_values() -> None:
    assert verify_answer("C", r"\boxed{0.5}", QUESTIONS[0])[0] == 1
    assert verify_answer(r"\frac12", r"\boxed{C}", QUESTIONS[0])[0] == 1
    assert verify_answer(r"\frac12", r"\boxed{B}", QUESTIONS[0])[0] == 0
    assert verify_answer("A", r"\boxed{5}", "What is 2+3?")[0] == 0


def test_a_text_that_fits_two_options_needs_its_letter() -> None:
    question = "How long is it?\nA. 5 cm\nB. 5 m\nC. 6 cm"
    rewards = {
        box: verify_answer("B", rf"\boxed{{{box}}}", question)[0] for box in ("5", "5 m", "B", "B. 5", "A. 5", "5 cm")
    }
    assert rewards == {"5": 0, "5 m": 1, "B": 1, "B. 5": 1, "A. 5": 0, "5 cm": 0}
    assert verify_answer("C", r"\boxed{6}", question)[0] == 1


@pytest.mark.parametrize(
    ("question", "letters"),
    [
        *((question, "ABCD") for question in QUESTIONS),
        ("Let (A) and (B) be two sets.", ""),
        ("Triangle ABC has a point D. What is its area?", ""),
        ("(A) 1 (C) 2 (D) 3", ""),
        ("Of (A), (B) and (C) which is it? (A) 1 (B) 2 (C) 3 (D) 4", "ABCD"),
    ],
)
def test_options_are_three_letters_in_order(question: str, letters: str) -> None:
    assert "".join(options_in(question)) == letters


@pytest.mark.parametrize(
    ("box", "question", "reward"),
    [
        ("1101_2", "Write 13 in binary.", 1),
        (r"1101_{\text{two}}", "What is 13 in base two?", 1),
        ("1101_{2}", "What is 13 in base $2$?", 1),
        ("1101_2", "What is 13 in base 2?", 1),
        ("1101_2", "Convert 23_5 to base 5.", 0),
        ("1101_3", "Write 13 in binary.", 0),
        ("1101_2", "Convert 1101 from base 2 to base 10.", 0),
        ("1101_2", "Convert 13 from base 10 to base 2.", 1),
        ("1101_2", "How is 13 written in base 2?", 1),
        ("1101_2", "If 13 is written in base 2, what is the result?", 1),
        ("1101_2", "Suppose that 13 is written in base two. What do you get?", 1),
        ("1101_2", "The number 1101 is written in base 2. What is its value?", 0),
        ("1101_2", "In two days, how many are there?", 0),
        ("1101_2", "", 0),
    ],
)
def test_the_base_that_is_asked_for_need_not_be_expected(box: str, question: str, reward: float) -> None:
    assert verify_answer("1101", rf"\boxed{{{box}}}", question)[0] == reward


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("expected", EXPECTED)
def test_an_option_is_read_without_a_box(question: str, expected: str) -> None:
    right = ["The answer is (A) 5.", "The answer is (A).", "Answer: A", "**Answer: A) 5**", "The answer is 5."]
    right += ["The correct option is A.", r"The answer is $\textbf{(A)}\ 5$.", "The answer is (A) 5, since 2 + 3 = 5."]
    wrong = [
        "The answer is (B) 6.",
        "The answer is B.",
        "The answer is 6.",
        "The answer is (A) 6.",
        "The answer is (A) or (B).",
    ]
    wrong += [
        "The answer is not A.",
        "Is the answer A? The answer is B.",
        "The answer is (A) 5. Wait, the answer is (B) 6.",
    ]
    given = {answer: verify_answer(expected, answer, question)[0] for answer in [*right, *wrong]}
    assert [answer for answer, reward in given.items() if reward] == right


REASONED = "Is it? (A) Yes, because x < 0 (B) Yes, because x > 0 (C) No, because x = 0"


@pytest.mark.parametrize(
    ("question", "expected", "answer", "reward"),
    [
        (REASONED, "B", "\\boxed{(B) Yes, because x > 0}", 1),
        (REASONED, "(B) Yes, because x > 0", "\\boxed{B}", 1),
        (REASONED, "B", "The answer is (B) Yes, because x > 0.", 1),
        ("Which? (A) since 1990 (B) growing since 1995 (C) never", "B", "\\boxed{growing since 1995}", 1),
        ("Is it? (A) Yes (B) No (C) Yes, because x > 0", "A", "The answer is Yes, because x > 0.", 0),
        ("Is it? (A) Yes (B) No (C) Yes, because x > 0", "A", "\\boxed{Yes, because x > 0}", 0),
        ("Is it? (A) Yes (B) No (C) Maybe", "A", "The answer is (A) Yes, because x > 0.", 1),
    ],
)
def test_a_reason_is_left_out_unless_it_is_an_options(question: str, expected: str, answer: str, reward: int) -> None:
    assert verify_answer(expected, answer, question)[0] == reward


@pytest.mark.parametrize(
    "before",
    [
        "It is not true that",
        "It cannot be that",
        "It is impossible that",
        "I reject the claim that",
        "Nobody could say that",
        "It isn't true that",
        "I refuse to say",
        "Maybe",
        "Some say",
        "Bob says",
    ],
)
def test_an_option_that_is_denied_before_it_is_none(before: str) -> None:
    question = "What is 2+3?\nA. 4\nB. 5\nC. 6"
    assert verify_answer("5", f"{before} the answer is (B).", question)[0] == 0
    assert verify_answer("5", "It is not hard to see that the answer is (B).", question)[0] == 1


@pytest.mark.parametrize(
    "option",
    [
        r"\textbf{(%s)}\ \text{%s}",
        r"$\mathrm{(%s)}\ \mathrm{%s}$",
        r"\textbf{(%s)}\ \textbf{%s}",
        r"(%s) \text{%s}",
        r"%s) $\text{%s}$",
        r"\text{(%s) }\text{ %s }",
    ],
)
@pytest.mark.parametrize("expected", [r"\textbf{(A)}\ \text{even}", r"\text{even}", "even", "A"])
def test_options_that_are_words_in_a_style_are_read(option: str, expected: str) -> None:
    texts = zip("ABC", ("even", "odd", "neither"), strict=True)
    question = "Which one? " + r"\qquad ".join(option % each for each in texts)
    for box in ("A", r"\textbf{(A)}", "even", r"\text{even}", r"\textbf{(A)}\ \text{even}", r"(A) \text{even}"):
        assert verify_answer(expected, rf"\boxed{{{box}}}", question)[0] == 1, box
    for box in ("B", "odd", r"\text{odd}", r"\textbf{(B)}\ \text{even}"):
        assert verify_answer(expected, rf"\boxed{{{box}}}", question)[0] == 0, box


@pytest.mark.parametrize("which", ["least likely", "second best", "worst", "alternative"])
def test_another_than_the_best_answer_is_none(which: str) -> None:
    assert verify_answer("5", f"The {which} answer is B.", "What is 2+3?\nA. 4\nB. 5\nC. 6")[0] == 0
