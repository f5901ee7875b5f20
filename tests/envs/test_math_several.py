"""Checks answers of several parts: matrices, systems, lists, two signs, and quantities side by side."""

from __future__ import annotations

import time

import pytest
from processor import slowness

from ray_gym.envs.math.both_signs import with_both_signs
from ray_gym.envs.math.compound import last_quantities, quantities_of
from ray_gym.envs.math.rows import as_list, with_plain_breaks
from ray_gym.envs.math.verification import verify_answer

COLUMN = r"\begin{pmatrix}1\\2\end{pmatrix}"
SQUARE = r"\begin{pmatrix}1&2\\3&4\end{pmatrix}"
SOLVED = r"\begin{cases} x = 1 \\ y = 2 \end{cases}"


@pytest.mark.parametrize(
    ("expected", "right", "wrong"),
    [
        (
            COLUMN,
            [
                COLUMN,
                r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}",
                r"\begin{pmatrix}1 \\[4pt] 2\end{pmatrix}",
                r"\begin{bmatrix} 1\\ 2 \\ \end{bmatrix}",
                r"\begin{pmatrix}1\\*2\end{pmatrix}",
                r"\begin{pmatrix}\ 1\\\ 2\end{pmatrix}",
            ],
            [
                r"\begin{pmatrix} 2 \\ 1 \end{pmatrix}",
                r"\begin{pmatrix}2\\1\end{pmatrix}",
                r"\begin{pmatrix} 1 & 2 \end{pmatrix}",
                r"\begin{pmatrix} 12 \end{pmatrix}",
                "2",
            ],
        ),
        (
            r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}",
            [COLUMN, r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}"],
            [r"\begin{pmatrix} 2 \\ 1 \end{pmatrix}"],
        ),
        (
            SQUARE,
            [r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}", r"\begin{bmatrix} 1 & 2 \\[2mm] 3 & 4 \end{bmatrix}"],
            [r"\begin{pmatrix} 1 & 2 \\ 4 & 3 \end{pmatrix}", r"\begin{pmatrix} 1 & 3 \\ 2 & 4 \end{pmatrix}"],
        ),
        ("-2", [], [r"\begin{vmatrix} 1 & 2 \\ 3 & 4 \end{vmatrix}", r"\begin{vmatrix}1&2\\3&4\end{vmatrix}"]),
        ("1234", [r"1\ 234", r"\ 1234", r"1234\ \text{cm}", r"1234\\"], [r"1\\ 234"]),
        (
            "x = 1, y = 2",
            [
                SOLVED,
                r"\begin{cases}x=1\\y=2\end{cases}",
                r"\left\{\begin{array}{l} x = 1 \\ y = 2 \end{array}\right.",
                r"\begin{aligned} x &= 1 \\ y &= 2 \end{aligned}",
            ],
            [r"\begin{cases} x = 2 \\ y = 1 \end{cases}", r"\begin{cases} x = 1 \\ y > 2 \end{cases}"],
        ),
        ("(1, 2)", [SOLVED], []),
        ("2", [], [r"\begin{cases}x=1\\y=2\end{cases}", SOLVED]),
    ],
)
def test_rows_are_compared_one_by_one(expected: str, right: list[str], wrong: list[str]) -> None:
    for answer in right + wrong:
        assert verify_answer(expected, f"\\boxed{{{answer}}}")[0] == (answer in right), answer


SEVERAL = [
    r"3\text{ hours } 20\text{ minutes}",
    r"3\text{ hours and } 20\text{ minutes}",
    r"3\text{ hours},\ 20\text{ minutes}",
    "3 hours 20 minutes",
    "3 h 20 min",
    r"3\text{ m } 20\text{ cm}",
    r"3 \text{ lb } 3 \text{ oz}",
    r"3\text{ cm }4\text{ cm}",
    "3'6''",
    r"3\text{ min }20\text{ s}",
    r"3\text{h}15\text{m}",
    r"3\,\text{kg}\,200\,\text{g}",
    "3' 6\"",
    r"3^\circ 30'",
]


@pytest.mark.parametrize("answer", SEVERAL)
@pytest.mark.parametrize("expected", ["3", "3\\text{ hours}", "20", "33"])
def test_several_quantities_are_not_one_of_them(expected: str, answer: str) -> None:
    assert verify_answer(expected, f"\\boxed{{{answer}}}")[0] == 0


@pytest.mark.parametrize(
    ("expected", "right", "wrong"),
    [
        (
            "2 hours 30 minutes",
            [
                r"2 \text{ hours } 30 \text{ minutes}",
                r"2\text{ hours and }30\text{ minutes}",
                r"2\text{ hours},\ 30\text{ minutes}",
                "2 hours and 30 minutes",
                "2 h 30 min",
                "30 minutes and 2 hours",
            ],
            [
                "2",
                "30",
                "60",
                "2 hours",
                r"2\text{ hours } 31 \text{ minutes}",
                r"2\text{ hours } 30 \text{ seconds}",
                r"2\text{ hours } 30\text{ minutes } 1\text{ second}",
            ],
        ),
        (r"2 \text{ hours and } 30 \text{ minutes}", ["2 hours 30 minutes"], ["2", "2, 30", "150\\text{ minutes}"]),
        ("5 ft 6 in", ["5'6''", "5' 6\"", r"5\text{ feet }6\text{ inches}", r"5^\prime 6^{\prime\prime}"], ["5 ft"]),
        (r"30^\circ 15'", [r"30^{\circ}15^{\prime}", "30°15'"], ["45", r"45^\circ", r"30^\circ 16'"]),
        ("3 m, 5 kg", [r"3\text{ m}, 5\text{ kg}", "3 m and 5 kg"], ["3 m, 6 kg"]),
        (r"5\text{ ft}", ["5 ft", "5'"], [r"5 \text{ ft } 6 \text{ in}"]),
        ("12", [r"12\text{ cm}^3", "12 m s^{-1}"], []),
    ],
)
def test_quantities_side_by_side_are_compared_one_by_one(expected: str, right: list[str], wrong: list[str]) -> None:
    for answer in right + wrong:
        assert verify_answer(expected, f"\\boxed{{{answer}}}")[0] == (answer in right), answer


@pytest.mark.parametrize(
    ("expected", "answer", "value"),
    [
        ("3", "The answer: 3 hours and 20 minutes", 0),
        ("20", "He needs 3 hours and 20 minutes.", 0),
        ("3", "It takes $3$ hours and $20$ minutes.", 0),
        ("2 hours 30 minutes", "The answer is 2 hours and 30 minutes.", 1),
        ("2 hours 30 minutes", "The answer is 2 hours and 20 minutes.", 0),
        ("5", "The width is 3 cm.\nThe length is 5 cm", 1),
    ],
)
def test_several_quantities_need_no_box(expected: str, answer: str, value: float) -> None:
    assert verify_answer(expected, answer)[0] == value


@pytest.mark.parametrize(
    ("expected", "right", "wrong"),
    [
        ("1,2", [r"1 \text{ and } 2", "1, 2", "2, 1", r"1\text{ or }2", "1 and 2"], ["12", "1.2", r"1 \text{ and } 3"]),
        (
            "1,2,3",
            [r"1, 2 \text{ and } 3", r"1, 2, \text{ and } 3", "1, 2, and 3"],
            ["123", "1,2", r"1, 2 \text{ and } 4"],
        ),
        ("1, 2", [r"1 \text{ and } 2"], []),
        ("1,234", ["1234", "1,234 cm"], [r"1\text{ and }234", "1, 234"]),
        ("1,234,567", ["1234567"], []),
        ("3", [], [r"3\text{ and }4", "3, 4", "3,4"]),
    ],
)
def test_a_list_may_be_joined_by_words(expected: str, right: list[str], wrong: list[str]) -> None:
    for answer in right + wrong:
        assert verify_answer(expected, f"\\boxed{{{answer}}}")[0] == (answer in right), answer


ROOTS = r"\frac{-1\pm\sqrt5}{2}"


@pytest.mark.parametrize(
    ("expected", "right", "wrong"),
    [
        (
            ROOTS,
            [
                ROOTS,
                r"x=\frac{-1\pm\sqrt{5}}{2}",
                r"x_{1,2}=\frac{-1\pm\sqrt{5}}{2}",
                r"\frac{-1+\sqrt5}{2}, \frac{-1-\sqrt5}{2}",
                r"-\frac12 \pm \frac{\sqrt5}{2}",
            ],
            [r"\frac{-1+\sqrt5}{2}", r"x=\frac{1\pm\sqrt{5}}{2}"],
        ),
        (r"x=\frac{-1\pm\sqrt{5}}{2}", [ROOTS], [r"\frac{-1+\sqrt5}{2}"]),
        (r"1\pm\sqrt5", [r"x=1\pm\sqrt5", r"1 ± \sqrt{5}", r"1+\sqrt5, 1-\sqrt5"], [r"1+\sqrt5", r"2\pm\sqrt5"]),
        (r"\pm 3", ["3, -3", r"x = \pm 3", r"\{-3, 3\}"], ["3", "-3"]),
        ("3", [], [r"\pm 3"]),
        ("(3, -3)", [], [r"\pm 3"]),
        (r"\pm 3\text{ cm}", [r"\pm 3\text{ cm}"], []),
    ],
)
def test_two_signs_are_two_values(expected: str, right: list[str], wrong: list[str]) -> None:
    for answer in right + wrong:
        assert verify_answer(expected, f"\\boxed{{{answer}}}")[0] == (answer in right), answer


@pytest.mark.parametrize(
    "part", ["\\\\", "\\\\ ", "\\\\[", "x = 1 \\\\ ", "&= ", "\\pm ", "5 cm ", "5 cm and ", "1,", "1.", "1", "5' ", " "]
)
def test_no_answer_of_several_parts_takes_long_to_read(part: str) -> None:
    began = time.process_time()
    for text in (part * 600, f"\\begin{{cases}}{part * 600}\\end{{cases}}", f"\\pm {part * 600}", f"{part * 600}!"):
        as_list(with_plain_breaks(text)), with_both_signs(text), quantities_of(text), last_quantities(text)
    assert time.process_time() - began < slowness()


@pytest.mark.parametrize(
    ("expected", "box"),
    [
        ("1000", "n = 1,000"),
        ("1000", r"AB = 1,000 \text{ cm}"),
        ("12345", r"P = \$12,345"),
        (r"1000\pi", r"1,000\pi"),
        (r"\frac{1000}{3}", r"\frac{1,000}{3}"),
        ("1,000x", "1000x"),
        ("x=1000", "x = 1,000"),
        ("100, 200, 300", "100,200,300"),
        ("(1000, 2000)", "(1,000, 2,000)"),
        ("(1, 234)", "(1,234)"),
        ("(1,234)", "(1, 234)"),
        ("12,345.6", "12,345.6"),
        ("1,2", "1, 2"),
    ],
)
def test_a_comma_groups_digits_or_separates_as_in_the_expected_answer(expected: str, box: str) -> None:
    assert verify_answer(expected, rf"\boxed{{{box}}}")[0] == 1


@pytest.mark.parametrize(
    ("expected", "box"),
    [
        ("100, 200, 300", "100200300"),
        ("1, 200", "1200"),
        ("1200", "1, 200"),
        ("(1,234)", "1234"),
        ("12,345", "12.345"),
        ("1000", "100,0"),
    ],
)
def test_a_list_is_no_number_with_commas(expected: str, box: str) -> None:
    assert verify_answer(expected, rf"\boxed{{{box}}}")[0] == 0
