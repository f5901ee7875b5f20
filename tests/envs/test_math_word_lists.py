r"""Checks lists of words, whose style is none of the answer: `\text{A, C}` is `A,C`."""

from __future__ import annotations

import pytest

from ray_gym.envs.math.verification import verify_answer

SAME = [
    ("A,B,C", r"\text{A, B, C}"),
    ("B,D,E", r"\text{B,D,E}"),
    (r"\text{A,C}", "A, C"),
    ("A,C", r"\text{A and C}"),
    ("A,C", r"\text{C, A}"),
    ("A,C", r"\text{A},\ \text{C}"),
    ("A, B, and C", r"\text{A, B, C}"),
    ("Amy, Bob", r"\text{Amy}, \text{Bob}"),
    (r"\text{East, North}", "East, North"),
    ("A,B,C", r"\{\text{A}, \text{B}, \text{C}\}"),
    ("no, yes", r"\text{No, Yes}"),
    ("NO, YES", r"\text{No, Yes}"),
    (r"\text{no and yes}", "No, Yes"),
    ("no, no", r"\text{No, No}"),
    ("yes, yes", r"\text{Yes and yes}"),
    ("a, c", r"\text{A, C}"),
    ("A, C", r"\text{c and a}"),
    ("A, C", r"\text{(C), (A)}"),
    ("A,C,F", r"\text{A, F, C}"),
    ("I, III", r"\text{III, I}"),
    ("II,III", r"\text{III and II}"),
    ("(i), (iv)", r"\text{(i) and (iv)}"),
]
OTHER = [
    ("A,B,C", r"\text{A, B}"),
    ("A,C", r"\text{A, B}"),
    ("A,C", r"\text{A, C, D}"),
    ("A,C", r"\text{A or C}"),
    ("A,C", r"\text{not A, C}"),
    (r"\text{Amy, Bob}", "Amy"),
]


@pytest.mark.parametrize(
    ("expected", "answer", "reward"), [*((*one, 1) for one in SAME), *((*one, 0) for one in OTHER)]
)
def test_the_words_of_a_list_are_compared(expected: str, answer: str, reward: int) -> None:
    for said in (rf"Thus it is \boxed{{{answer}}}.", f"The answer is ${answer}$."):
        assert verify_answer(expected, said)[0] == reward


IN_ORDER = [
    ("C, A", r"\text{A, C}", "Match the equations with the graphs."),
    ("C, A", r"\text{A, C}", "Rank them from heaviest to lightest."),
    ("C, A", r"\text{A, C}", "Which are the greatest and the least, respectively?"),
    ("II, I", r"\text{I, II}", "Order the steps."),
    ("B, C", r"\text{C, B}", "In what order do they arrive?"),
    ("B, A, C", r"\text{A, B, C}", "Who came in, and when?"),
    ("II, I, III", r"\text{I, II, III}", "Give the number of each graph."),
    ("C, D", r"\text{D, C}", "Does each series converge (C) or diverge (D)?"),
    ("m, b", r"\text{b, m}", "Which letters stand for the slope and the intercept?"),
    ("XI, IX", r"\text{IX, XI}", "Write 11 and 9 in Roman numerals."),
    (r"\text{True, False, True}", r"\text{False, True, True}", "Decide for each whether it is true or false."),
    (r"\text{Yes, No}", r"\text{No, Yes}", "Is 2 even? Is 3 even?"),
    ("T, F", r"\text{F, T}", "Is 2 even? Is 3 even?"),
    (r"\text{even, odd}", r"\text{odd, even}", "Is the sum even or odd? Is the product?"),
    ("A, C, B", r"\text{A, B, C}", "Put the fractions A, B, C in ascending order."),
    ("B, A, D, C", r"\text{A, B, C, D}", "Match each function with its graph."),
    (r"\text{Ann, Bob}", r"\text{Bob, Ann}", "Who is the tallest, and who the shortest?"),
    ("A,A,B", r"\text{A, B, A}", "Which is it in the three cases?"),
    ("A, C", r"\text{C, A}", "Who is the knight and who is the knave?"),
    ("A, C", r"\text{C, A}", "Which graph shows f, and which shows its derivative?"),
    ("A, C", r"\text{C, A}", "Pair each equation with a graph."),
    ("A, C", r"\text{C, A}", "What are the next two letters?"),
    ("A, C", r"\text{C, A}", "Which option belongs in each blank?"),
    ("A, C", r"\text{C, A}", "(i) Which of the lines is steep? (ii) Which of the lines is flat?"),
    ("C, A", r"\text{A, C}", "Which of the doors should be opened first?"),
    ("B, A", r"\text{A, B}", "For (1) and (2), which of the graphs fits?"),
]


@pytest.mark.parametrize(("expected", "other", "question"), IN_ORDER)
def test_their_order_counts_unless_they_are_options(expected: str, other: str, question: str) -> None:
    same = expected if "\\" in expected else rf"\text{{{expected}}}"
    assert verify_answer(expected, rf"\boxed{{{same}}}", question)[0] == 1
    assert verify_answer(expected, rf"\boxed{{{other}}}", question)[0] == 0


@pytest.mark.parametrize(
    "question",
    [
        "At least one of these is correct. Which?",
        "List all correct options.",
        "Each of the following is a statement. Which are true?",
        "In the first figure, which triangles are right?",
        "Choose all the increasing functions.",
        "Enter the letters of the correct options, separated by commas, in any order.",
        "Enter the list of letters, for example: A, B. The order does not matter.",
        "Put a tick beside each prime. In order to win, which may be chosen?",
        "Which figures match the description?",
        "Which are true? Answer in alphabetical order.",
        "Which of the following are groups of order 6?",
        "Find all of the statements that are true.",
        "Which of the relations are functions? Explain which property fails for the others.",
        "Consider the sequence 2, 4, 8. Which statements are true?",
        "For each integer n, which statements are true?",
        "The sum of the first and second number is 10. Which of the following hold?",
    ],
)
def test_the_letters_of_options_are_in_any_order(question: str) -> None:
    for expected, box in (("A,C", r"\text{C, A}"), ("A,C,F", r"\text{F, A, C}"), (r"\text{I and III}", "III, I")):
        assert verify_answer(expected, rf"\boxed{{{box}}}", question)[0] == 1


@pytest.mark.parametrize(
    "question", ["Select all that apply.", "Which of the following are true?", "Which statements hold?"]
)
def test_letters_of_which_all_are_asked_for_are_in_any_order_too(question: str) -> None:
    for expected in ("C, A", "III, I"):
        given = ", ".join(reversed(expected.split(", ")))
        assert verify_answer(expected, rf"\boxed{{\text{{{given}}}}}", question)[0] == 1
        assert verify_answer(expected, rf"\boxed{{\text{{{given}}}}}", "Match each with its graph.")[0] == 0


def test_letter_case_counts_in_symbols() -> None:
    assert verify_answer("AA, Aa", r"\boxed{\text{aa, Aa}}", "Which genotypes?")[0] == 0
    assert verify_answer("AA, Aa", r"\boxed{\text{AA, Aa}}", "Which genotypes?")[0] == 1
    assert verify_answer("Co, Ni", r"\boxed{\text{CO, NI}}", "Which metals?")[0] == 0
    assert verify_answer("aB, Ab", r"\boxed{\text{Ab, aB}}", "Which gametes?")[0] == 0
    for words in ("AM, PM", "UK, US", "go, stop", "Jo, Amy"):
        assert verify_answer(words, rf"\boxed{{\text{{{words.lower()}}}}}", "Which?")[0] == 1
    assert verify_answer("X, x", r"\boxed{\text{x, X}}", "In what order?")[0] == 0
    assert verify_answer("East, North", r"\boxed{\text{east, north}}")[0] == 1
