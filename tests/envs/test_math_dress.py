"""Checks that what only dresses a mathematical answer makes no other answer of it."""

from __future__ import annotations

import time

import pytest
from processor import slowness

from ray_gym.envs.math.dress import value_of, without_dress
from ray_gym.envs.math.verification import verify_answer

OUTSIDE = "(-\\infty, 3) \\cup (5, \\infty)"


@pytest.mark.parametrize(
    ("expected", "right", "wrong"),
    [
        ("(3, 4)", ["\\bigl(3,4\\bigr)", "\\big(3,4\\big)", "\\Biggl( 3, 4 \\Biggr)"], ["\\bigl(4,3\\bigr)"]),
        ("\\{1, 2\\}", ["\\bigl\\{1, 2\\bigr\\}"], []),
        ("\\frac{5}{9}", ["0.\\overline{5}", "0.\\bar{5}", "0.\\dot5"], ["0.5", "0.\\overline{6}", "\\overline{5}"]),
        ("\\frac{7}{12}", ["0.58\\overline{3}"], ["0.\\overline{583}"]),
        ("\\frac{41}{333}", ["0.\\overline{123}", "0.\\dot{1}2\\dot{3}"], ["0.1\\overline{23}"]),
        ("1", ["0.\\overline{9}"], []),
        ("-\\frac{7}{3}", ["-2.\\overline{3}"], ["2.\\overline{3}"]),
        (
            OUTSIDE,
            [
                "x<3 \\text{ or } x>5",
                "x < 3 \\lor x > 5",
                "x<3 or x>5",
                "3 > x \\vee 5 < x",
                "x \\lt 3 \\text{ or } x \\gt 5",
            ],
            ["x<3 \\text{ and } x>5", "x<3 \\land x>5", "x\\le 3 \\lor x>5", "x<3 \\lor y>5", "x>3 \\lor x<5"],
        ),
        ("(-\\infty, 3] \\cup [5, \\infty)", ["x \\le 3 \\lor x \\geq 5"], ["x < 3 \\lor x \\geq 5"]),
        ("(1, 2) \\cup (5, \\infty)", ["1 < x < 2 \\text{ or } x > 5"], []),
        (
            "12",
            [
                "{\\color{red}12}",
                "\\color{red}12",
                "12\\phantom{x}",
                "\\text{Answer: }12",
                "\\textbf{Answer: }12",
                "\\text{Area} = 12\\text{ cm}^2",
            ],
            ["\\text{not }12", "\\text{Answer: }13", "\\text{less than: }12", "{\\color{red}13}", "\\text{Not: } 12"],
        ),
        ("7", ["7 = x", "\\frac{14}{2} = x"], ["7 = x + 1", "7 = x = y"]),
        ("3.5", ["3{.}5", "3\\mathord{.}5"], ["3{.}6"]),
        ("25\\%", ["+25\\%"], ["-25\\%"]),
        ("60", ["60\\rm\\ cm", "60\\rm cm", "60\\,\\rm km/h"], ["61\\rm\\ cm", "60\\rm\\ dozen"]),
    ],
)
def test_what_only_dresses_an_answer_makes_no_other(expected: str, right: list[str], wrong: list[str]) -> None:
    for answer in right + wrong:
        assert verify_answer(expected, f"\\boxed{{{answer}}}")[0] == (answer in right), answer


@pytest.mark.parametrize(
    "part", ["\\big", "0.", "\\overline{5}", "\\dot1", "x<3 or ", "\\lor ", "x", "1 = ", "\\text{a ", "\\rm ", "<", " "]
)
def test_no_text_takes_long_to_undress(part: str) -> None:
    began = time.process_time()
    for text in (part * 700, f"5{part * 700}", f"{part * 700}="):
        value_of(without_dress(text))
    assert time.process_time() - began < slowness()
