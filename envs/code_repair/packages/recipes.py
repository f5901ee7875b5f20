"""Describes packages that scale recipes."""

from __future__ import annotations

import random

from ray_gym.envs.code_repair.packages.blueprint import Blueprint, Names, Probe, joined, pick

THINGS = "flour milk sugar salt rice"


def draw(rng: random.Random) -> dict[str, str]:
    return {
        "package": joined(rng, "home camp big village", "kitchen recipes cooking meals"),
        "Recipe": pick(rng, "Recipe Dish Meal"),
        "serves": str(rng.choice((2, 4, 6))),
        "spoon": str(rng.choice((10, 15))),
        "shopping": pick(rng, "shopping to_buy basket"),
    }


FILES = {
    "__init__.py": '''
"""Scales recipes, whose amounts are whole grams, and writes lists of what to buy."""

from .amounts import read_amount, scaled, spelled
from .dishes import $Recipe, $shopping

__all__ = ["$Recipe", "$shopping", "read_amount", "scaled", "spelled"]
''',
    "amounts.py": '''
"""Works with amounts."""

GRAMS = {"g": 1, "kg": 1000, "spoon": $spoon}


def read_amount(text):
    """Reads an amount such as "2 kg", "3 spoon" or "250" as grams. An unknown unit, or an amount below 1, is a
    ValueError.
    """
    number, _, unit = text.strip().partition(" ")
    if unit and unit not in GRAMS:
        raise ValueError("an unknown unit")
    grams = int(number) * GRAMS.get(unit, 1)
    if grams < 1:
        raise ValueError("an amount is at least 1 g")
    return grams


def scaled(grams, people, serves):
    """Returns an amount for other people than it serves, rounded up to whole grams. Nobody is a ValueError."""
    if people < 1 or serves < 1:
        raise ValueError("a dish is for somebody")
    return (grams * people + serves - 1) // serves


def spelled(grams):
    """Writes grams: from 1000 on as kilograms with one digit behind the point, rounded down, else as grams."""
    if grams < 1000:
        return str(grams) + " g"
    return str(grams // 1000) + "." + str(grams % 1000 // 100) + " kg"
''',
    "dishes.py": '''
"""Holds recipes."""

from .amounts import read_amount, scaled


class $Recipe:
    """Holds the ingredients of a dish, in grams."""

    def __init__(self, name, serves=$serves, parts=None):
        if parts is None:
            parts = {}
        self.name = name
        self.serves = serves
        self.parts = dict(parts)

    def add(self, thing, amount):
        """Adds an amount (as `read_amount` reads it) of an ingredient to what there is of it."""
        self.parts[thing] = self.parts.get(thing, 0) + read_amount(amount)

    def for_people(self, people):
        """Returns the ingredients for a number of people."""
        return {thing: scaled(grams, people, self.serves) for thing, grams in self.parts.items()}

    def heaviest(self, count=1):
        """Returns the names of the `count` heaviest ingredients, the heaviest first; equal ones by name."""
        order = sorted(self.parts, key=lambda thing: (-self.parts[thing], thing))
        return order[:count]

    def without(self, *things):
        """Returns the recipe without some ingredients. This one stays as it is."""
        return $Recipe(self.name, self.serves, {thing: self.parts[thing] for thing in self.parts if thing not in things})


def $shopping(recipes, people, at_home=None):
    """Returns what has to be bought for all recipes: their ingredients without what is at home. What there is enough of
    is left out, and `at_home` stays as it is.
    """
    if at_home is None:
        at_home = {}
    left, wanted = dict(at_home), {}
    for recipe in recipes:
        for thing, grams in recipe.for_people(people).items():
            used = min(left.get(thing, 0), grams)
            if used > 0:
                left[thing] = left[thing] - used
            if grams > used:
                wanted[thing] = wanted.get(thing, 0) + grams - used
    return wanted
''',
}


def _amount(rng: random.Random) -> str:
    return rng.choice((f"{rng.randint(1, 9)}", f"{rng.randint(1, 900)} g", f"{rng.randint(1, 3)} spoon", "1 kg"))


def probe(rng: random.Random, names: Names) -> Probe:
    kind = rng.randrange(6)
    if kind == 0:
        text = rng.choice((_amount(rng), _amount(rng), "0", "0 kg", "1", " 2 g ", "3 cups", "-1 kg", "2 spoon"))
        return Probe((), f"read_amount({text!r})")
    if kind == 1:
        return Probe((), f"scaled({rng.randint(1, 90)}, {rng.randint(0, 7)}, {rng.choice((0, 1, 2, 3, 4))})")
    if kind == 2:
        return Probe((), f"spelled({rng.choice((0, 999, 1000, 1001, 1099, 1100, 1999, 2000, rng.randint(1, 9999)))})")
    lines = [f"dish = {names['Recipe']}('soup'{rng.choice(('', '', ', 3'))})"]
    for _ in range(rng.randint(1, 4)):
        lines.append(f"dish.add({pick(rng, THINGS)!r}, {_amount(rng)!r})")
    people = rng.randint(1, 9)
    if kind == 3:
        asks = rng.choice((f"dish.for_people({people})", "dish.heaviest()", f"dish.heaviest({rng.randint(0, 3)})"))
        return Probe(tuple(lines), asks)
    if kind == 4:
        lines.append(f"other = dish.without({pick(rng, THINGS)!r})")
        lines.append(f"other.add('oil', {_amount(rng)!r})")
        return Probe(tuple(lines), "[dish.parts, other.parts, other.serves]")
    home = f"home = {{{pick(rng, THINGS)!r}: {rng.choice((1, 5, 50, 2000))}}}"
    lines += [
        home,
        f"more = {names['Recipe']}('bread', 2, home)",
        f"bought = {names['shopping']}([dish, more], {people}, home)",
    ]
    return Probe(tuple(lines), rng.choice(("[bought, home]", f"[bought, {names['shopping']}([dish], 1)]")))


RECIPES = Blueprint(
    "recipes", "It scales recipes, and writes lists of what to buy.", draw, FILES,
    "from $package import $Recipe, $shopping, read_amount, scaled, spelled", probe,
)  # fmt: skip
