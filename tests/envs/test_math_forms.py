"""Checks forms that models write answers in: sets and conditions, ratios, words for numbers, units, Chinese and Japanese."""

# ruff: noqa: RUF001

from __future__ import annotations

import time

import pytest
from processor import slowness

from ray_gym.envs.math.east_asian import with_spaces
from ray_gym.envs.math.notation import bare_expression
from ray_gym.envs.math.verification import verify_answer


@pytest.mark.parametrize(
    ("expected", "right", "wrong"),
    [
        (
            "[2,5)",
            [
                r"\{x\mid 2\le x<5\}", r"\{x \in \mathbb{R} : 2 \le x < 5\}", r"\left\{x \,\middle|\, 2\le x<5\right\}",
                r"x \ge 2 \text{ and } x < 5", r"x\geq 2, x<5", r"x<5 \land 2 \le x",
            ],
            [
                r"x \ge 2 \text{ and } x < 6", r"x \ge 2 \text{ and } y < 5", r"\{x\mid 2\le x\le5\}",
                r"\{x\in\mathbb{Z}\mid 2\le x<5\}", r"x \ge 2, x \ge 5",
            ],
        ),
        (r"(-\infty,2)\cup(5,\infty)", [r"\{x \mid x<2 \text{ or } x>5\}"], [r"\{x \mid x<2 \text{ and } x>5\}"]),
        (r"\mathbb{R}", [r"\text{all real numbers}", r"\text{All reals}"], [r"\text{no real numbers}", "5"]),
        (r"\text{all real numbers}", [r"\mathbb{R}", r"(-\infty,\infty)"], ["0"]),
        ("(1,2)", ["y=2, x=1", r"y=2 \text{ and } x=1", r"\langle 1,2\rangle"], ["y=1, x=2", r"\langle 2,1\rangle"]),
        ("-12", [r"\text{-}12", "－12"], ["12", r"\text{+}12"]),
        (r"\frac34", ["3⁄4", "３／４"], ["4⁄3", r"3 \text{ to } 4"]),
        ("3:4", [r"3\text{ to }4", r"3\colon 4", "3 to 4"], ["4:3", r"3\text{ to }5"]),
        (r"-\infty", [r"-\text{infinity}"], [r"\text{infinity}"]),
        (r"\ln 2", [r"\log_e 2", r"\log_{e}(2)"], [r"\log_2 2"]),
        ("120", ["120 = 5!", "5! = 120"], ["5!", "x = 5!", "121 = 5!"]),
        (
            "12",
            [r"12\text{ (approx.)}", r"12 \text{ approximately}", r"12\text{ (exact)}"],
            [r"12\text{ (wrong)}", r"12\text{ (not exact)}", r"13\text{ (approx.)}"],
        ),
        ("100000", ["1,00,000"], ["1,00,00"]),
        ("12,34,567", ["1234567"], ["12345670"]),
        (
            "12 km/h",
            [r"12\text{ kmh}^{-1}", r"12\,\mathrm{km\,h^{-1}}", r"12\,\mathrm{km\,h}^{-1}"],
            [r"12\,\mathrm{km\,h^{-2}}", r"12\text{ km}", r"12\text{ms}^{-1}"],
        ),
        ("12 m/s", [r"12\;\text{ms}^{-1}", r"12\,\mathrm{m\,s^{-1}}", "12 ms^{-1}"], [r"12\text{ ms}", r"12\text{ms}^{-2}"]),
        ("12 Ω", [r"12\,\Omega", "12", r"12\text{ ohms}", r"12\text{ Ω}"], [r"12\text{ V}", r"12\,\text{k}\Omega"]),
        ("12 eV", [r"12\text{ eV}", "12", r"12\,\mathrm{eV}"], [r"12\text{ keV}", r"12\text{ J}"]),
        (r"\frac12", [r"\text{one half}", "one-half"], [r"\text{one third}", r"\text{two halves}"]),
        (r"\frac23", [r"\text{two-thirds}"], ["two", "third"]),
    ],
)  # fmt: skip
def test_forms_of_answers_in_a_box(expected: str, right: list[str], wrong: list[str]) -> None:
    for said in right + wrong:
        assert verify_answer(expected, f"\\boxed{{{said}}}")[0] == (said in right), said


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("答案是12。", 1), ("答案：12", 1), ("答えは12です。", 1), ("最终答案是**12**。", 1), ("所以 x=12。", 1), ("答案为12", 1),
        ("因此，总共有12个苹果。", 1), ("答案是12，而不是13。", 1), ("答案是12。第2步：3*4=12，共5步。", 1), ("答案是-12。", 0),
        ("答案不是12。", 0), ("答えは12ではありません。", 0), ("答案是12或13。", 0), ("答案至少是12。", 0), ("答案大于12。", 0),
        ("答案是12。不对，答案是13。", 0), ("答案是12？不。", 0), ("정답은 12입니다.", 1), ("정답은 12가 아닙니다.", 0),
    ],
)  # fmt: skip
def test_answers_without_a_box_in_chinese_japanese_and_korean(answer: str, value: float) -> None:
    assert verify_answer("12", answer)[0] == value


@pytest.mark.parametrize(
    "part",
    ["x\\ge2 ", "x<2,", "\\{x\\mid ", "y=2,", "\\langle 1,", "3 to ", "1,00,", "答案是", "12个", "\\text{-}", "two-"],
)
def test_no_form_takes_long(part: str) -> None:
    began = time.process_time()
    bare_expression(part * 2_000), with_spaces(part * 2_000)
    assert time.process_time() - began < slowness()
