"""Checks which letter at the end of an expression is a variable, and which is a unit."""

from __future__ import annotations

from time import process_time

import pytest
from processor import slowness

from ray_gym.envs.math.last_letter import ends_in_variable
from ray_gym.envs.math.verification import verify_answer


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        (r"\pi r^2h", r"\boxed{\pi r^2}"),
        (r"2\pi r h", r"\boxed{2\pi r}"),
        (r"\omega t", r"\boxed{\omega}"),
        ("v_0t", r"\boxed{v_0}"),
        (r"\rho g h", r"\boxed{\rho g}"),
        (r"\frac{n}{2} d", r"\boxed{\frac{n}{2}}"),
        (r"\sqrt{3}s", r"\boxed{\sqrt3}"),
        (r"\pi r l", r"\boxed{\pi r}"),
        (r"A=\pi d", r"\boxed{\pi}"),
        (r"\pi r^2", r"\boxed{\pi r^2h}"),
        (r"\omega", r"\boxed{\omega t}"),
        ("2t", r"\boxed{3t}"),
    ],
)
def test_a_value_without_its_last_variable_is_wrong(expected: str, answer: str) -> None:
    assert verify_answer(expected, answer)[0] == 0.0


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        (r"\pi r^2h", r"\boxed{h\pi r^2}"),
        (r"2\pi r h", r"\boxed{2\pi rh}"),
        (r"\rho g h", r"\boxed{\rho gh}"),
        (r"\sin t", r"\boxed{\sin(t)}"),
        (r"\frac{\sqrt{3}}{4} s", r"\boxed{\frac{s\sqrt3}{4}}"),
        ("5", r"\boxed{5m}"),
        ("5", r"\boxed{5 cm}"),
        ("5", r"\boxed{x = 5 m}"),
        (r"10\pi", r"\boxed{10\pi m}"),
        (r"\sqrt{3}", r"\boxed{\sqrt{3} m}"),
        (r"\frac{1}{2}", r"\boxed{\frac{1}{2} ft}"),
        (r"\frac{1}{2}", r"\boxed{\frac12 h}"),
        ("12", r"\boxed{12th}"),
        ("mgh", r"\boxed{mgh}"),
        (r"12\pi \text{ cm}", r"\boxed{12\pi cm}"),
        (r"\frac{1}{2}gt^2", r"\boxed{\frac{gt^2}{2}}"),
        ("10^3", r"\boxed{10^3 m}"),
        ("x^2", r"\boxed{x^2}"),
        (r"ut+\frac{1}{2}at^2", r"\boxed{ut+\frac12 at^2}"),
        ("2a", r"\boxed{2a}"),
        (r"\frac{d}{t}", r"\boxed{d/t}"),
        (r"\log t", r"\boxed{\log(t)}"),
    ],
)
def test_variables_are_read_and_units_left_out(expected: str, answer: str) -> None:
    assert verify_answer(expected, answer)[0] == 1.0


@pytest.mark.parametrize(
    ("expected", "answer", "reward"),
    [
        ("3", r"\boxed{3rd}", 1),
        ("2", r"\boxed{2nd}", 1),
        ("23", r"\boxed{23rd}", 1),
        ("3rd", r"\boxed{3}", 1),
        ("22", r"\boxed{22nd}", 1),
        ("2", r"\boxed{12nd}", 0),
        ("2nd", r"\boxed{2}", 0),
        ("3", r"\boxed{13rd}", 0),
    ],
)
def test_an_ordinal_number_ends_in_no_variable(expected: str, answer: str, reward: float) -> None:
    assert verify_answer(expected, answer)[0] == reward


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        (r"\sqrt{2}", r"\boxed{h \approx \sqrt{2} m}"),
        (r"\sqrt{2}", r"\boxed{h ≈ \sqrt{2} m}"),
        (r"\frac{1}{2}", r"\boxed{t \simeq \frac{1}{2} h}"),
        (r"\sqrt{2}", r"\boxed{h = \sqrt{2} m}"),
    ],
)
def test_a_name_before_a_sign_of_equality_makes_no_variable_of_a_unit(expected: str, answer: str) -> None:
    assert verify_answer(expected, answer)[0] == 1.0
    assert verify_answer(rf"{expected} h", answer)[0] == 0.0


ON_A_TRACK = "A circular track has a radius of 5 m. How long is it?"
IN_TIME = "A car moves at 2 m/s. Where is it at the time $t$? The way $d$ is in m."


@pytest.mark.parametrize(
    ("expected", "answer", "question"),
    [
        (r"10\pi m", r"10\pi \text{ m}", ""),
        (r"10\pi m", r"10\pi\text{ meters}", ""),
        (r"5\sqrt{2} m", r"5\sqrt2 \text{ m}", ""),
        (r"10\pi m", r"10\pi", ON_A_TRACK),
        (r"5\sqrt{2} m", r"5\sqrt{2} m", ON_A_TRACK),
        ("5m", "5", ON_A_TRACK),
        ("3h", r"3 \text{ hours}", "How long does it take at $h$ = 4 km?"),
        ("3h", "3", "A car drives 180 km at 60 km/h. How long does it take?"),
        ("2 d", r"2 \text{ days}", "It takes d days. How long is it?"),
        ("4 m", r"4\text{ m}", "A river is $m$ meters wide. What is $m$?"),
        ("2t", r"t \cdot 2", IN_TIME),
        ("x = 3t", "3t", IN_TIME),
        ("2 t", "2t", IN_TIME),
    ],
)
def test_a_last_letter_is_the_unit_or_the_variable_of_the_question(expected: str, answer: str, question: str) -> None:
    assert verify_answer(expected, rf"\boxed{{{answer}}}", question)[0] == 1.0


@pytest.mark.parametrize(
    ("expected", "answer", "question"),
    [
        (r"10\pi m", r"10\pi \text{ cm}", ON_A_TRACK),
        (r"10\pi m", r"12\pi", ON_A_TRACK),
        (r"\pi d", r"\pi", IN_TIME),
        ("2t", "2", IN_TIME),
        ("2t", "2s", IN_TIME),
        ("2t", r"2 \text{ t}", IN_TIME),
        ("x = 3t", "x = 3", IN_TIME),
        ("5d", r"5 \text{ m}", IN_TIME),
    ],
)
def test_a_value_without_the_variable_of_the_question_is_wrong(expected: str, answer: str, question: str) -> None:
    assert verify_answer(expected, rf"\boxed{{{answer}}}", question)[0] == 0.0


ON_A_ROAD = "A car drives 180 km at 60 km/h. How long does it take?"


@pytest.mark.parametrize(
    ("expected", "answer", "question"),
    [
        *(
            ("3h", f"3{end}", ON_A_ROAD)
            for end in (r" \text{ minutes}", r"\text{ days}", r" \text{ m}", " minutes", "t", "m")
        ),
        ("5m", r"5 \text{ km}", ""),
        ("5m", "5 km", ""),
        ("7g", "7 kg", ""),
        ("2m", "2s", ""),
    ],
)
def test_another_unit_than_the_letter_is_wrong(expected: str, answer: str, question: str) -> None:
    assert verify_answer(expected, rf"\boxed{{{answer}}}", question)[0] == 0.0


@pytest.mark.parametrize(
    ("expected", "answers", "question"),
    [
        ("3h", ["3", "3h", "3 h", "3 hours", r"3 \text{ hours}", r"3 \text{ h}"], ON_A_ROAD),
        ("4s", ["4", "4s", "4 seconds"], "It moves 20 m at $5$ m/s. How long does it take?"),
        ("5m", ["5", "5m", "5 meters", r"5 \text{ m}"], ""),
    ],
)
def test_the_same_unit_or_none_is_right_for_a_letter(expected: str, answers: list[str], question: str) -> None:
    for answer in answers:
        assert verify_answer(expected, rf"\boxed{{{answer}}}", question)[0] == 1.0


@pytest.mark.parametrize(
    ("expected", "question"),
    [
        ("4t", "The speed is $v = d/t$; find the distance as a function of time."),
        ("4t", "For all times, v = d/t. Express d."),
        ("4h", "The area is $b/h$. Express the base."),
        ("4h", "The area is b/h. Express the base."),
        ("4s", "The ratio is $m/s$. Express m."),
    ],
)
def test_a_quotient_of_variables_names_them(expected: str, question: str) -> None:
    assert verify_answer(expected, rf"\boxed{{{expected}}}", question)[0] == 1.0
    assert verify_answer(expected, r"\boxed{4}", question)[0] == 0.0


@pytest.mark.parametrize("text", ["a", "a ", "a_{", "a_{b}", r"\pi", r"\cdot ", "{", "a^2"])
def test_a_last_letter_is_looked_at_in_linear_time(text: str) -> None:
    started = process_time()
    ends_in_variable(text * 10_000 + "t")
    assert process_time() - started < slowness()
