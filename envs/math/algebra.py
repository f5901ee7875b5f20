"""Makes problems with unknowns: equations, systems, inequalities, polynomials."""

from __future__ import annotations

import random
from fractions import Fraction
from math import isqrt

from ray_gym.envs.math.latex import number, polynomial, square_root, surd
from ray_gym.envs.math.problem import MathProblem, nonzero


def linear_equation(rng: random.Random) -> MathProblem:
    """Draws a problem that asks for the solution of a linear equation."""
    left, right = rng.sample([value for value in range(-12, 13) if value], 2)
    added, others = nonzero(rng, 40), nonzero(rng, 40)
    return MathProblem(
        f"Solve ${polynomial((left, added))} = {polynomial((right, others))}$ for $x$.",
        number(Fraction(others - added, left - right)),
    )


def quadratic_equation(rng: random.Random) -> MathProblem:
    """Draws a problem that asks for both rational roots of a quadratic equation, as a set."""
    low, high = _two_roots(rng)
    scale = rng.randint(1, 4)
    top = scale * low.denominator * high.denominator
    equation = polynomial((top, -top * (low + high), top * low * high))
    return MathProblem(
        f"Find all solutions of ${equation} = 0$. Give them as a set.",
        f"\\left\\{{{number(low)}, {number(high)}\\right\\}}",
    )


def larger_root(rng: random.Random) -> MathProblem:
    """Draws a problem that asks for the larger root of a quadratic equation whose roots are not rational."""
    while True:
        middle, last = rng.randint(-30, 30), nonzero(rng, 60)
        under = middle**2 - 4 * last
        if under > 0 and isqrt(under) ** 2 != under:
            return MathProblem(
                f"Find the larger of the two solutions of ${polynomial((1, middle, last))} = 0$, in exact form.",
                _root(-middle, under),
            )


def system_of_two(rng: random.Random) -> MathProblem:
    """Draws a problem that asks for the solution of two linear equations, as a pair."""
    x, y = nonzero(rng, 12), nonzero(rng, 12)
    while True:
        a, b, c, d = (nonzero(rng, 9) for _ in range(4))
        if a * d != b * c:
            break
    first, second = _line(a, b, a * x + b * y), _line(c, d, c * x + d * y)
    return MathProblem(
        f"Solve the system ${first}$, ${second}$. Give the answer as the ordered pair $(x, y)$.", f"({x}, {y})"
    )


def bounded_inequality(rng: random.Random) -> MathProblem:
    """Draws a problem that asks for the solutions of a quadratic inequality, which are an interval."""
    low, high = sorted(rng.sample(range(-60, 61), 2))
    left = polynomial((1, -(low + high), low * high))
    return MathProblem(
        f"Solve ${left} \\le 0$ over the real numbers. Give the answer as an interval.", f"[{low}, {high}]"
    )


def unbounded_inequality(rng: random.Random) -> MathProblem:
    """Draws a problem that asks for the solutions of a quadratic inequality, which are two unbounded intervals."""
    low, high = sorted(rng.sample(range(-60, 61), 2))
    left = polynomial((1, -(low + high), low * high))
    return MathProblem(
        f"Solve ${left} > 0$ over the real numbers. Give the answer as a union of intervals.",
        f"(-\\infty, {low}) \\cup ({high}, \\infty)",
    )


def expansion(rng: random.Random) -> MathProblem:
    """Draws a problem that asks for the coefficients of a product of two binomials. The product itself is not asked
    for, because the question equals it.
    """
    a, b, c, d = rng.randint(2, 9), nonzero(rng, 12), rng.randint(2, 9), nonzero(rng, 12)
    return MathProblem(
        f"Expand $({polynomial((a, b))})({polynomial((c, d))})$ to $px^{{2}} + qx + r$. "
        "Give the answer as the ordered triple $(p, q, r)$.",
        f"({a * c}, {a * d + b * c}, {b * d})",
    )


def factorisation(rng: random.Random) -> MathProblem:
    """Draws a problem that asks for the factors of a quadratic polynomial, as a pair of numbers."""
    low, high = sorted(rng.sample([value for value in range(-70, 71) if value], 2))
    return MathProblem(
        f"Factor ${polynomial((1, low + high, low * high))}$ into $(x + a)(x + b)$ with $a < b$. "
        "Give the answer as the ordered pair $(a, b)$.",
        f"({low}, {high})",
    )


def polynomial_with_roots(rng: random.Random) -> MathProblem:
    """Draws a problem that asks for the coefficients of a quadratic polynomial with given zeros."""
    low, high = _two_roots(rng)
    return MathProblem(
        f"The polynomial $x^{{2}} + px + q$ has the zeros ${number(low)}$ and ${number(high)}$. "
        "Give the ordered pair $(p, q)$.",
        f"({number(-(low + high))}, {number(low * high)})",
    )


def line_through_two_points(rng: random.Random) -> MathProblem:
    """Draws a problem that asks for the equation of a line through two points."""
    (left, right), low, high = rng.sample(range(-12, 13), 2), nonzero(rng, 20), nonzero(rng, 20)
    slope = Fraction(high - low, right - left)
    return MathProblem(
        f"A straight line goes through the points $({left}, {low})$ and $({right}, {high})$. Give $y$ in terms of $x$.",
        polynomial((slope, low - slope * left)),
    )


def _two_roots(rng: random.Random) -> tuple[Fraction, Fraction]:
    while True:
        low, high = sorted(Fraction(nonzero(rng, 15), rng.randint(1, 4)) for _ in range(2))
        if low != high:
            return low, high


def _line(x: int, y: int, total: int) -> str:
    return f"{polynomial((x, 0))} {'+' if y > 0 else '-'} {polynomial((abs(y), 0), 'y')} = {total}"


def _root(whole: int, under: int) -> str:
    """Writes (`whole` + the square root of `under`) / 2 in LaTeX, simplified."""
    outside, inside = square_root(under)
    if whole % 2 == 0 and outside % 2 == 0:
        root = surd(outside // 2, inside)
        return f"{whole // 2} + {root}" if whole else root
    top = f"{whole} + {surd(outside, inside)}" if whole else surd(outside, inside)
    return f"\\frac{{{top}}}{{2}}"


FAMILIES = (
    linear_equation,
    quadratic_equation,
    larger_root,
    system_of_two,
    bounded_inequality,
    unbounded_inequality,
    expansion,
    factorisation,
    polynomial_with_roots,
    line_through_two_points,
)
