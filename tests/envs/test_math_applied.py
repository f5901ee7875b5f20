r"""Checks values behind what an equation says they are of: `f(g(2)) = 7`, `C_4^2 = 6`, `|3+4i| = 5`."""

from __future__ import annotations

import pytest

from ray_gym.envs.math.applied import with_binomials, without_applied
from ray_gym.envs.math.reading import read_alone
from ray_gym.envs.math.reduction import to_exact
from ray_gym.envs.math.verification import verify_answer


@pytest.mark.parametrize(
    ("equation", "value"),
    [
        ("f(g(2)) = 7", "7"),
        ("f(f(f(5))) = 7", "7"),
        ("f(-2) = 7", "7"),
        ("f(2/3) = 7", "7"),
        ("f(g(2)) = f(3) = 7", "7"),
        ("2f(-1) + f(-2) = 7", "7"),
        ("f^{-1}(-2) = 7", "7"),
        ("f'(-2) = 7", "7"),
        (r"f\left(g(2)\right) = 7", "7"),
        ("f(-2) = 2 + 5 = 7", "2 + 5 = 7"),
    ],
)
def test_a_side_that_names_the_value_is_left_out(equation: str, value: str) -> None:
    assert without_applied(equation) == value


@pytest.mark.parametrize(
    "expression",
    [
        *("h(h+1) = 6", "x(x+1) = 6", "2x = 6", "x_1^2 = 4", "a_3^2 = 9", "f(2)", "C_4^2", "3 = 6", "4C2"),
        *(
            "f(0) = f(1)",
            "f(-2) = 7, f(3) = 8",
            "f(-2) + x = 7",
            "f(x+1) = x^2",
            "f^{-1}(x) = x",
            "P(1+r) = A",
            "h(b+3) = 20",
        ),
    ],
)
def test_other_equations_and_expressions_stay(expression: str) -> None:
    assert without_applied(expression) == expression


@pytest.mark.parametrize(
    ("equation", "written"),
    [
        ("C_4^2 = 6", r"\binom{4}{2} = 6"),
        ("C_{4}^{2} = 6", r"\binom{4}{2} = 6"),
        ("C^2_4 = 6", r"\binom{4}{2} = 6"),
        ("C^4_2 = 6", r"\binom{4}{2} = 6"),
        (r"\text{C}_4^2 = 6", r"\binom{4}{2} = 6"),
        ("4C2 = 6", r"\binom{4}{2} = 6"),
        ("^4C_2 = 6", r"\binom{4}{2} = 6"),
        ("A_4^2 = 12", r"\frac{4!}{2!} = 12"),
        ("4P2 = 12", r"\frac{4!}{2!} = 12"),
        (r"C_4^2 \cdot 2 = 12", r"\binom{4}{2} \cdot 2 = 12"),
        ("C_4^2", "C_4^2"),
        ("1218 = 4C2", "1218 = 4C2"),
        ("P_1^2 = P_2", "P_1^2 = P_2"),
        ("2C_1 = 6", "2C_1 = 6"),
        ("1A3C5 = 6", "1A3C5 = 6"),
        ("x_4^2 = 6", "x_4^2 = 6"),
    ],
)
def test_numbers_of_combinations_are_written_out(equation: str, written: str) -> None:
    assert with_binomials(equation) == written


@pytest.mark.parametrize(
    ("expected", "right", "wrong"),
    [
        (
            "7",
            ["f(g(2)) = 7", "f(-2) = 7", "f(g(2)) = f(3) = 7"],
            ["f(g(2)) = 8", "f(g(7)) = 2", "f(-7)", "g(g+1) = 7"],
        ),
        ("f(-2) = 7", ["7", "f(-2) = 7"], ["8", "-2"]),
        ("f(x+1) = f(x)", ["f(x+1) = f(x)"], ["f(x)"]),
        ("P(1+r) = A", ["P(1+r) = A"], ["A"]),
        ("x^2", ["f(x) = x^2"], ["f(x+1) = x^2", "f^{-1}(x) = x^2", "f'(2x) = x^2"]),
        ("20", [], ["h(b+3) = 20", "2C_1 = 20", "C_4^2 = 20"]),
        (
            "6",
            ["C_4^2 = 6", "4C2 = 6", "C(4,2) = 6", "A_3^2 = 6", "7C3 - 29 = 6"],
            ["C_4^2", "C_4^2 = 12", "C_6^2 = 15", "C_5^2 = 6"],
        ),
        ("4C2_{16}", ["4C2_{16}"], ["6", "4C3_{16}"]),
        (
            "5",
            ["|3+4i| = 5", r"\left|3-4i\right| = 5", r"\lvert 3+4i\rvert = 5"],
            ["|3+4i|", "|3+4i| = 6", "|5+12i| = 13"],
        ),
        ("5", ["|-3-4i| = |3+4i| = 5", r"|3+4i| = \sqrt{3^2+4^2} = 5"], ["i = 4 = 5", "i + 1 = 5", "2i = 5"]),
        ("13", ["|z| = |5+12i| = 13"], ["|z| = |5+12i| = 14"]),
        ("6", [], ["|3+4i| = 6", "|3+4i|=|4+3i| = 6"]),
        ("25", ["|3+4i|^2 = 25", "(3+4i)(3-4i) = 25"], ["|3+4i| = 25"]),
        (r"\sqrt{2}", [r"|1+i| = \sqrt{2}"], ["|1+i| = 2"]),
        ("-1", ["i^2 = -1"], ["i^3 = -1", "i = -1 + 1"]),
        ("2i", ["(1+i)^2 = 2i"], ["(1-i)^2 = 2i"]),
        ("4", [], ["2i = 4", "i^2 + i = 4", "|x + 1| = 4"]),
    ],
)
def test_a_value_counts_and_an_equation_to_solve_does_not(expected: str, right: list[str], wrong: list[str]) -> None:
    given = {box: verify_answer(expected, rf"\boxed{{{box}}}")[0] for box in [*right, *wrong]}
    assert [box for box, reward in given.items() if reward] == right
    assert all(verify_answer(expected, f"The answer is ${box}$.")[0] for box in right)


def test_a_chain_of_equations_with_i_is_read_whatever_its_sides_become() -> None:
    for chain in ("x = i = i", "|-3-4i| = |3+4i| = 5"):
        assert to_exact(read_alone(chain)[0]) is not None


@pytest.mark.parametrize(
    "box",
    [
        *("(i+1000000000)! = 5", "2^{1000000000i} = 5", "(9i)^{(9i)^{(9i)^{9i}}} = 5", "((99i)!)! = 5", "0^{i} = 5"),
        *("0^{-1}i = 5", "(((((1+i)^{100})^{100})^{100})^{100})^{100} = 5"),
    ],
)
def test_only_what_is_quick_is_computed_for_i(box: str) -> None:
    assert verify_answer("5", rf"\boxed{{{box}}}")[0] == 0
