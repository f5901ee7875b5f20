"""Checks spellings of numbers that models write as plain text: `3.2 x 10^5`, `10**5`, `x^-2`, `kg·m/s`, `negative one`."""

# ruff: noqa: RUF001

from __future__ import annotations

import pytest

from ray_gym.envs.math.verification import verify_answer


@pytest.mark.parametrize(
    ("expected", "answer"), [("\\emptyset", "no real roots"), ("\\text{no real solution}", "\\emptyset")]
)
def test_over_the_reals_no_real_solution_is_none(expected: str, answer: str) -> None:
    for question in ("Find all real numbers x.", "Solve over $\\mathbb{R}$."):
        for given in (f"\\boxed{{{answer}}}", f"The answer is {answer}."):
            assert verify_answer(expected, given, question)[0] == 1.0


def test_molar_is_a_unit_where_the_question_asks_for_it() -> None:
    for question, reward in (("What is the molarity?", 1.0), ("What is the concentration?", 1.0), ("How much?", 0.0)):
        assert verify_answer("0.5", "\\boxed{0.5\\text{ M}}", question)[0] == reward


@pytest.mark.parametrize(
    ("expected", "right", "wrong"),
    [
        ("320000", ["3.2 x 10^5", "3.2x10^{5}", "3.2X10^5", "3.2*10**5", "3.2·10**5"], ["3.2 x 10^4", "3.2*10**6"]),
        ("3.2\\times 10^5", ["3.2 x 10^5", "3.2e5"], ["3.2", "10^5"]),
        ("0.00032", ["3.2 \\times 10^-4", "3.2 x 10^-4", "3.2*10**-4"], ["3.2 x 10^4"]),
        ("x^{-2}", ["x^-2"], ["x^2", "x-2"]),
        ("0.05", [], ["10^-1.5"]),
        ("0.5", [], ["10^-0.5", "e^-0.5"]),
        ("10^{-3.5}", ["10^-3.5"], ["10^-3"]),
        ("e^{-x}", ["e^-x"], ["e^x"]),
        ("3x", ["3 x", "x3"], ["3 x 10^2"]),
        (
            "9.8",
            ["9.8\\text{ kg·m/s}", "9.8\\text{ Å}", "9.8\\,\\text{\\AA}", "9.8\\ \\mathrm{\\AA}"],
            ["9.9\\text{ Å}"],
        ),
        ("9.8\\text{ kg m/s}", ["9.8\\text{ kg·m/s}", "9.8\\text{ kg⋅m/s}"], ["9.8\\text{ kg·m}"]),
        ("90", ["90{}^\\circ", "90{}^{\\circ}"], ["91{}^\\circ"]),
        ("(-\\infty,2)\\cup(3,\\infty)", ["(-\\infty,2)\\bigcup(3,\\infty)"], ["(-\\infty,2)\\bigcap(3,\\infty)"]),
        ("-1", ["\\text{negative one}", "negative one", "minus one"], ["one", "\\text{negative two}"]),
        ("-21", ["\\text{minus twenty-one}"], ["\\text{twenty-one}"]),
        (
            "\\text{no solution}",
            ["\\text{No solutions}", "\\emptyset"],
            ["0", "\\text{one solution}", "no real solution", "\\text{There are no real roots}"],
        ),
        ("\\text{no real solutions}", ["\\text{There are no real roots}", "\\emptyset"], ["0"]),
        ("\\emptyset", ["\\text{no solution}"], ["\\{0\\}", "\\text{There are no real solutions}"]),
        ("2\\pi", ["2\\text{π}", "2\\text{ pi}"], ["3\\text{π}", "2"]),
        ("A", ["A)", "(A)"], ["B)"]),
        ("3.2\\times 10^5", ["3.2\\text{ x }10^5", "3.2\\ast 10^5", "3.2\\ast 10^{5}"], ["3.2\\text{ x }10^6"]),
        ("x^2+2x+1", ["x**2+2*x+1", "x**2 + 2x + 1", "x**(2)+2x+1"], ["x**3+2*x+1", "x*2+2*x+1"]),
        ("1024", ["2**10"], ["2**9", "2*10"]),
        ("36", [], ["6**2"]),
        ("\\sqrt{x}", ["x**(1/2)"], ["x**2"]),
        ("5 \\text{ cm}", ["5\\hbox{ cm}"], ["5\\hbox{ m}"]),
        ("3\\sqrt{3}", ["3\\surd 3", "3\\surd{3}"], ["3\\surd 2"]),
        ("\\frac12", ["1\\slash 2"], ["1\\slash 3"]),
        ("\\frac12", ["\\left.\\frac12\\right."], ["\\left.\\frac13\\right."]),
        ("12", ["x→12", "x \\to 12"], ["x→13"]),
        ("6-5i", ["6 - 5\\,i", "6 - 5 i", "-5i + 6"], ["6 + 5i", "6-5j"]),
        ("2i", ["2\\cdot i", "2*i"], ["2", "i^2"]),
        ("1+2\\sqrt{3}i", ["1+2i\\sqrt{3}", "1 + 2\\sqrt{3} i"], ["1-2i\\sqrt{3}"]),
        ("\\frac{3+4i}{5}", ["\\frac{3}{5}+\\frac{4}{5}i", "\\frac35+\\frac{4i}5"], ["\\frac{3}{5}-\\frac{4}{5}i"]),
        ("i", ["1i", "0+i"], ["1", "-i"]),
        ("-1", [], ["i^2"]),
        (
            "101_2",
            ["101_{\\text{two}}", "101_{two}", "(101)_2", "101_{(2)}", "101_{2}"],
            ["101_{three}", "(101)_3", "110_{two}"],
        ),
        ("1000", ["\\bf{1000}", "\\it{1000}"], ["\\bf{100}"]),
        ("90^\\circ", ["90^o", "90^{o}", "90^\\text{o}", "90º"], ["91^o"]),
        ("1:2", ["1\u22362"], ["1\u22363"]),
        ("2\\pi", ["2\U0001d70b"], ["3\U0001d70b"]),
        ("-3", ["{-}3", "{-} 3"], ["{+}3"]),
    ],
)
def test_in_a_box(expected: str, right: list[str], wrong: list[str]) -> None:
    for answer in right + wrong:
        assert verify_answer(expected, f"\\boxed{{{answer}}}")[0] == (answer in right), answer


@pytest.mark.parametrize(
    ("expected", "right", "wrong"),
    [
        ("320000", ["3.2 × 10^5", "3.2 x 10^5", "3.2e5", "3.2*10^5", "**3.2 x 10^5**"], ["3.2 x 10^6", "3.2e4", "2*5"]),
        ("0.00032", ["about 3.2 x 10^-4", "3.2E-4"], ["3.2E4", "3.2"]),
        ("3", [], ["3 x 10^5", "3e5"]),
        ("12i", ["12i", "+12i"], ["12", "-12i"]),
        ("3-2i", ["3 - 2i", "3-2i"], ["3", "-2i", "3 + 2i"]),
        ("i", ["i"], ["1", "-i"]),
        ("-1", ["negative one"], ["one"]),
        ("2^{-3}", ["2^-3", "$2^{-3}$"], ["2^-4"]),
        ("10^{-5}", ["10^-5"], ["10^-4"]),
        ("\\text{No solution}", ["\\text{No solution}", "no solution"], ["\\text{one solution}"]),
        ("\\text{There are no real roots}", ["\\text{There are no real roots}"], ["3"]),
    ],
)
def test_without_a_box(expected: str, right: list[str], wrong: list[str]) -> None:
    for answer in right + wrong:
        assert verify_answer(expected, f"The answer is {answer}.")[0] == (answer in right), answer


@pytest.mark.parametrize(
    ("expected", "right", "wrong"),
    [
        (
            "0.5",
            ["\\boxed{0.5\\%}", "The answer is 0.5%.", "\\boxed{.5\\%.}", "\\boxed{0.5\\text{ percent}}"],
            ["\\boxed{5\\%}"],
        ),
        (".5", ["\\boxed{0.5\\%}", "\\boxed{.5\\%}"], ["\\boxed{1.5\\%}"]),
        ("\\frac12", ["\\boxed{0.5\\%}", "\\boxed{0.5}"], ["\\boxed{0.05\\%}"]),
        ("0.5\\%", ["\\boxed{0.5}", "\\boxed{0.5\\%}", "The answer is 0.5."], ["\\boxed{0.6}"]),
        ("12.5", ["\\boxed{12.5\\%}", "The answer is 12.5%"], ["\\boxed{13\\%}"]),
        ("25\\%", ["\\boxed{25}", "\\boxed{25\\%}"], ["\\boxed{2.5}"]),
    ],
)
def test_percentages_where_the_question_asks_for_percent(expected: str, right: list[str], wrong: list[str]) -> None:
    for answer in right + wrong:
        assert verify_answer(expected, answer, "What percent of 200 is 1?")[0] == (answer in right), answer


def test_half_a_percent_is_no_half_elsewhere() -> None:
    assert verify_answer("0.5", "\\boxed{0.5\\%}", "What is the probability?")[0] == 0


@pytest.mark.parametrize(
    ("expected", "right", "wrong"),
    [
        ("10:30", ["10:30"], ["10:31"]),
        ("1:2", ["1 : 2"], ["1 : 3"]),
        ("1,2,3", ["1, 2, 3"], ["1, 2, 4"]),
        ("(3,4)", ["(3, 4)"], ["(4, 3)"]),
        ("14", ["x = 14", "14."], ["x = 15"]),
        ("x>3", ["x > 3"], ["x < 3"]),
        ("3\\sqrt{2}", ["3√2"], ["2√3"]),
        ("\\infty", ["∞"], ["1"]),
        ("-5", ["−5 °C"], ["5 °C"]),
        ("\\text{Team 5}", ["Team 5"], ["5", "Team 6"]),
        ("\\text{June 20}", ["June 20"], ["20"]),
    ],
)
def test_a_box_that_is_all_text(expected: str, right: list[str], wrong: list[str]) -> None:
    for answer in right + wrong:
        assert verify_answer(expected, f"\\boxed{{\\text{{{answer}}}}}")[0] == (answer in right), answer


@pytest.mark.parametrize(
    ("expected", "right", "wrong"),
    [
        (
            "7",
            ["\\text{seven (7)}", "\\text{Seven } (7)", "seven (7)", "7\\text{ (seven)}"],
            ["\\text{seven (8)}", "\\text{six (7)}"],
        ),
        ("25", ["\\text{twenty-five (25)}"], ["\\text{twenty-five (52)}"]),
        (
            "0.5 M",
            ["0.5\\text{ M}", "0.5\\,\\mathrm{M}", "0.5 M"],
            ["0.6\\text{ M}", "0.5\\text{ mM}", "0.5\\text{ m}"],
        ),
        ("0.5\\text{ M}", ["0.5 M"], ["0.6 M"]),
        (
            "5 m/s",
            ["5\\,\\mathrm{m\\cdot s^{-1}}", "5\\ \\text{m$\\cdot$s}^{-1}"],
            ["5\\,\\mathrm{m\\cdot s}", "6\\,\\mathrm{m\\cdot s^{-1}}"],
        ),
        ("9.8\\text{ m/s}^2", ["9.8\\,\\mathrm{m\\cdot s^{-2}}"], ["9.8\\,\\mathrm{m\\cdot s^{-1}}"]),
        ("5\\text{ N m}", ["5\\,\\mathrm{N\\cdot m}"], ["5\\,\\mathrm{N\\cdot s}"]),
        ("5 \\mu m", ["5\\ \\mathrm{\\mu m}", "5\\,\\mu\\text{m}"], ["5\\ \\mathrm{m}", "5\\ \\mathrm{\\mu s}"]),
        (
            "8.31 \\text{ J/(mol K)}",
            [
                "8.31\\,\\mathrm{J\\cdot mol^{-1}\\cdot K^{-1}}",
                "8.31\\text{ J/mol/K}",
                "8.31\\ \\text{J/(mol$\\cdot$K)}",
            ],
            ["8.31\\text{ J/mol}", "8.31\\,\\mathrm{J\\cdot mol\\cdot K^{-1}}"],
        ),
    ],
)
def test_numbers_with_words_and_units_are_read_in_other_spellings(
    expected: str, right: list[str], wrong: list[str]
) -> None:
    given = {box: verify_answer(expected, f"\\boxed{{{box}}}")[0] for box in [*right, *wrong]}
    assert [box for box, reward in given.items() if reward] == right


@pytest.mark.parametrize(
    ("expected", "answer"), [("0.5 M", "0.5"), ("0.5 M", "0.5\\text{ mol/L}"), ("0.5 mol/L", "0.5\\text{ M}")]
)
def test_molar_is_mol_per_litre_where_the_question_asks_for_it(expected: str, answer: str) -> None:
    assert verify_answer(expected, f"\\boxed{{{answer}}}", "What is the molarity?")[0] == 1.0
    assert verify_answer(expected, f"\\boxed{{{answer}}}", "How long is it?")[0] == 0.0


@pytest.mark.parametrize(
    ("expected", "right", "wrong"),
    [
        (
            "\\frac{1}{2}",
            ["one half", "one-half", "a half", "half", "**one half**"],
            ["one third", "two and one half", "not one half"],
        ),
        ("\\frac{2}{3}", ["two thirds"], ["two", "more than two thirds", "a third", "two thirds or one half"]),
        ("-\\frac{1}{2}", ["negative one half", "minus one half"], ["one half"]),
        ("2.5", ["two and a half", "two and one half"], ["two", "one half", "two or one half"]),
        ("3", [], ["third", "one third"]),
    ],
)
def test_a_fraction_in_words_is_read_at_the_end_of_an_answer(expected: str, right: list[str], wrong: list[str]) -> None:
    for before in ("Answer: ", "The answer is ", "Therefore, it is "):
        given = {said: verify_answer(expected, f"{before}{said}.")[0] for said in [*right, *wrong]}
        assert [said for said, reward in given.items() if reward] == right


@pytest.mark.parametrize(
    ("expected", "right", "wrong"),
    [
        ("1.8\\times 10^{-5}", ["1.8\\times 10^{-5}\\text{ M}"], ["1.8\\times 10^{-4}\\text{ M}"]),
        ("0.5", ["c = 0.5\\text{ M}", "[\\text{H}^+] = 0.5\\text{ M}"], ["0.5\\text{ mM}", "0.6\\text{ M}"]),
        ("10^{-7}", ["10^{-7}\\text{ M}"], ["10^{-6}\\text{ M}"]),
        ("5\\times 10^{-3}\\text{ mol/L}", ["5\\times 10^{-3}\\text{ M}"], ["5\\times 10^{-3}\\text{ mol}"]),
        ("5\\text{ mM}", ["5\\text{ mM}"], ["5\\text{ M}"]),
        ("0.5\\text{ mol dm}^{-3}", ["0.5\\text{ M}", "0.5\\text{ mol/dm}^3"], ["0.6\\text{ M}"]),
    ],
)
def test_molar_is_read_behind_any_value(expected: str, right: list[str], wrong: list[str]) -> None:
    question = "What is the concentration?"
    given = {box: verify_answer(expected, f"\\boxed{{{box}}}", question)[0] for box in [*right, *wrong]}
    assert [box for box, reward in given.items() if reward] == right
    assert all(verify_answer(expected, f"The answer is ${box}$.", question)[0] for box in right)


@pytest.mark.parametrize("box", ["25 percent", "25 pct", "25 per cent", "25\\%", "25\\text{ percent}", "25"])
def test_percent_in_words_is_the_sign_where_it_is_asked_for(box: str) -> None:
    for expected in ("25", "25\\%"):
        assert verify_answer(expected, f"\\boxed{{{box}}}", "What percent is it?")[0] == 1.0
        assert verify_answer(expected, "\\boxed{26 percent}", "What percent is it?")[0] == 0.0
