"""Checks answers without a box that end with a display of lines."""

from __future__ import annotations

from time import process_time

import pytest
from processor import slowness

from ray_gym.envs.math.displays import with_last_line
from ray_gym.envs.math.verification import verify_answer

AROUND = pytest.mark.parametrize("around", ["{}", "$${}$$", "\\[\n{}\n\\]", "So we get\n$$\n{}\n$$", "We have ${}$."])
NAMES = pytest.mark.parametrize("name", ["align*", "aligned", "align", "gather", "split", "eqnarray", "cases"])


def _display(name: str, around: str, *lines: str) -> str:
    """Returns a display of lines, whose mark of alignment `cases` and `gather` do without."""
    text = " \\\\\n".join(lines)
    plain = text.replace("&", "") if name in ("cases", "gather") else text
    return around.replace("{}", f"\\begin{{{name}}}\n{plain}\n\\end{{{name}}}")


@AROUND
@NAMES
@pytest.mark.parametrize(
    "lines",
    [
        ("x &= 3", "y &= 5"),
        (r"a &= 2\pi", r"A &= 5\pi"),
        ("3x &= 10", "2x &= 5"),
        ("x^2 &= 5",),
        ("x^2 &= 25", r"x &= \pm 5"),
        ("x &> 5",),
        ("2x &> 10", r"x &\ge 5"),
        (r"A &= 2 \cdot 5\sqrt2", r"A &= 5\sqrt{8}"),
    ],
)
def test_a_number_within_the_last_line_is_not_the_answer(lines: tuple[str, ...], name: str, around: str) -> None:
    assert verify_answer("5", _display(name, around, *lines))[0] == 0.0


@AROUND
@NAMES
@pytest.mark.parametrize(
    ("expected", "lines"),
    [
        ("5", ("2x &= 10", "x &= 5.")),
        ("5", ("2x + 3y &= 10", "x &= 5")),
        (r"5\pi", (r"A &= \pi r^2", r"A &= 5\pi")),
        (r"\frac{3}{4}", (r"P &= 1 - \frac14", r"&= \frac34")),
        ("(3,5)", ("x &= 3,", "y &= 5.")),
        ("x=3, y=5", ("x &= 3", "y &= 5")),
    ],
)
def test_the_last_line_or_a_list_of_named_values_is_the_answer(
    expected: str, lines: tuple[str, ...], name: str, around: str
) -> None:
    assert verify_answer(expected, _display(name, around, *lines))[0] == 1.0


def test_other_ends_stay_as_they_are() -> None:
    for said in (
        r"\begin{pmatrix}1\\2\end{pmatrix}",
        r"f(x) = \begin{cases}x & x > 0\\-x & x < 0\end{cases}",
        r"\begin{align}x &= 5\end{align} is the equation",
    ):
        assert with_last_line(said) == said


@pytest.mark.parametrize("text", [r"\begin{align}", r"\\ ", "$", r"\[ ", "x &= 5", r"\end{align}", r"\begin{array}{l}"])
def test_a_display_is_read_in_a_longest_answer_in_time(text: str) -> None:
    started = process_time()
    with_last_line(f"{text * 2000}"[:2000] + r"\begin{align}" + f"{text * 2000}"[:2000] + r"\end{align}")
    assert process_time() - started < slowness()
