"""Spellings of mathematical answers: mixed numbers, signs of equality, units and fonts."""

from __future__ import annotations

import time

import pytest
from processor import slowness

from ray_gym.envs.math.mixed import without_mixed_numbers
from ray_gym.envs.math.units import split_quantity, with_slashes
from ray_gym.envs.math.verification import verify_answer


@pytest.mark.parametrize(
    ("expected", "right", "wrong"),
    [
        (
            "2.5",
            ["2 1/2", "2\\frac{1}{2}", "2 \\frac12", "2\\,\\tfrac12", "2{\\frac12}", "2½", "x = 2 1/2", "2 1/2 cm"],
            [],
        ),
        ("2.5", [], ["2\\cdot\\frac12", "2 \\times 1/2", "2(1/2)", "2\\left(\\frac12\\right)", "2, 1/2", "x^2 1/2"]),
        ("2 1/2", ["2.5", "\\frac{5}{2}", "5/2"], ["1", "10.5", "21/2"]),
        ("-2.5", ["-2 1/2", "-2\\frac{1}{2}"], ["2 1/2"]),
        ("1", [], ["2 1/2", "2 \\frac12"]),
        ("1234.5", ["1,234 1/2", "1\\,234 \\frac12"], []),
        ("(2.5, 3)", ["(2 1/2, 3)"], []),
        ("\\frac{5}{2}\\pi", ["2\\frac12\\pi", "2 1/2 \\pi"], ["\\pi"]),
        ("\\frac{5x}{2}", ["2\\frac{1}{2}x"], ["2 \\cdot \\frac12 x"]),
        ("x", [], ["2\\frac12 x"]),
        ("\\frac{x}{2}", ["x\\frac12", "x 1/2"], []),
        ("2.5\\%", ["2\\frac12\\%"], []),
    ],
)
def test_a_whole_number_before_a_fraction_is_a_mixed_number(expected: str, right: list[str], wrong: list[str]) -> None:
    for answer in right + wrong:
        assert verify_answer(expected, f"\\boxed{{{answer}}}")[0] == (answer in right), answer


@pytest.mark.parametrize(("answer", "value"), [("It is 2 1/2.", 1), ("So $2 1/2$", 1), ("It is 2(1/2).", 0)])
def test_a_mixed_number_needs_no_box(answer: str, value: float) -> None:
    assert verify_answer("2.5", answer)[0] == value


@pytest.mark.parametrize(
    ("expected", "right", "wrong"),
    [
        (
            "12",
            [
                "\\text{exactly }12",
                "= 12",
                ":= 12",
                "\\approx 12",
                "≈ 12",
                "\\simeq 12.0",
                "about 12",
                "\\text{approximately }12",
            ],
            [],
        ),
        ("12", ["x \\approx 12", "= \\approx 12", "\\approx 12 \\text{ cm}"], ["\\approx 12.1", "\\not\\approx 12"]),
        ("12", [], ["\\le 12", "\\geq 12", "< 52", "> 12", "\\neq 12", "\\not= 12", "≠ 12", "\\lesssim 12"]),
        ("\\approx 3.14", ["3.14", "\\approx 3.14"], ["\\pi"]),
        ("\\pi", ["\\pi \\approx 3.14"], ["\\approx 3.14", "3.14"]),
        ("\\le 12", ["\\le 12"], ["12"]),
    ],
)
def test_a_sign_of_equality_before_a_value_does_not_count(expected: str, right: list[str], wrong: list[str]) -> None:
    for answer in right + wrong:
        assert verify_answer(expected, f"\\boxed{{{answer}}}")[0] == (answer in right), answer


@pytest.mark.parametrize(
    ("expected", "right", "wrong"),
    [
        ("5", ["5\\,\\frac{\\text{m}}{\\text{s}}", "5 \\frac{m}{s}", "5\\frac{\\mathrm{km}}{\\mathrm{h}^2}"], []),
        (
            "5",
            ["5\\,\\mathrm{\\frac{m}{s}}", "\\qty{5}{m/s}"],
            ["5\\frac{x}{y}", "5 \\frac{m}{2}", "6\\frac{\\text{m}}{\\text{s}}"],
        ),
        ("5 m/s", ["5\\,\\frac{\\text{m}}{\\text{s}}", "5 \\text{ m/s}", "5 \\text{m}\\cdot\\text{s}^{-1}"], []),
        (
            "5 m/s",
            ["5 m s^{-1}", "\\qty{5}{m/s}"],
            ["5 km/h", "5\\,\\frac{\\text{s}}{\\text{m}}", "5\\frac{\\text{m}}{\\text{s}^2}"],
        ),
        ("5\\,\\frac{\\text{m}}{\\text{s}}", ["5 m/s", "5", "5.0\\text{ m/s}"], ["5 s/m", "6 m/s", "5 \\text{ m}"]),
        ("5 kg m/s^2", ["5\\,\\frac{\\text{kg}\\cdot\\text{m}}{\\text{s}^2}"], []),
        ("2\\sqrt{3}\\text{ m/s}", ["\\sqrt{12}\\,\\frac{\\text{m}}{\\text{s}}"], []),
        ("5 \\text{ cm}", ["5 \\text{ centimeters}", "0.5 \\cdot 10^1 \\text{ cm}"], ["5 \\text{ km}", "5 km"]),
        (
            "12",
            ["\\mathbf{12}\\text{ cm}", "\\mathbf{12\\text{ cm}}", "\\mathbf{12}\\,\\mathrm{cm}"],
            ["\\mathbf{-12}"],
        ),
        ("12 cm", ["\\mathbf{12}\\text{ cm}", "\\textbf{12} cm"], ["\\mathbf{12}\\text{ km}"]),
        ("-12", ["\\mathbf{-12}\\text{ cm}", "-\\mathbf{12}\\text{ cm}", "\\mathrm{-12}", "\\mathbf{x = -12}"], []),
        ("\\frac12", ["\\mathbf{\\frac{1}{2}}\\text{ cm}"], []),
        ("v", ["\\mathbf{v}"], []),
    ],
)
def test_units_and_fonts_of_numbers(expected: str, right: list[str], wrong: list[str]) -> None:
    for answer in right + wrong:
        assert verify_answer(expected, f"\\boxed{{{answer}}}")[0] == (answer in right), answer


@pytest.mark.parametrize(
    "part", ["1 ", "1", "2 1/2 ", "\\frac{1}", "\\text{m}", "5 \\text{m} ", "m s ", "1/", "(", " "]
)
def test_no_text_takes_long_to_rewrite(part: str) -> None:
    began = time.process_time()
    for text in (part * 2000, f"5 {part * 2000}", f"5 {part * 2000}!"):
        without_mixed_numbers(text), with_slashes(text), split_quantity(text)
    assert time.process_time() - began < slowness()


@pytest.mark.parametrize(
    "words",
    [
        "\\text{ is wrong}", "\\text{ not}", "\\text{ hundredths}", "\\text{ squared}", " factorial",
        "\\text{ degrees below zero}", " negative", " lakh", " gross", " per mille", "\\text{ basis points}", " dozen",
        "\\text{ m below}", "\\text{ crore}", "\\mathrm{not}", "\\text{ m}\\text{ too few}",
    ],
)  # fmt: skip
@pytest.mark.parametrize("question", ["", "How many not squared factorial numbers are wrong?"])
def test_words_behind_a_number_that_are_no_unit_make_it_another_answer(words: str, question: str) -> None:
    assert verify_answer("5", f"\\boxed{{5{words}}}", question)[0] == 0


@pytest.mark.parametrize(
    ("words", "question"),
    [
        ("\\text{ degrees Celsius}", ""), ("\\text{ m}^2", ""), (" square feet", ""), ("\\text{ meters per second}", ""),
        ("\\text{ cm squared}", ""), (" km/h", ""), (" dollars", ""), ("\\text{ ways}", ""), ("^{\\circ}\\text{C}", ""),
        ("\\text{ m s}^{-1}", ""), (" kilograms", ""), ("\\text{ sq. ft}", ""), ("\\,\\mathrm{kWh}", ""),
        (" apples", "How many apples are left?"), ("\\text{ red apples}", "How many red apples are left?"),
        ("\\text{ marbles}", "Find the number of marbles."),
    ],
)  # fmt: skip
def test_units_and_what_the_question_counts_are_no_other_answer(words: str, question: str) -> None:
    assert verify_answer("5", f"\\boxed{{5{words}}}", question)[0] == 1


def test_the_expected_answers_own_words_may_stand_behind_its_number() -> None:
    assert verify_answer("5 apples", "\\boxed{5\\text{ apples}}")[0] == 1
    assert verify_answer("5", "\\boxed{5\\text{ apples}}")[0] == 0, "nothing says that apples are counted"
    assert (
        verify_answer("\\{1, 2\\}", "\\boxed{1 \\text{ and } 2}")[0] == verify_answer("\\{1, 2\\}", "\\boxed{1, 2}")[0]
    )


@pytest.mark.parametrize(
    ("expected", "right", "wrong"),
    [
        (
            r"\frac{1}{2}",
            [r"\nicefrac{1}{2}", r"\sfrac{1}{2}", "^1/_2", r"{}^{1}\!/_{2}", r"x = \xfrac{1}{2}", r"\textstyle\nicefrac{1}{2}"],
            [r"\nicefrac{2}{1}", "^1/_3", "x^1/_2"],
        ),
        ("2.5", [r"2\nicefrac{1}{2}", "2 ^1/_2"], []),
        (
            "12",
            [r"12 \checkmark", "12 ✓", r"12\,✅", "12. ✔", r"12 \blacksquare", r"12\text{ cm} \checkmark"],
            [r"13 \checkmark", "12 ✗", "12 or 13 ✓"],
        ),
        (
            "12",
            [r"\text{The answer is }12", r"\text{So the final answer is: } 12", r"\mathrm{Answer: }12", r"\textbf{It equals }12"],
            [r"\text{The answer is }13", r"\text{The answer is not }12", r"\text{The wrong answer is }12", r"\text{at least } 12"],
        ),
        (
            "5",
            ["USD 5", "5 USD", r"\$5", "USD5", r"\text{USD }5", r"US\$5", r"5\,USD", "EUR 5.00", "GBP 5"],
            ["USD 6", "5 USD or 6 USD", "USD 5 or USD 6"],
        ),
        (r"\$5", ["USD 5", "5 USD", r"\text{USD}\,5"], ["EUR 5", "5 GBP", "USD 50"]),
        ("USD 1,500", ["1500", r"\$1,500"], ["EUR 1,500"]),
        ("5", ["5 CHF", "CHF 5", r"5\text{ SEK}", r"\text{NOK }5", r"5\,BRL", "TRY 5"], ["6 CHF", "5 CHF or 6 CHF"]),
        ("5 CHF", ["CHF 5", "5", "CHF5", "5 francs"], ["5 USD", "EUR 5", "6 CHF", "5 SEK"]),
        ("500 KRW", ["\u20a9500", "KRW 500"], ["JPY 500"]),
    ],
)  # fmt: skip
def test_fractions_ticks_and_money_are_read_in_a_box_and_without(
    expected: str, right: list[str], wrong: list[str]
) -> None:
    for said in right + wrong:
        for answer in (f"\\boxed{{{said}}}", f"Answer: {said}", f"The answer is ${said}$."):
            assert verify_answer(expected, answer)[0] == (said in right), answer


@pytest.mark.parametrize(
    ("expected", "right", "wrong"),
    [
        (
            r"\frac{1}{2}",
            [r"\bf \frac12", r"\Rightarrow x=\frac12", r"\implies \frac12", r"\Pr(A)=\frac12"],
            [r"\bf \frac13", r"\implies \frac13"],
        ),
        (r"\lg 2", [r"\log_{10} 2"], [r"\log_{10} 3", r"\ln 2"]),
        ("3", [r"\text{The answer is 3}", r"\text{The final answer is: 3.}"], [r"\text{The answer is not 3}"]),
    ],
)
def test_words_signs_and_switches_before_a_value(expected: str, right: list[str], wrong: list[str]) -> None:
    for answer in right + wrong:
        assert verify_answer(expected, f"\\boxed{{{answer}}}")[0] == (answer in right), answer
