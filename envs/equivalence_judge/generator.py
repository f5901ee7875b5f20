"""Makes questions whose answers can be phrased in many ways, each with one way to say it: the gold answer."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import date, timedelta
from fractions import Fraction

from ray_gym.envs.equivalence_judge.words import DESCRIBED, KINDS, NAMES, PACKED, UNITS

QuestionWithAnswer = tuple[str, str]
"""A question and its gold answer."""
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def question(rng: random.Random) -> QuestionWithAnswer:
    """Draws a question of any kind, and returns it with its gold answer."""
    return rng.choice(FAMILIES)(rng)


def later_date(rng: random.Random) -> QuestionWithAnswer:
    """Draws a question that asks for the date some days after another date."""
    name, begin = rng.choice(NAMES), date(1990, 1, 1) + timedelta(rng.randrange(12_000))
    days = rng.randint(3, 60)
    asked = f"{name} borrowed a book on {_spell_date(begin)} and has to return it {days} days later. What date is that?"
    return asked, _spell_date(begin + timedelta(days))


def weekday(rng: random.Random) -> QuestionWithAnswer:
    """Draws a question that asks for the weekday some days after a given one. The answer is never the given weekday."""
    name, today, days = rng.choice(NAMES), rng.randrange(7), 7 * rng.randint(1, 40) + rng.randint(1, 6)
    asked = (
        f"It is {WEEKDAYS[today]}, and {name} will have a visitor in {days} days. What day of the week will that be?"
    )
    return asked, WEEKDAYS[(today + days) % 7]


def arrival(rng: random.Random) -> QuestionWithAnswer:
    """Draws a question that asks for the time of arrival after a journey, by the time of leaving and its length."""
    name, minute, length = rng.choice(NAMES), rng.randint(5 * 60, 14 * 60), rng.randint(25, 9 * 60)
    hours, minutes = divmod(length, 60)
    asked = f"{name} leaves at {_clock(minute)} and is on the way for {_hours(hours, minutes)}. At what time does {name} arrive?"
    return asked, _clock(minute + length)


def unit(rng: random.Random) -> QuestionWithAnswer:
    """Draws a question that asks for an amount in a smaller unit."""
    name, (thing, large, small, factor) = rng.choice(NAMES), rng.choice(UNITS)
    amount = Fraction(rng.randint(5, 400), 4)
    asked = f"{name} reads: {thing} {float(amount):g} {large}. How many {small} is that?"
    return asked, f"{float(amount * factor):g} {small}"


def names_of_things(rng: random.Random) -> QuestionWithAnswer:
    """Draws a question that asks for the names of three described things."""
    chosen = rng.sample(sorted(DESCRIBED), 3)
    lines = "\n".join(f"{number}. {DESCRIBED[name]}" for number, name in enumerate(chosen, start=1))
    return f"What are these three things called?\n{lines}", _list_words(chosen)


def enough(rng: random.Random) -> QuestionWithAnswer:
    """Draws a question that asks whether there are enough things. The answer is yes or no, with a reason."""
    name, (things, containers) = rng.choice(NAMES), rng.choice(PACKED)
    count, size, difference = rng.randint(3, 30), rng.randint(3, 24), rng.choice((-1, 1)) * rng.randint(1, 20)
    needed = count * size
    has = max(needed + difference, 1)
    asked = (
        f"{name} has {has} {things} and wants to fill {count} {containers} with {size} {things} each. "
        "Are there enough? Say yes or no, and how many are left over or missing."
    )
    if has >= needed:
        return asked, f"Yes. {count} {containers} take {needed} {things}, which leaves {has - needed}."
    return asked, f"No. {count} {containers} take {needed} {things}, which is {needed - has} more than there are."


def members_of_a_kind(rng: random.Random) -> QuestionWithAnswer:
    """Draws a question that asks which words of a list belong to a kind."""
    kind, other, another = rng.sample(sorted(KINDS), 3)
    right = rng.sample(KINDS[kind], rng.randint(2, 4))
    shown = right + rng.sample(KINDS[other], 2) + rng.sample(KINDS[another], 2)
    rng.shuffle(shown)
    asked = f"Which of these are {kind}: {', '.join(shown)}?"
    return asked, _list_words([word for word in shown if word in right])


FAMILIES: tuple[Callable[[random.Random], QuestionWithAnswer], ...] = (
    later_date,
    weekday,
    arrival,
    unit,
    names_of_things,
    enough,
    members_of_a_kind,
)


def _spell_date(day: date) -> str:
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def _clock(minute: int) -> str:
    return f"{minute // 60:02}:{minute % 60:02}"


def _hours(hours: int, minutes: int) -> str:
    parts = [
        f"{count} {word}{'s' if count > 1 else ''}" for count, word in ((hours, "hour"), (minutes, "minute")) if count
    ]
    return " and ".join(parts)


def _list_words(words: list[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}"
