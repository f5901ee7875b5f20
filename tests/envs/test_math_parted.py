"""Checks answers of several parts whose order counts: ratios, remainders, times of day, lists in an order that is asked for."""

from __future__ import annotations

import pytest

from ray_gym.envs.math.verification import verify_answer

TIME = "At what time do they meet?"
ORDER = "Order the numbers from least to greatest."


@pytest.mark.parametrize(
    ("expected", "question", "right", "wrong"),
    [
        ("3:2:1", "", ["3:2:1", "6:4:2", "3 : 2 : 1"], ["1.5", "1:2:3", "3:2", "\\frac32"]),
        ("1:2:3", "", ["2:4:6"], ["\\frac16", "3:2:1"]),
        (
            "3\\text{ R }2",
            "",
            ["3 R 2", "3\\text{ remainder }2", "3\\text{ R }2", "3 r 2"],
            ["2\\text{ R }3", "6R", "3"],
        ),
        ("3 R 2", "", ["3R2", "3 \\text{ R } 2"], ["6R", "3 R 3"]),
        (
            "3-5",
            "Which pages?",
            ["3-5", "3 - 5", "3\u20135", "3 to 5", "3\\text{ to }5", "3\\text{-}5"],
            ["-2", "5-3", "3+5", "[3,5]"],
        ),
        ("3 to 5", "What is the ratio?", ["3:5", "3 to 5"], ["5:3"]),
        ("2:30", TIME, ["2:30", "2:30\\text{ p.m.}", "2{:}30"], ["1:15", "4:60", "\\frac1{12}", "2:31"]),
        ("10:30", "What time is it?", ["10:30", "10:30 AM"], ["1:3", "\\frac13", "20:60"]),
        ("2:30", "What is the ratio?", ["2:30", "1:15"], ["1:16"]),
        ("B, A, C", ORDER, ["B, A, C", "B,A,C"], ["A, B, C"]),
        ("2,4,6", "Arrange them in ascending order.", ["2, 4, 6", "2,\\frac{8}{2},6.0"], ["6,4,2", "2,4", "2,4,6,8"]),
        ("2,4,6", "Find all solutions.", ["6,4,2", "2,4,6"], ["2,4"]),
        ("101_2", "Write 5 in base 2.", ["101_2", "101_{2}"], ["101_{10}", "101_3"]),
        ("5_{10}", "", ["5", "5_{10}"], ["5_2"]),
    ],
)
def test_parts_and_their_order(expected: str, question: str, right: list[str], wrong: list[str]) -> None:
    for answer in right + wrong:
        assert verify_answer(expected, f"\\boxed{{{answer}}}", question)[0] == (answer in right), answer
