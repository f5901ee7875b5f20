"""Makes problems with fractions and percentages."""

from __future__ import annotations

import random
from fractions import Fraction

from ray_gym.envs.math.latex import decimal, number
from ray_gym.envs.math.problem import MathProblem, fraction

THINGS = ("A coat", "A lamp", "A bicycle", "A guitar", "A tent", "A desk")
AMOUNTS = ("The price of a ticket", "The rent of a garage", "A town's population", "The number of members of a club")


def sum_of_fractions(rng: random.Random) -> MathProblem:
    """Draws a problem that asks for the sum of two fractions minus a third."""
    first, second, third = (fraction(rng) for _ in range(3))
    return MathProblem(
        f"Compute ${number(first)} + {number(second)} - {number(third)}$.",
        number(first + second - third),
    )


def product_of_fractions(rng: random.Random) -> MathProblem:
    """Draws a problem that asks for the product of a fraction and the difference of two others."""
    first, second, third = (fraction(rng) for _ in range(3))
    return MathProblem(
        f"Compute ${number(first)} \\cdot \\left({number(second)} - {number(third)}\\right)$.",
        number(first * (second - third)),
    )


def water_in_a_tank(rng: random.Random) -> MathProblem:
    """Draws a problem that asks how much water is left in a tank, by two fractions."""
    litres = rng.randint(20, 400)
    full, used = (Fraction(rng.randint(1, bottom - 1), bottom) for bottom in (rng.randint(2, 9), rng.randint(2, 9)))
    return MathProblem(
        f"A tank that holds {litres} litres is ${number(full)}$ full. Then ${number(used)}$ of the water in it is used. "
        "How many litres of water are left?",
        number(litres * full * (1 - used)),
    )


def percentage_of(rng: random.Random) -> MathProblem:
    """Draws a problem that asks for a percentage of a number."""
    percent, amount = rng.randint(2, 99), rng.randint(11, 999)
    return MathProblem(f"What is {percent}% of {amount}?", decimal(Fraction(percent * amount, 100)))


def two_changes_of_a_price(rng: random.Random) -> MathProblem:
    """Draws a problem that asks for a price after a reduction and a rise by percentages."""
    thing, price = rng.choice(THINGS), rng.randint(20, 600)
    down, up = 5 * rng.randint(1, 12), 5 * rng.randint(1, 12)
    return MathProblem(
        f"{thing} costs {price} dollars. The price is reduced by {down}%, and later the new price is raised by {up}%. "
        "How many dollars does it cost then?",
        decimal(price * Fraction(100 - down, 100) * Fraction(100 + up, 100)),
    )


def percentage_of_change(rng: random.Random) -> MathProblem:
    """Draws a problem that asks by how many percent an amount has changed."""
    amount, before, percent = rng.choice(AMOUNTS), 20 * rng.randint(1, 100), 5 * rng.randint(1, 19)
    direction = rng.choice((-1, 1))
    after = before * (100 + direction * percent) // 100
    verb = "rises" if direction > 0 else "falls"
    return MathProblem(f"{amount} {verb} from {before} to {after}. By how many percent is that?", f"{percent}\\%")


FAMILIES = (
    sum_of_fractions,
    product_of_fractions,
    water_in_a_tank,
    percentage_of,
    two_changes_of_a_price,
    percentage_of_change,
)
