"""Checks answers in words, dates and times of day, and what stands around an answer without a box."""

from __future__ import annotations

import time

import pytest
from processor import slowness

from ray_gym.envs.math.verification import verify_answer
from ray_gym.envs.math.words import announced_words, are_same_words


@pytest.mark.parametrize(
    ("expected", "right", "wrong"),
    [
        (
            "August 5",
            ["August 5", r"\text{August 5}", r"\text{August }5", "August 5th", r"5\text{ August}", r"\text{Aug. 5}"],
            [r"\text{August 6}", r"\text{July 5}", "5", r"\text{August}"],
        ),
        (
            "July 4, 1776",
            ["July 4, 1776", r"\text{July 4, 1776}", r"\text{4 July 1776}"],
            [r"\text{July 4, 1777}", "1776"],
        ),
        (r"\text{August 5}", ["August 5"], ["August 6"]),
        ("Monday, August 5", [r"\text{Monday, August 5}"], [r"\text{Tuesday, August 5}"]),
        (r"\text{even}", ["even", r"\text{Even.}"], ["neve"]),
        (r"\text{June 20}", [r"\text{June }20", "20 June"], [r"\text{June }21", "20"]),
        ("No", [r"\text{No.}", r"\text{no}", "No."], ["on", r"\text{Yes}", "N"]),
        ("Team 5", [r"\text{Team 5}"], ["5", r"\text{Team 6}"]),
        (
            "10:30 AM",
            [r"10:30 \text{ AM}", r"10{:}30\text{ AM}", "10:30 a.m.", "10:30am", r"10:30\,\mathrm{AM}", "10:30"],
            [r"10:30 \text{ PM}", "10:31 AM", "1:3", "11:30", "10"],
        ),
        ("10:30", [r"10:30\text{ AM}", "10{:}30"], ["10:31", "10"]),
        ("3:00 PM", [r"3\text{ p.m.}"], [r"3\text{ a.m.}"]),
        ("3:2", ["3:2", "3 : 2"], ["2:3"]),
        ("3", [r"\text{three}", "three", r"\text{Three}"], [r"\text{four}", r"\text{thirty}", r"\text{three halves}"]),
        ("21", [r"\text{twenty-one}", "twenty one"], ["twenty", r"\text{twenty-ten}"]),
        ("three", ["3", r"\text{three}"], ["4", "ethre"]),
        ("9", [r"\Large{9}", r"\large 9", r"{\Large 9}", r"\huge{9}"], [r"\Large{8}"]),
        ("100000", [r"1 \times 10^5", "1×10⁵", "10^5"], [r"2 \times 5 \times 10^4"]),  # noqa: RUF001
        ("0.00001", [r"1 \times 10^{-5}", "10^{-5}"], [r"1 \times 10^{-4}", "10^{-4}"]),
        ("1e-5", [r"1 \times 10^{-5}"], []),
        ("-100000", [r"-1 \times 10^5", "-10^5"], [r"1 \times 10^5", "10^5"]),
    ],
)
def test_words_dates_times_and_powers_of_ten(expected: str, right: list[str], wrong: list[str]) -> None:
    for answer in right + wrong:
        assert verify_answer(expected, f"\\boxed{{{answer}}}")[0] == (answer in right), answer


@pytest.mark.parametrize(
    ("expected", "answer", "value"),
    [
        ("12", "Answer: `12`", 1),
        ("12", "Answer: `13`", 0),
        ("18", "She makes **\\$18** per day.", 1),
        ("18", "She makes **\\$19** per day.", 0),
        ("8", "It is 2**3", 0),
        ("\\frac12", "So **1/2**.", 1),
        ("12", "<answer>12</answer>", 1),
        ("12", "I took 5 steps. <answer>12</answer> That is 7.", 1),
        ("12", "<answer>13</answer> from 12", 0),
        ("12", "<answer>\\boxed{12}</answer>", 1),
        ("12 cm", "<answer>12 cm</answer>", 1),
        ("12 cm", "<answer>12 m</answer>", 0),
        ("even", "<answer>even</answer>", 1),
        ("3", "The answer is three.", 1),
        ("3", "The answer is four.", 0),
        ("three", "Three", 1),
        ("Yes", "Answer: Yes", 1),
        ("No", "**Answer:** No", 1),
        ("Tuesday", "**Final answer:** Tuesday", 1),
        ("even", "So the answer is **even**.", 1),
        ("Yes", "### Answer:\n\nYes", 1),
        ("10:30 AM", "Answer: 10:30 AM", 1),
        ("Yes", "Answer: No", 0),
        ("Yes", "Wrong answer: Yes", 0),
        ("even", "The function isn't odd, so the answer is even.", 1),
        ("even", "I am sure the answer is even.", 1),
        ("even", "We must check whether the answer is even.", 0),
        ("even", "I'm not sure the answer is even.", 0),
        ("even", "I doubt the answer is even.", 0),
        ("even", "It's false that the answer is even.", 0),
        ("even", "I can't say the answer is even", 0),
        ("Yes", "Answer: Yes\nWait, no.", 0),
        ("even", "The answer is not even.", 0),
        ("even", "I doubt that it is even.", 0),
    ],
)
def test_code_tags_and_number_words_without_a_box(expected: str, answer: str, value: float) -> None:
    assert verify_answer(expected, answer)[0] == value


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        (r"\boxed{n\text{ is even}}", 1),
        (r"\boxed{\text{n is even}}", 1),
        (r"\boxed{\text{even}}", 1),
        (r"\boxed{n \text{ is odd}}", 0),
        (r"\boxed{n}", 0),
        (r"\boxed{\text{not even}}", 0),
    ],
)
def test_what_is_said_of_a_variable_is_compared(answer: str, value: float) -> None:
    assert verify_answer(r"n\text{ is even}", answer)[0] == value


@pytest.mark.parametrize(
    "part", ["answer is ", "answer:", "August ", "5 August ", "10:30 ", "a ", "three ", "\\text{a} ", ", ", " "]
)
def test_no_words_take_long_to_compare(part: str) -> None:
    began = time.process_time()
    for text in (part * 2000, f"5 {part * 2000}", f"A{part * 2000}5"):
        are_same_words(text, "August 5"), are_same_words("August 5", text), announced_words("even", text)
    assert time.process_time() - began < slowness()


@pytest.mark.parametrize(
    ("expected", "right", "wrong"),
    [
        (
            "7",
            [r"7\text{ o'clock}", "7 o'clock", "7\\text{ o\u2019clock}"],
            [r"8\text{ o'clock}", r"7:30\text{ o'clock}"],
        ),
        ("7:00", [r"7\text{ o'clock}"], [r"6\text{ o'clock}"]),
        ("7:00 PM", [r"7\text{ o'clock}", r"7\text{ o'clock p.m.}"], [r"7\text{ o'clock a.m.}", r"8\text{ o'clock}"]),
        (r"7\text{ o'clock}", ["7", "7:00", "7:00 am", r"7\text{ oclock}"], ["7:30", "8", "19"]),
    ],
)
def test_a_whole_hour_is_a_time_of_day(expected: str, right: list[str], wrong: list[str]) -> None:
    given = {box: verify_answer(expected, rf"\boxed{{{box}}}", "What time is it?")[0] for box in [*right, *wrong]}
    assert [box for box, reward in given.items() if reward] == right


@pytest.mark.parametrize(
    ("question", "reward"), [("When does he come?", 1), ("", 1), ("How many hours does he work?", 0)]
)
def test_a_whole_hour_is_no_plain_number_where_no_time_is_asked_for(question: str, reward: int) -> None:
    assert verify_answer("7", r"\boxed{7\text{ o'clock}}", question)[0] == reward


@pytest.mark.parametrize(
    ("answer", "reward"),
    [
        ("n is not prime, so I conclude that the answer is no.", 1),
        ("It cannot be divided, so I would say the answer is no.", 1),
        ("That is not possible, and we can say that the answer is no.", 1),
        ("It is not true that the answer is no.", 0),
        ("Nobody could say that the answer is no.", 0),
    ],
)
def test_a_denial_before_announced_words_has_to_govern_them(answer: str, reward: int) -> None:
    assert verify_answer("no", answer, "Is n prime?")[0] == reward


@pytest.mark.parametrize(
    "reason",
    [
        "4 is not prime, so I say",
        "4 is not prime, which means",
        "4 isn't prime, meaning",
        "Since 4 is not prime, it follows",
        "As 4 is not a prime number, one can say",
        "4 is not prime and it follows",
        "4 is not prime, as it has three divisors, which means",
        "It cannot be prime, and we see",
        "The theorem says",
        "Step 3 says",
        "The model says",
        "AM-GM says",
        "Because 4 is not prime we conclude",
        "Since 4 is not prime we can say",
        "It is not prime - we conclude",
        "There is no doubt",
        "Nobody doubts",
        "I do not doubt",
        "Since 4 is not prime this means",
        "Since 4 isn't prime I think we can say",
    ],
)
def test_a_denial_in_the_reason_before_an_answer_does_not_govern_it(reason: str) -> None:
    assert verify_answer("no", f"{reason} that the answer is no.", "Is 4 prime?")[0] == 1


@pytest.mark.parametrize(
    "denial",
    [
        "It is not, in my view, true",
        "It is not the case, however,",
        "I cannot, in good faith, say",
        "It is not so",
        "It is not so clear",
        "I am not so sure as to say",
        "I could not therefore say",
        "Bob says",
        "My brother says",
        "I do not, for one, believe",
        "It is not, as some say, true",
        "This does not, by itself, show",
        "I cannot see how it follows",
        "It is not correct, therefore, to say",
        "It is by no means clear",
        "I doubt",
        "I don't think we can say",
        "I do not believe one can conclude",
        "I am not sure we can say",
        "I do not think it means",
        "Nothing shows",
        "Another model says",
        "The book says",
        "ChatGPT says",
        "GPT-4 says",
        "My calculator says",
        "My friend said",
    ],
)
def test_a_denial_that_governs_an_answer_and_that_of_another_are_none(denial: str) -> None:
    assert verify_answer("no", f"{denial} that the answer is no.", "Is 4 prime?")[0] == 0
