r"""Reads rows of LaTeX: the breaks between the rows of a matrix, and systems of equations, which are lists."""

from __future__ import annotations

import re

_BREAK = re.compile(
    r"\\\\\*?(?:\s{0,3}\[\s{0,3}-?[\d.]{1,6}\s{0,3}(?:pt|em|ex|mm|cm|in|\\\w{1,20})\s{0,3}\])?\s{0,9}"
    r"(?:(?:\\\\\s{0,9})?(?=\\end\{)(\\end\{\w{1,20}\*?\}))?"
)
"""Break between two rows, also with a distance; or one behind the last row, and the end of the rows."""
_SYSTEM = re.compile(
    r"(?:\\left\s?\\\{|\\\{)?\s{0,9}\\begin\{(d?cases|array|aligned|align\*?|gathered)\}(?:\{[lcr|]{1,9}\})?"
    r"((?:[^\\]|\\(?!end\{))*)\\end\{\1\}\s{0,9}(?:\\right(?:\s?\.)?)?"
)


def with_plain_breaks(text: str) -> str:
    r"""Returns a text whose rows end in `\\ `, without distances between them and without a break behind the last one."""
    return _BREAK.sub(lambda found: found[1] or r"\\ ", text) if r"\\" in text else text


def as_list(expression: str) -> str:
    """Returns a system, whose rows are equations with left sides of their own, as a list of them; else the same."""
    system = _SYSTEM.fullmatch(expression)
    if system is None:
        return expression
    rows = [row for row in map(_equation, system[2].split(r"\\")) if row is not None]
    names = {name for name, _ in rows}
    is_solved = len(names) == len(rows) == system[2].count(r"\\") + 1
    return ", ".join(f"{name} = {value}" for name, value in rows) if is_solved else expression


def _equation(row: str) -> tuple[str, str] | None:
    """Returns the two sides of an equation, which may have a mark of alignment at its sign; None for anything else."""
    left, _, right = row.partition("=")
    sides = left.strip().removesuffix("&").strip(), right.strip().removeprefix("&").strip(" ,;")
    return sides if all(side and not re.search("[=<>&]", side) for side in sides) else None
