"""Mathematical answers: what the library finds equal, and what it doesn't."""

from __future__ import annotations

import random
import re

import pytest

from ray_gym.envs.math.generator import FAMILIES
from ray_gym.envs.math.verification import verify_answer

SET = "\\left\\{-3, \\frac{1}{2}\\right\\}"
UNION = "(-\\infty, -3) \\cup (5, \\infty)"


@pytest.mark.parametrize(
    ("expected", "answers"),
    [
        ("\\frac{1}{2}", ["0.5", "1/2", "The answer is 1/2.", "So $\\frac12$", "$$x = \\frac{1}{2}$$", "\\(0.5\\)"]),
        (
            "\\frac{1}{2}",
            ["\\boxed{\\dfrac{1}{2}}", "\\boxed{2/4}", "\\boxed{.5}", "\\boxed{x = 0.5}", "\\boxed{50\\%}"],
        ),
        ("$\\frac{1}{2}$", ["\\boxed{0.5 \\text{ cm}}", "\\boxed{1} no: \\boxed{\\frac12}", "\\boxed{$\\frac{1}{2}$}"]),
        (SET, ["\\boxed{\\{0.5, -3\\}}", "\\boxed{\\frac12, -3}", "\\boxed{x = -3 \\text{ or } x = \\frac12}"]),
        (SET, ["Either $x=-3$ or $x=\\frac{1}{2}$", "\\boxed{x_1=-3, x_2=0.5}"]),
        ("(5, 3)", ["\\boxed{(5,3)}", "\\boxed{x=5, y=3}", "\\boxed{\\left(5, 3\\right)}"]),
        ("[-3, 5]", ["\\boxed{-3 \\le x \\le 5}", "\\boxed{x \\in [-3, 5]}", "\\boxed{[-3,5]}"]),
        (UNION, ["\\boxed{(5,\\infty) \\cup (-\\infty,-3)}"]),
        ("12\\pi", ["\\boxed{12 \\cdot \\pi}", "$12\\pi$", "\\boxed{\\frac{24\\pi}{2}}"]),
        ("2\\sqrt{3}", ["\\boxed{\\sqrt{12}}", "\\boxed{2\\sqrt3}"]),
        ("\\frac{3 + \\sqrt{5}}{2}", ["\\boxed{1.5 + \\frac{\\sqrt5}{2}}", "\\boxed{\\frac{\\sqrt{5}+3}{2}}"]),
        ("x^{2} - 5x + 6", ["\\boxed{6 - 5x + x^2}", "\\boxed{(x-2)(x-3)}", "\\boxed{p(x) = x^2-5x+6}"]),
        ("\\frac{3}{2}x - 4", ["\\boxed{y = 1.5x - 4}", "\\boxed{\\frac{3x-8}{2}}"]),
        ("25\\%", ["\\boxed{25\\%}", "\\boxed{25}", "25%", "\\boxed{0.25}", "25 percent"]),
        ("1234.5", ["1,234.5", "\\boxed{\\$1234.50}", "\\boxed{1.2345 \\times 10^3}", "\\boxed{1234\\frac{1}{2}}"]),
        ("even", ["\\boxed{Even}", " even "]),
        ("1000", ["\\boxed{1\\,000}", "\\boxed{1{,}000}", "\\boxed{1~000}", "\\boxed{1\\ 000}", "\\boxed{1,000}"]),
        ("1234567", ["\\boxed{1\\,234\\,567}", "\\boxed{1\\;234\\;567.}"]),
        ("12", ["\\boxed{12.}", "\\boxed{$12$.}", "\\boxed{12.0}", "\\boxed{\\ 12}"]),
        (
            "5",
            [
                "\\boxed{5~\\mathrm{cm}}",
                "\\boxed{5\\,\\text{cm}}",
                "\\boxed{5\\ \\mathrm{cm}.}",
                "\\boxed{5~\\textrm{cm}}",
            ],
        ),
        (
            "1000",
            [f"\\boxed{{1{gap}000}}" for gap in (" ", "\u00a0", "\u2009", "\u202f", "\\thinspace")]
            + ["It is $1\\,000$.", "The answer is 1\\,000", "It is $1{,}000$."],
        ),
        (
            "5",
            [
                "\\boxed{5~{\\rm cm}}",
                "\\boxed{5~\\rm{cm}}",
                "\\boxed{5\\,\\mathsf{cm}}",
                "\\boxed{5\\,\\operatorname{cm}}",
                "\\boxed{\\mathrm{5~cm}}",
                "\\boxed{5\\,\\Omega}",
                "\\boxed{5\\degree}",
                "\\boxed{5 °}",
                "\\boxed{5~\\AA}",
                "\\boxed{5\\ \\mathring{A}}",
                "\\boxed{5 Å}",
                "so $\\boxed 5$.",
                "\\boxed{5~k\\Omega}",
                "\\boxed{5 dollars}",
                "\\boxed{5 cubic metres}",
                "\\boxed{5\u00a0cm}",
                "The length is $5~\\mathrm{cm}$.",
            ],
        ),
        ("90", ["\\boxed{90°}", "\\boxed{90^\\circ}", "\\boxed{90 degrees}"]),
        ("12", ["\\boxed{12\\.}", "\\boxed{12。}", "\\boxed{\\text{12.}}", "\\boxed{\\mathrm{12}}"]),
        ("even", ["\\boxed{\\text{even}}", "\\boxed{\\mathrm{even}}", "\\boxed{\\text{Even}.}", "\\boxed{even.}"]),
        (
            "12",
            [
                "\\boxed{\\boldsymbol{12}}",
                "\\boxed{\\bm{12}}",
                "\\boxed{12\\,.}",
                "\\boxed{12 .}",
                "\\boxed{12\\ }",
                "\\boxed{12\\,€}",
                "\\boxed{€12}",
                "\\boxed{12\\,\\$}",
                "\\boxed{\\underline{12}}",
                "\\boxed{\\textcolor{red}{\\bm{12}}}",
                "\\boxed{{\\color{red}12}}",
                "\\boxed{12\\hspace{2pt}\\text{cm}}",
                "\\boxed{12\\\\}",
                "\\boxed{12;}",
                "\\boxed{\uff11\uff12}",
                "\\boxed{12\u200b}",
            ],
        ),
        ("5", ["\\boxed{\\SI{5}{cm}}", "\\boxed{\\qty{5}{\\centi\\metre}}", "\\boxed{5\\,\\unit{cm}}"]),
        ("1000", ["\\boxed{\\num{1000}}", "\\boxed{1_000}"]),
        ("12", ["\\boxed{\\mathtt{12}}"]),
        ("-12", ["\\boxed{\u201312}", "\\boxed{\u221212}"]),
        ("\\frac{1}{2}", ["\\boxed{½}", "The answer is $½$."]),
        ("5", ["\\boxed{5\\,{\\mathrm{cm}}}", "\\boxed{5\\ \\mu\\text{m}}", "\\boxed{5 \u00b5m}"]),
        (
            "1000",
            [
                "\\boxed{1\\quad000}",
                "\\boxed{1{\\,}000}",
                "\\boxed{1\\enspace 000}",
                "\\boxed{1,\\,000}",
                "\\boxed{1{,}000\\,.}",
                "\\boxed{1\\thickspace000}",
                "\\boxed{1\\mathord{,}000}",
            ],
        ),
        ("\\frac{1}{2}", ["\\boxed{\\bm{\\frac{1}{2}}}"]),
        ("(1, 234)", ["\\boxed{(1,\\,234)}", "\\boxed{(1,\\quad 234)}"]),
        ("2e", ["\\boxed{2\\mathrm{e}}", "\\boxed{2e}"]),
        ("3i", ["\\boxed{3\\mathrm{i}}", "\\boxed{3\\text{i}}"]),
        (
            "12",
            [
                "\\boxed{12 m^2}",
                "\\boxed{12\\,m^{2}}",
                "\\boxed{12 m\u00b2}",
                "\\boxed{12 km/h}",
                "\\boxed{12km/h}",
                "\\boxed{12 m/s^2}",
                "\\boxed{12 m s^{-1}}",
                "\\boxed{12 L}",
                "\\boxed{12 kWh}",
                "\\boxed{US\\$12}",
                "\\boxed{US$12}",
                "\\boxed{**12**}",
                "\\boxed{**12 cm**}",
                "\\boxed{`12`}",
            ],
        ),
        ("\\sqrt{2}", ["\\boxed{√2}", "\\boxed{√(2)}", "The answer is $√2$."]),
        ("2\\sqrt{3}", ["\\boxed{2√3}", "\\boxed{2·√3}"]),
        ("12\\pi", ["\\boxed{12 pi}", "\\boxed{12pi}", "\\boxed{12*pi}", "\\boxed{12 × π}"]),  # noqa: RUF001
        ("\\pi", ["\\boxed{pi}"]),
        ("x^2", ["\\boxed{x²}", "$x²$"]),
        ("x^{-10}", ["\\boxed{x⁻¹⁰}"]),
        ("\\infty", ["\\boxed{∞}"]),
        ("[3, \\infty)", ["\\boxed{[3, ∞)}"]),
        ("300000", ["\\boxed{3×10⁵}", "\\boxed{3 · 10^5}", "$3×10⁵$"]),  # noqa: RUF001
        ("1500000", ["\\boxed{1.5 million}", "\\boxed{\\$1.5 million}", "\\boxed{1.5\\text{ million}}"]),
        ("500", ["\\boxed{5 hundred}"]),
        ("25\\%", ["\\boxed{25 percent}", "\\boxed{25 per cent.}", "\\boxed{25\\text{ percent}}"]),
        ("101", ["\\boxed{101_{10}}"]),
        ("101_2", ["\\boxed{101_2}", "\\boxed{101_{2}}"]),
        ("5 \\text{ cm}", ["\\boxed{5~\\mathrm{cm}}", "\\boxed{5}"]),
    ],
)
async def test_right_answers_in_many_spellings(expected: str, answers: list[str]) -> None:
    for answer in answers:
        assert verify_answer(expected, answer)[0] == 1, (answer, verify_answer(expected, answer))


@pytest.mark.parametrize(
    ("expected", "answers"),
    [
        (
            "\\frac{1}{2}",
            ["", "\\boxed{}", "\\boxed{-0.5}", "\\boxed{2}", "\\boxed{0.49}", "\\boxed{1, 1/2}"],
        ),
        ("\\frac{1}{2}", ["\\boxed{0.5} or rather \\boxed{3}", "It is 1/2. No, it is 3.", "\\boxed{\\frac{1}{2}x}"]),
        ("\\frac{7}{12}", ["\\boxed{\\frac{3}{4} - \\frac{1}{6}}"]),
        ("1234", ["\\boxed{1,\\,234}", "\\boxed{1\\quad 234}", "\\boxed{1, 234}"]),
        ("12", ["\\boxed{12!}", "\\boxed{1\\quad 2}", "\\boxed{1€2}", "\\boxed{\\bm{1}, \\bm{2}}"]),
        ("5", ["\\boxed{5\\mu}", "\\boxed{5\u00b5}", "\\boxed{5{x}}", "\\boxed{5 \\text{ or } 6}"]),
        ("1000", ["\\boxed{1\\,00}", "\\boxed{1}", "\\boxed{1\\,0000}"]),
        ("2", ["\\boxed{2\\mathrm{e}}", "\\boxed{2\\mathrm{e}^{3}}", "\\boxed{2 million}", "\\boxed{2 thirds}"]),
        ("3", ["\\boxed{3\\mathrm{i}}", "\\boxed{3\\text{i}}", "\\boxed{3 and a half}", "\\boxed{3 or 4}"]),
        ("5", ["\\boxed{5 hundred}", "\\boxed{5 sixths}", "\\boxed{5\\pi}", "\\boxed{5 xy}"]),
        (
            "12",
            [
                "\\boxed{12 x^2}",
                "\\boxed{12 x}",
                "\\boxed{12m^2}",
                "\\boxed{12 m^9}",
                "\\boxed{12 km/x}",
                "\\boxed{12 pi}",
            ],
        ),
        (
            "12",
            [
                "\\boxed{12²}",
                "\\boxed{12 m + 1}",
                "\\boxed{-**12**}",
                "\\boxed{√12}",
                "\\boxed{12·m·x}",
                "\\boxed{12∞}",
            ],
        ),
        ("2", ["\\boxed{2\\text{ million}}", "\\boxed{2 million dollars}", "\\boxed{2 percent}", "\\boxed{2√2}"]),
        ("101", ["\\boxed{101_2}", "\\boxed{101_{3}}", "\\boxed{101_{\\text{two}}}", "$101_2$"]),
        ("101_2", ["\\boxed{101_3}", "\\boxed{110_2}"]),
        ("\\sqrt{2}", ["\\boxed{√3}", "\\boxed{√2x}"]),
        ("36", ["\\boxed{6²}", "\\boxed{9·4}", "\\boxed{0.15×240}"]),  # noqa: RUF001
        ("36", ["\\boxed{0.15 \\cdot 240}", "\\boxed{0.15*240}", "\\boxed{6^2}", "\\boxed{35 + 1}"]),
        ("25\\%", ["\\boxed{\\frac{1250-1000}{1000}}", "\\boxed{75}", "\\boxed{2.5\\%}"]),
        (SET, ["\\boxed{-3}", "\\boxed{\\{-3, 1/2, 3\\}}", "\\boxed{\\{3, 1/2\\}}"]),
        ("(5, 3)", ["\\boxed{(3, 5)}", "\\boxed{(7, 2)}", "\\boxed{3, 5}", "\\boxed{5}"]),
        ("(6, -7, 2)", ["\\boxed{(2, -7, 6)}", "\\boxed{(6, 7, 2)}"]),
        ("[-3, 5]", ["\\boxed{(-3, 5)}", "\\boxed{[-3, 5)}", "\\boxed{\\{-3, 5\\}}", "\\boxed{(-\\infty, 5]}"]),
        (UNION, ["\\boxed{(-\\infty,-3] \\cup [5,\\infty)}", "\\boxed{(-3, 5)}"]),
        ("12\\pi", ["\\boxed{12}", "\\boxed{37.7}", "\\boxed{12\\pi^2}"]),
        ("2\\sqrt{3}", ["\\boxed{3\\sqrt2}", "\\boxed{3.46}"]),
        ("\\frac{3 + \\sqrt{5}}{2}", ["\\boxed{\\frac{3 - \\sqrt{5}}{2}}", "\\boxed{\\frac{3 \\pm \\sqrt{5}}{2}}"]),
        ("x^{2} - 5x + 6", ["\\boxed{x^2 + 5x + 6}", "\\boxed{y^2 - 5y + 6}"]),
        ("even", ["\\boxed{neve}", "odd"]),
        ("1", ["\\boxed{" + "1" * 3000 + "}"]),
    ],
)
async def test_wrong_answers(expected: str, answers: list[str]) -> None:
    for answer in answers:
        assert verify_answer(expected, answer)[0] == 0, (answer, verify_answer(expected, answer))


@pytest.mark.parametrize(
    ("expected", "answers"),
    [
        ("36", ["36", "x = -(-36)", "35 + 1 = 36", "3.6 \\times 10^1", "3.6 \\cdot 10^{1}", "\\frac{72}{2}", "36.0"]),
        ("2^{10}", ["2^{10}", "1024", "2^5 \\cdot 2^5"]),
        ("5\\sqrt{13}", ["\\sqrt{325}", "c = 5 \\cdot \\sqrt{13}"]),
        ("\\frac{715}{4}\\pi", ["\\frac{715\\pi}{4}", "178.75\\pi", "178.75 \\cdot \\pi"]),
        ("2x + 1", ["1 + 2x", "f(x) = 2x + 1", "2(x - 1) + 3"]),
        ("y = 2x + 1", ["y = 2x + 1", "2x + 1"]),
        ("x \\ge 3", ["3 \\le x", "x \\ge 3"]),
        ("x^2 + y^2 = 4", ["x^2 + y^2 - 4 = 0"]),
        ("[3, \\infty)", ["x \\ge 3", "3 \\le x"]),
        ("\\{2, 3\\}", ["2, 3", "x \\in \\{3, 2.0\\}", "x = 2 \\text{ or } x = 3"]),
        ("\\ln 2", ["\\ln 2", "\\frac{\\ln 4}{2}"]),
        ("\\begin{pmatrix} 1 & 2 \\end{pmatrix}", ["\\begin{pmatrix} 1 & 2.0 \\end{pmatrix}"]),
    ],
)
async def test_what_is_worked_out_may_be_spelled_in_many_ways(expected: str, answers: list[str]) -> None:
    for answer in answers:
        assert verify_answer(expected, f"\\boxed{{{answer}}}")[0] == 1, answer


@pytest.mark.parametrize(
    ("expected", "answers"),
    [
        ("5", ["\\max(1, 5)", "\\sqrt{25}", "\\lfloor 5.5 \\rfloor", "\\binom{5}{1}", "|-5|", "\\gcd(5, 10)"]),
        ("5", ["\\log_2 32", "25^{0.5}", "\\sum_{i=2}^{3} i", "10 \\cdot \\frac{1}{2}", "\\sqrt{5}\\sqrt{5}"]),
        ("120", ["5!", "12 \\cdot 10^1 + 0"]),
        ("5\\sqrt{13}", ["\\sqrt{10^2 + 15^2}", "\\sqrt{100 + 225}", "2 \\cdot 2.5\\sqrt{13}"]),
        ("16\\pi", ["\\pi((5)^2-(3)^2)", "\\pi(25 - 9)", "25\\pi - 9\\pi", "\\pi \\cdot 4^2"]),
        ("12\\pi", ["\\frac{\\pi\\cdot 3^2\\cdot 4}{3}", "\\frac{1}{3} \\cdot 36\\pi"]),
        ("\\frac{3 + \\sqrt{5}}{2}", ["\\frac{3 + \\sqrt{3^2 - 4}}{2}", "\\frac{3 + \\sqrt{9 - 4}}{2}"]),
        ("x^{2} - 5x + 6", ["x^2 - (2 + 3)x + 2 \\cdot 3", "x^2 - 2x - 3x + 6"]),
        ("x + 1", ["\\frac{5-3}{4-2}(x - 2) + 3", "y = \\frac{3-5}{2-4}x + 1", "x - 2 + 3"]),
        ("(5, 6)", ["(2 + 3, 6)", "(5, 2 \\cdot 3)"]),
        ("\\{2, 3\\}", ["\\{1 + 1, 3\\}"]),
        ("\\begin{pmatrix} 3 & 2 \\end{pmatrix}", ["\\begin{pmatrix} 1 + 2 & 2 \\end{pmatrix}"]),
    ],
)
async def test_what_is_left_to_compute(expected: str, answers: list[str]) -> None:
    for answer in answers:
        assert verify_answer(expected, f"\\boxed{{{answer}}}")[0] == 0, answer


@pytest.mark.parametrize(
    ("expected", "answers"),
    [
        ("[2, 5]", ["x^2 - 7x + 10 \\le 0", "(x - 2)(x - 5) \\le 0", "|x - 3.5| \\le 1.5"]),
        ("(-\\infty, 2) \\cup (5, \\infty)", ["x^2 - 7x + 10 > 0"]),
        ("(-\\infty, 3]", ["x - 3 \\le 0", "2x \\le 6", "x + 1 \\le 4"]),
        ("x \\ge 3", ["2x \\ge 6"]),
        ("0", ["x^2 + 3x = 0", "2x = 0"]),
    ],
)
async def test_what_is_left_to_solve(expected: str, answers: list[str]) -> None:
    for answer in answers:
        assert verify_answer(expected, f"\\boxed{{{answer}}}")[0] == 0, answer


@pytest.mark.parametrize(
    ("expected", "answers"),
    [
        ("\\frac{1}{3}", ["0.333333", "0." + "3" * 30, "33.333333\\%"]),
        ("\\sqrt{2}", ["1.414214", "1.41421356237309504880168872"]),
        ("12\\pi", ["37.699112", "12.0000001\\pi"]),
        ("\\{\\frac{1}{3}, 2\\}", ["\\{0.333333, 2\\}"]),
        ("[0, \\sqrt{2}]", ["[0, 1.414214]", "0 \\le x \\le 1.414214"]),
    ],
)
async def test_a_rounded_value_is_not_the_exact_one(expected: str, answers: list[str]) -> None:
    for answer in answers:
        assert verify_answer(expected, f"\\boxed{{{answer}}}")[0] == 0, answer


async def test_a_set_is_no_tuple() -> None:
    for pair, same in (("(2, 3)", "\\{2, 3\\}"), ("(2, 3, 4)", "\\left\\{2, 3, 4\\right\\}")):
        assert verify_answer(pair, f"\\boxed{{{same}}}")[0] == 0
        assert verify_answer(same, f"\\boxed{{{pair}}}")[0] == 0


COPIES = {
    "bounded_inequality": "{0}",
    "unbounded_inequality": "{0}",
    "sum_of_fractions": "{0}",
    "product_of_fractions": "{0}",
    "linear_equation": "{0}",
    "quadratic_equation": "{0}",
    "larger_root": "{0}",
    "expansion": "{0}",
    "factorisation": "{0}",
    "polynomial_with_roots": "(-(({1}) + ({2})), ({1}) \\cdot ({2}))",
}
"""Answers by family that only copy a problem's formulas and work nothing out."""


@pytest.mark.parametrize("family", COPIES)
async def test_a_copy_of_the_question_is_no_answer(family: str) -> None:
    (draws,) = (one for one in FAMILIES if one.__name__ == family)
    for seed in range(2):
        problem = draws(random.Random(seed))
        copied = COPIES[family].format(*re.findall(r"\$(.*?)\$", problem.question))
        assert verify_answer(problem.answer, f"\\boxed{{{copied}}}")[0] == 0, problem


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("13=12", 0), ("x=13=12", 0), ("13 = x = 12", 0), ("\\frac{13}{1} = 12", 0), ("12\\cdot1", 0), ("1\\times12", 0),
        ("12 = 12", 1), ("x = 3\\cdot4 = 12", 1), ("\\sqrt{144} = 12", 1), ("\\frac{24}{2} = 12.0 = 12", 1),
        ("11.99 = 12", 1), ("11.9 = 12", 1), ("11.8 = 12", 0), ("1200\\text{ cm} = 12\\text{ m}", 0),
    ],
)  # fmt: skip
def test_the_end_of_a_false_equation_and_a_product_with_one_are_no_value(answer: str, value: float) -> None:
    assert verify_answer("12", f"\\boxed{{{answer}}}")[0] == value


@pytest.mark.parametrize(
    ("expected", "question", "value"),
    [
        ("12", "How many percent is it?", 1), ("12", "What percentage?", 1), ("12", "By how many % does it rise?", 1),
        ("12", "How many red marbles are there?", 0), ("0.12", "What is the share?", 1), ("12\\%", "How much is it?", 1),
    ],
)  # fmt: skip
def test_a_percentage_is_a_whole_number_only_where_the_question_asks_for_it(
    expected: str, question: str, value: float
) -> None:
    assert verify_answer(expected, "\\boxed{12\\%}", question)[0] == value


@pytest.mark.parametrize(
    ("words", "value"), [("blue marbles", 0), ("red marbles", 1), ("marbles", 1), ("marbles left", 1)]
)
def test_another_kind_of_what_is_counted_is_another_answer(words: str, value: float) -> None:
    question = "How many red marbles are left? There are 12 blue marbles."
    assert verify_answer("12", f"\\boxed{{12\\text{{ {words}}}}}", question)[0] == value
