"""Checks that an answer is read to its end where letters are bold or text, or a letter ends a sum."""

from __future__ import annotations

import pytest

from ray_gym.envs.math.verification import verify_answer


@pytest.mark.parametrize(
    ("expected", "right", "wrong"),
    [
        (
            r"3\mathbf{i}+4\mathbf{j}",
            [r"4\mathbf{j} + 3\mathbf{i}", "3i+4j", r"3\boldsymbol{i}+4\boldsymbol{j}", r"3\mathbf i+4\mathbf j"],
            [r"3\mathbf{i}-7\mathbf{j}", r"3\mathbf{i}", r"3\mathbf{j}+4\mathbf{i}", "3", "(3,5)"],
        ),
        ("3", [], [r"3\mathbf{i}+4\mathbf{j}", r"3\mathbf{i}"]),
        (r"-\mathbf{i}+2\mathbf{j}", ["-i+2j"], [r"-\mathbf{i}+3\mathbf{j}", r"\mathbf{i}+2\mathbf{j}"]),
        (r"2\mathbf{v}+\mathbf{w}", [r"\mathbf{w} + 2\mathbf{v}"], [r"2\mathbf{v}-\mathbf{w}", "2", r"2\mathbf{v}"]),
        (
            r"\frac{2}{3}\mathbf{a}+\frac13\mathbf{b}",
            [r"\frac{2\mathbf{a}+\mathbf{b}}{3}"],
            [r"\frac{2}{3}\mathbf{a}-\frac13\mathbf{b}", r"\frac23"],
        ),
        (r"2\mathbf{I}+\mathbf{A}", ["2I+A"], [r"2\mathbf{I}-\mathbf{A}"]),
        (
            r"3\hat{\mathbf{i}}+4\hat{\mathbf{j}}",
            [r"3\mathbf{\hat{i}}+4\mathbf{\hat{j}}", r"3\mathbf{\hat i}+4\mathbf{\hat j}", r"3\hat i+4\hat j"],
            [r"3\hat{\mathbf{i}}-4\hat{\mathbf{j}}", r"3\hat{\mathbf{i}}"],
        ),
        (r"2\mathbf{c}", ["2c"], [r"2\mathbf{d}", "2", "2d"]),
        (r"\mathbf{a} + \mathbf{c}", ["c + a"], [r"\mathbf{a} + \mathbf{d}", r"\mathbf{a}"]),
        (r"\mathbf{e}_1+\mathbf{e}_2", [r"\mathbf{e_1}+\mathbf{e_2}"], [r"\mathbf{e}_1-\mathbf{e}_2"]),
        (r"\overrightarrow{\mathbf{AB}}", [r"\overrightarrow{\mathbf{AB}}"], [r"\overrightarrow{\mathbf{CD}}"]),
        ("5", [r"5\mathbf{m}", r"5\,\mathbf{m}", r"5\,\mathbf{cm}", r"\mathbf{5}"], [r"5\mathbf{x}", r"6\mathbf{m}"]),
        (r"\text{B}", [r"\mathbf{B}", r"\boldsymbol{B}", r"\textbf{B}"], [r"\mathbf{C}"]),
    ],
)
def test_bold_letters_are_letters(expected: str, right: list[str], wrong: list[str]) -> None:
    _check(expected, right, wrong)


@pytest.mark.parametrize(
    ("expected", "right", "wrong"),
    [
        (r"2\text{a}+\text{b}", [r"\text{b}+2\text{a}"], ["2", r"2\text{a}-\text{b}"]),
        (r"x_{\text{max}}", [r"x_{\text{max}}"], [r"x_{\text{min}}", "x"]),
        (
            r"P(\text{heads})=\frac{1}{2}",
            [r"P(\text{heads})=\frac{1}{2}", r"\frac{1}{2}"],
            [r"P(\text{heads})=\frac{1}{3}"],
        ),
        (
            r"\frac{\text{opposite}}{\text{hypotenuse}}",
            [r"\frac{\text{opposite}}{\text{hypotenuse}}"],
            [r"\frac{\text{adjacent}}{\text{hypotenuse}}"],
        ),
        (
            r"40\text{ adults}, 60\text{ children}",
            [r"60\text{ children}, 40\text{ adults}", r"40\text{ adults and }60\text{ children}"],
            [r"40\text{ adults}, 70\text{ children}", "40", r"40\text{ adults}"],
        ),
        (
            r"2\text{ apples and }3\text{ pears}",
            [r"2\text{ apples}, 3\text{ pears}"],
            [r"2\text{ apples and }4\text{ pears}"],
        ),
        (r"12\text{ m by }5\text{ m}", [r"12\text{ m by }5\text{ m}"], [r"12\text{ m by }6\text{ m}"]),
        (r"5\text{ cm},3\text{ cm}", [r"3\text{ cm}, 5\text{ cm}"], [r"5\text{ cm},4\text{ cm}", r"5\text{ cm}"]),
        (
            r"4\text{ N }\hat{i}+3\text{ N }\hat{j}",
            [r"4\text{ N }\hat{i}+3\text{ N }\hat{j}"],
            [r"4\text{ N }\hat{i}-3\text{ N }\hat{j}"],
        ),
        (
            r"3\text{CO}_2+4\text{H}_2\text{O}",
            [r"3\text{CO}_2+4\text{H}_2\text{O}"],
            [r"3\text{CO}_2+5\text{H}_2\text{O}"],
        ),
        (r"x=5\text{ m}, y=3\text{ m}", [r"x=5\text{ m}, y=3\text{ m}"], [r"x=5\text{ m}, y=4\text{ m}"]),
        ("5", [r"5\text{ cm}^{2}", r"5\text{ m}\cdot\text{s}^{-1}"], [r"5\text{ cm}\cdot\frac{1}{2}"]),
        (r"45^\circ\text{C}", [r"45\text{ °C}"], []),
    ],
)
def test_text_is_a_unit_only_at_the_end(expected: str, right: list[str], wrong: list[str]) -> None:
    _check(expected, right, wrong)


@pytest.mark.parametrize(
    ("expected", "right", "wrong"),
    [
        ("a + c", ["c + a", "a+c"], ["a + d", "a", "a - c"]),
        ("3c+2d", ["2d + 3c"], ["3c+2", "3c+2s", "3c"]),
        ("x + 2h", ["2h + x"], ["x + 2", "x + 2s"]),
        ("x^2 + c", ["c + x^2"], ["x^2", "x^2 + t"]),
        ("5", ["5m", "5 m", "5 cm"], ["6m"]),
        (r"2+\sqrt{3}", [r"2+\sqrt{3} m", r"2+\sqrt{3}\text{ m}"], []),
    ],
)
def test_a_letter_that_ends_a_sum_is_no_unit(expected: str, right: list[str], wrong: list[str]) -> None:
    _check(expected, right, wrong)


@pytest.mark.parametrize("answer", [r"So it is $5\mathbf{m}$.", r"$5\,\mathbf{m}$"])
def test_a_bold_unit_needs_no_box(answer: str) -> None:
    assert verify_answer(r"5\,\mathrm{m}", answer)[0] == 1


def _check(expected: str, right: list[str], wrong: list[str]) -> None:
    """Checks that the right answers in a box are equal to an expected one, and the wrong ones are not."""
    verdicts = {answer: verify_answer(expected, rf"\boxed{{{answer}}}") for answer in [*right, *wrong]}
    assert [answer for answer, verdict in verdicts.items() if verdict[0] == 1] == right, verdicts


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        (r"2k\text{ for }k\in\mathbb{Z}", r"\boxed{x=2k\text{ for }k\in\mathbb{Z}}"),
        (r"x=2k\text{ for }k\in\mathbb{Z}", r"\boxed{2k\text{ for }k\in\mathbb{Z}}"),
        ("10-20", r"\boxed{10-20\text{ years}}"),
        ("3", r"\boxed{v_{\text{max}} = 3 \text{ m/s}}"),
        ("3", r"\boxed{A_{\text{total}}=3\text{ cm}^2}"),
        ("3", r"\boxed{T_{\text{min}}=3\text{ s}}"),
        (r"T_{\text{min}}=3", r"\boxed{T_{\text{min}}=3\text{ s}}"),
        (r"T_{\text{min}}=3", r"\boxed{T_{\text{minimum}}=3}"),
        (r"v_{\text{avg}} = 5", r"\boxed{v_{\text{mean}} = 5}"),
        (r"V_{\text{cone}} = 5", r"\boxed{V_{\text{Cone}} = 5}"),
        (r"v_{\text{MAX}} = 5", r"\boxed{v_{\text{max}} = 5}"),
        (r"W_{\text{total}} = 5", r"\boxed{W_{\text{net}} = 5}"),
        (r"R_{\text{eq}} = 5", r"\boxed{R_{\text{total}} = 5}"),
        (r"S_{\text{even}} = 5", r"\boxed{S_{\text{E}} = 5}"),
        ("5,7", r"\boxed{5\text{ and }7\text{ cm}}"),
        ("5,7", r"\boxed{5\text{ or }7\text{ years}}"),
        ("5,7", r"\boxed{5 \text{ and } 7\text{ units}}"),
        (r"5 \text{ and } 7", r"\boxed{5 \text{ and } 7\text{ units}}"),
        (r"x=1\text{ or }x=2", r"\boxed{x=1\text{ or }x=2}"),
        (r"x=1\text{ or }x=2", r"\boxed{1\text{ or }2\text{ m}}"),
        (r"x=\lg 3", r"x=\lg 3"),
        (r"40\text{ adults}, 60\text{ children}", r"\boxed{40\text{ adults}, 60\text{ children}}"),
    ],
)
def test_names_units_and_lists_with_text_are_read(expected: str, answer: str) -> None:
    assert verify_answer(expected, answer)[0] == 1.0


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        (r"2k\text{ for }k\in\mathbb{Z}", r"\boxed{x=3k\text{ for }k\in\mathbb{Z}}"),
        ("10-20", r"\boxed{10-21\text{ years}}"),
        ("10-20", r"\boxed{10-20\text{ not}}"),
        ("4", r"\boxed{v_{\text{max}} = 3 \text{ m/s}}"),
        (r"T_{\text{min}}=3", r"\boxed{T_{\text{min}}=4\text{ s}}"),
        (r"T_{\text{min}}=3", r"\boxed{T_{\text{max}}=3}"),
        (r"f_{\text{max}} = 3", r"The answer is $f_{\text{min}} = 3$"),
        (r"v_{\text{car}} = 3", r"\boxed{v_{\text{bus}} = 3\text{ m/s}}"),
        ("5,7", r"\boxed{5\text{ and }8\text{ cm}}"),
        (r"40\text{ adults}, 60\text{ children}", r"\boxed{40\text{ adults}, 70\text{ children}}"),
    ],
)
def test_other_values_with_text_are_wrong(expected: str, answer: str) -> None:
    assert verify_answer(expected, answer)[0] == 0.0
