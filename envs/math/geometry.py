"""Makes problems whose answers have pi or a root in them."""

from __future__ import annotations

import random
from fractions import Fraction

from ray_gym.envs.math.latex import number, surd, times
from ray_gym.envs.math.problem import MathProblem

SINES = {30: (Fraction(1, 2), 1), 45: (Fraction(1, 2), 2), 60: (Fraction(1, 2), 3), 120: (Fraction(1, 2), 3)}
"""Sine of each angle in degrees, as a factor and the number under a root."""


def hypotenuse(rng: random.Random) -> MathProblem:
    """Draws a problem that asks for the hypotenuse of a right triangle."""
    short, long = rng.randint(1, 120), rng.randint(1, 120)
    return MathProblem(
        f"The legs of a right triangle are {short} and {long} long. How long is its hypotenuse? Give the exact value.",
        surd(1, short**2 + long**2),
    )


def area_of_a_ring(rng: random.Random) -> MathProblem:
    """Draws a problem that asks for the area of a ring between two circles."""
    inner, wider = Fraction(rng.randint(1, 60), rng.randint(1, 4)), Fraction(rng.randint(1, 30), 2)
    outer = inner + wider
    return MathProblem(
        f"A ring lies between two circles with the same centre and the radii ${number(inner)}$ and ${number(outer)}$. "
        "What is its exact area?",
        times(outer**2 - inner**2, "\\pi"),
    )


def volume_of_a_cone(rng: random.Random) -> MathProblem:
    """Draws a problem that asks for the volume of a cone."""
    radius, height = rng.randint(1, 90), rng.randint(1, 90)
    return MathProblem(
        f"A cone has a base of radius {radius} and a height of {height}. What is its exact volume?",
        times(Fraction(radius**2 * height, 3), "\\pi"),
    )


def area_of_a_triangle(rng: random.Random) -> MathProblem:
    """Draws a problem that asks for the area of a triangle, by two sides and the angle between them."""
    one, other, angle = rng.randint(2, 80), rng.randint(2, 80), rng.choice(sorted(SINES))
    factor, radicand = SINES[angle]
    return MathProblem(
        f"Two sides of a triangle are {one} and {other} long, and the angle between them measures {angle} degrees. "
        "What is its exact area?",
        surd(Fraction(one * other, 2) * factor, radicand),
    )


FAMILIES = (hypotenuse, area_of_a_ring, volume_of_a_cone, area_of_a_triangle)
