"""Writes numbers and polynomials in LaTeX."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction


def number(value: Fraction | int) -> str:
    r"""Writes an integer, or a fraction in lowest terms as `\frac`."""
    value = Fraction(value)
    if value.denominator == 1:
        return str(value.numerator)
    return f"{'-' if value < 0 else ''}\\frac{{{abs(value.numerator)}}}{{{value.denominator}}}"


def decimal(value: Fraction) -> str:
    """Writes a number in decimals, without zeros at the end: `-0.25`, `5`. Errors: ValueError if it needs more than
    four decimal places.
    """
    scaled = value * 10**4
    if scaled.denominator != 1:
        raise ValueError(f"{value} has more than four decimal places")
    whole, places = divmod(abs(scaled.numerator), 10**4)
    shown = f"{whole}.{places:04}".rstrip("0").rstrip(".")
    return f"-{shown}" if value < 0 else shown


def polynomial(coefficients: Sequence[Fraction | int], variable: str = "x") -> str:
    """Writes a polynomial. `coefficients` begin with that of the highest power; terms that are zero are left out."""
    highest = len(coefficients) - 1
    terms = [(Fraction(value), highest - place) for place, value in enumerate(coefficients) if value]
    signed = [f"{'-' if value < 0 else '+'} {_term(abs(value), power, variable)}" for value, power in terms]
    if not signed:
        return "0"
    return " ".join([signed[0].removeprefix("+ ").replace("- ", "-", 1), *signed[1:]])


def times(value: Fraction | int, what: str) -> str:
    r"""Writes a multiple of a symbol: `\frac{3}{2}\pi`, `\pi`."""
    return what if value == 1 else f"{number(value)}{what}"


def square_root(radicand: int) -> tuple[int, int]:
    """Returns the square root of a positive integer as a factor and the integer that stays under the root: 12 is
    (2, 3).
    """
    outside, inside = 1, radicand
    divisor = 2
    while divisor * divisor <= inside:
        while inside % divisor**2 == 0:
            inside //= divisor**2
            outside *= divisor
        divisor += 1
    return outside, inside


def surd(factor: Fraction | int, radicand: int) -> str:
    r"""Writes `factor` times the root of `radicand`, simplified: `6`, `2\sqrt{3}`, `\frac{1}{2}\sqrt{5}`."""
    outside, inside = square_root(radicand)
    return number(factor * outside) if inside == 1 else times(factor * outside, f"\\sqrt{{{inside}}}")


def _term(value: Fraction, power: int, variable: str) -> str:
    if power == 0:
        return number(value)
    return times(value, variable if power == 1 else f"{variable}^{{{power}}}")
