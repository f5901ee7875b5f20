"""Checks words behind numbers: number words, ordinary endings, and words that make another number."""

from __future__ import annotations

import time

import pytest
from processor import slowness

from ray_gym.envs.math.endings import is_ending
from ray_gym.envs.math.number_words import with_digits
from ray_gym.envs.math.verification import verify_answer


@pytest.mark.parametrize(
    ("expected", "right", "wrong"),
    [
        (
            "5\\text{ million}",
            ["5000000", "5{,}000{,}000", "5 million", "5\\times 10^6", "5\\text{ million}", "0.005\\text{ billion}"],
            ["5", "5\\text{ billion}", "5\\text{ thousand}", "500000"],
        ),
        ("1.25\\text{ million}", ["1250000", "1.25 million", "1,250,000"], ["1.25", "125000"]),
        ("3\\text{ hundred}", ["300", "3 hundred"], ["3", "3\\text{ thousand}"]),
        ("5\\text{ thousand}", ["5000", "5,000"], ["5"]),
        ("2\\text{ dozen}", ["24", "2 dozen"], ["2", "12"]),
        ("2\\text{ thousandths}", ["0.002", "\\frac{1}{500}", "\\frac{2}{1000}"], ["2", "2000"]),
        ("3 tenths", ["0.3", "\\frac{3}{10}"], ["3", "30"]),
        ("\\frac{1}{2}\\text{ million}", ["500000", "0.5\\text{ million}"], ["\\frac12", "0.5"]),
        (
            "\\$5\\text{ million}",
            ["\\$5000000", "5\\text{ million dollars}", "5000000"],
            ["\\$5", "5", "€5\\text{ million}"],
        ),
        ("5\\text{ million people}", ["5000000", "5 million", "5000000\\text{ people}"], ["5", "5\\text{ people}"]),
        ("2\\text{ hundred thousand}", ["200000", "200\\text{ thousand}"], ["200", "2\\text{ hundred}"]),
        ("3 lakh", ["300000"], ["3"]),
        ("-2\\text{ million}", ["-2000000"], ["2000000", "-2"]),
    ],
)
def test_a_number_word_is_a_number_in_the_expected_answer_too(
    expected: str, right: list[str], wrong: list[str]
) -> None:
    for answer in right + wrong:
        assert verify_answer(expected, f"\\boxed{{{answer}}}")[0] == (answer in right), answer


@pytest.mark.parametrize(("answer", "value"), [("The answer is 5 million.", 1), ("The answer is 5.", 0)])
def test_a_number_word_needs_no_box(answer: str, value: float) -> None:
    assert verify_answer("5\\text{ million}", answer)[0] == value


def test_a_number_word_that_the_question_counts_is_a_unit() -> None:
    question = "How many dozen eggs are left?"
    assert verify_answer("3\\text{ dozen}", "\\boxed{3}", question)[0] == 1
    assert verify_answer("3", "\\boxed{3\\text{ dozen}}", question)[0] == 1
    assert verify_answer("3", "\\boxed{3 dozen}", question)[0] == 1
    assert verify_answer("3", "\\boxed{3 dozen}", "How many eggs are left?")[0] == 0


@pytest.mark.parametrize(
    ("ending", "question"),
    [
        ("\\text{ years old}", "How old is Tom?"),
        ("\\text{ years}", "How old is Tom?"),
        ("\\text{ marbles left}", "How many marbles are left?"),
        ("\\text{ more marbles}", "How many more marbles has Tom than Ann?"),
        (" more", "How many more marbles has Tom than Ann?"),
        ("\\text{ fewer cups}", "How many fewer cups does he need?"),
        ("\\text{ marbles}", "What is the total number of red and blue marbles?"),
        ("\\text{ red and blue marbles}", "What is the total number of red and blue marbles?"),
        ("\\text{ pages per day}", "How many pages does he read per day?"),
        ("\\text{ pages/day}", "How many pages does he read per day?"),
        (" pages/day", "How many pages does he read per day?"),
        ("\\text{ pages a day}", "How many pages does he read each day?"),
        ("\\text{ loaves of bread}", "How many loaves of bread did she bake?"),
        (" loaves of bread", "How many loaves of bread did she bake?"),
        ("\\text{ apple}", "How many apples are there?"),
        ("\\text{ apples in total}", "How many apples are there?"),
        ("\\text{ men}", "A man works alone. How many men does the firm need?"),
        ("\\text{ women}", "Each woman gets a rose. What is their share?"),
        ("\\text{ boxes}", "Each box holds 3 pens. How many does he need?"),
        ("\\text{ p.m.}", "When does the train leave?"),
        (" p.m.", "When does the train leave?"),
        ("\\text{ slices of pizza remaining}", "They had 20 slices of pizza. How many remain?"),
        (" Tom's marbles", "Tom has some marbles. What is half of them, and how many are Tom's?"),
        ("\\text{ months}", ""),
        (" months", ""),
        ("\\text{ cookies each}", "How many cookies does each child get?"),
        ("\\text{ km per litre}", ""),
        ("\\text{ negative integers}", "How many negative integers satisfy it?"),
        ("\\text{ right triangles}", "Find the number of right triangles."),
        ("\\text{ (marbles)}", "How many marbles are left?"),
        ("\\text{ }", ""),
    ],
)
def test_an_ordinary_ending_makes_no_other_answer(ending: str, question: str) -> None:
    assert verify_answer("12", f"\\boxed{{12{ending}}}", question)[0] == 1, verify_answer(
        "12", f"\\boxed{{12{ending}}}", question
    )


EVERY_WORD = (
    "Is it not wrong that Tom has a dozen marbles, more or less, half of them squared, five times nine hundredths below zero,"
    " negative, at least two percent too few, plus or minus x from a to b, without doubt, mod seven, if not never, isn't it?"
    " How many marbles are left, in binary?"
)


@pytest.mark.parametrize(
    "ending",
    [
        "is wrong", "marbles is wrong", "marbles or more", "more", "less", "squared", "marbles squared", "dozen", "dozen marbles",
        "hundredths", "half", "marbles below zero", "below", "negative", "times nine", "times", "percent too few",
        "not", "marbles, not", "at least", "marbles at least", "plus", "minus", "x", "of a dozen", "of five", "and a half",
        "marbles and a half", "to", "without", "mod seven", "isn't", "isn't it", "never", "if", "marbles if not", "from zero",
        "lakh", "factorial", "gross", "crore", "nonsense", "marbles 3", "marbles + 1", "thirty", "fifteenths", "in binary", "zero",
    ],
)  # fmt: skip
def test_words_of_the_question_that_make_another_number_do_not_count(ending: str) -> None:
    assert not is_ending(ending, "12", EVERY_WORD)
    for box in (f"12\\text{{ {ending}}}", f"12 {ending}"):
        assert verify_answer("12", f"\\boxed{{{box}}}", EVERY_WORD)[0] == 0, box


def test_an_expected_answers_own_words_allow_no_other_words_of_the_question() -> None:
    question = "Tom has apples and oranges. What has he more of?"
    age = "How old is Tom, in months?"
    assert verify_answer("12\\text{ years old}", "\\boxed{12\\text{ months old}}", age)[0] == 0
    assert verify_answer("12\\text{ years old}", "\\boxed{12\\text{ years}}", age)[0] == 1
    for wrong in ("oranges", "oranges left"):
        assert verify_answer("12\\text{ apples}", f"\\boxed{{12\\text{{ {wrong}}}}}", question)[0] == 0
    for right in ("apples", "apple", "apples left"):
        assert verify_answer("12\\text{ apples}", f"\\boxed{{12\\text{{ {right}}}}}", question)[0] == 1


def test_words_between_two_numbers_are_no_ending() -> None:
    question = "How many apples, then pears?"
    assert verify_answer("5", "\\boxed{5\\text{ then }6}", question)[0] == 0
    assert verify_answer("56", "\\boxed{5\\text{ pears }6}", question)[0] == 0


@pytest.mark.parametrize(
    ("expected", "right", "wrong"),
    [
        ("1000", ["1e3", "1E3", "1.0e3"], ["e3", "1e4", "1e^3", "1e"]),
        ("0.0015", ["1.5e-3"], ["1.5e3", "1.5 e - 3"]),
        ("\\emptyset", ["\\varnothing", "\\emptyset", "∅"], ["\\{0\\}"]),
        ("\\varnothing", ["\\emptyset", "\\varnothing"], []),
        ("[3, 4]", ["[3;4]", "[3; 4]"], ["(3;4)", "[4;3]", "]3,4]"]),
        ("(3, 4)", ["]3,4[", "(3;4)", "]3;4["], ["[3,4[", "]4,3["]),
        ("[3, 4)", ["[3,4["], ["]3,4]"]),
        (
            "-3",
            ["\\text{negative }3", "\\text{minus }3", "negative 3"],
            ["3", "\\text{negative }4", "-\\text{negative }3"],
        ),
    ],
)
def test_more_spellings(expected: str, right: list[str], wrong: list[str]) -> None:
    for answer in right + wrong:
        assert verify_answer(expected, f"\\boxed{{{answer}}}")[0] == (answer in right), answer


@pytest.mark.parametrize("part", ["5 million ", "5", "million ", "1,000", "a ", "'s ", "more ", "5 \\text{", " "])
def test_no_ending_takes_long_to_read(part: str) -> None:
    began = time.process_time()
    for text in (part * 2000, f"5 {part * 2000}", f"{part * 2000}!"):
        with_digits(text), is_ending(text, "5", text), is_ending(text, text, "")
    assert time.process_time() - began < slowness()


HOME = "Tom drives at 45 mph for one hour. How far is he from home?"
BOXES = "Each box holds 12 eggs. How many boxes can be filled with 72 eggs?"


@pytest.mark.parametrize(
    ("question", "right", "wrong"),
    [
        (
            HOME,
            [
                "45\\text{ miles from home}",
                "45 miles from home",
                "45\\text{ miles away from home}",
                "45\\text{ miles away}",
            ],
            [
                "45\\text{ from home}",
                "45\\text{ miles from work}",
                "45\\text{ less from home}",
                "45\\text{ miles from 60}",
            ],
        ),
        ("Ann leaves home. How far from school is she?", ["45\\text{ km from school}"], ["45\\text{ km from home}"]),
        ("How far above the floor is it?", ["45\\text{ cm}"], ["45\\text{ cm from the ceiling}"]),
        (
            "Tom walks from home to the lake, and on to school. Find his distance from the lake.",
            ["45\\text{ km from the lake}"],
            ["45\\text{ km from home}"],
        ),
        ("How far is he from the tree house?", ["45\\text{ m from the tree house}"], ["45\\text{ m from the tree}"]),
    ],
)
def test_the_place_from_which_the_question_counts_is_an_ordinary_ending(
    question: str, right: list[str], wrong: list[str]
) -> None:
    given = {box: verify_answer("45", f"\\boxed{{{box}}}", question)[0] for box in [*right, *wrong]}
    assert [box for box, reward in given.items() if reward] == right


@pytest.mark.parametrize(
    ("question", "right", "wrong"),
    [
        (
            BOXES,
            ["6\\text{ full boxes}", "6 whole boxes", "6\\text{ complete boxes}", "6\\text{ full boxes of eggs}"],
            ["6\\text{ empty boxes}", "6\\text{ half boxes}", "6\\text{ nearly full boxes}"],
        ),
        ("How many large boxes are there?", ["6\\text{ large boxes}"], ["6\\text{ full boxes}"]),
        ("How many boxes are not full?", ["6\\text{ boxes}"], ["6\\text{ whole boxes}"]),
        ("How many boxes are empty?", ["6\\text{ boxes}"], ["6\\text{ full boxes}"]),
        ("How many cups remain to be filled?", ["6\\text{ cups}"], ["6\\text{ full cups}"]),
        ("How many rooms are vacant?", ["6\\text{ rooms}"], ["6\\text{ full rooms}"]),
        ("How many slices of pizza does he need?", ["6\\text{ slices}"], ["6\\text{ whole pizzas}"]),
    ],
)
def test_whole_things_are_what_is_counted_unless_the_question_tells_them_apart(
    question: str, right: list[str], wrong: list[str]
) -> None:
    given = {box: verify_answer("6", f"\\boxed{{{box}}}", question)[0] for box in [*right, *wrong]}
    assert [box for box, reward in given.items() if reward] == right


def test_a_unit_before_the_place_is_compared() -> None:
    for box, reward in (("5\\text{ miles from home}", 1), ("5 miles from home", 1), ("5\\text{ km from home}", 0)):
        assert verify_answer("5 miles", f"\\boxed{{{box}}}", "How far is he from home?")[0] == reward
