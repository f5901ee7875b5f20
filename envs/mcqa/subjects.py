"""Makes questions with computed answers: one function for each subject, with more wrong answers than are shown.

Only the question tells which option is right. Numeric options lie on a random walk, on which the right one has a random
place; wrong ones drawn around it would have it in their middle.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import accumulate
from typing import Literal

from ray_gym.envs.mcqa.words import WORDS

Subject = Literal[
    "arithmetic", "units", "dates", "weekdays", "clock", "sorting", "sequences", "divisibility", "roman numerals"
]

WRONG = 9
"""Number of wrong answers of a question."""
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
PLACES = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
UNITS = (
    ("kilometres", "metres", 1000),
    ("metres", "centimetres", 100),
    ("centimetres", "millimetres", 10),
    ("kilograms", "grams", 1000),
    ("litres", "millilitres", 1000),
    ("hours", "minutes", 60),
    ("minutes", "seconds", 60),
    ("days", "hours", 24),
    ("weeks", "days", 7),
)
ROMAN = (
    (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"),
    (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
)  # fmt: skip
LATEST_ROMAN = 3999
STEPS = (1, 2, 3, 5, 9, 10, 11, 20, 30, 60, 100, 101)
"""Steps from one numeric option to the next."""


@dataclass(frozen=True, slots=True)
class ChoiceQuestion:
    """A question has a right answer, and wrong answers that differ from it and from each other."""

    text: str
    """The question."""
    answer: str
    """The right answer."""
    wrong: tuple[str, ...]
    """Wrong answers."""


def arithmetic(rng: random.Random) -> ChoiceQuestion:
    """Draws a question that asks for the value of an expression. Half of the options lie around that value, and half
    around the result of a likely mistake.
    """
    a, b, c = rng.randint(12, 99), rng.randint(3, 30), rng.randint(2, 12)
    late, early = rng.choice(
        (((f"{a} + {b} * {c}", a + b * c), (f"({a} + {b}) * {c}", (a + b) * c)),
         ((f"{a} * {b} + {c}", a * b + c), (f"{a} * ({b} + {c})", a * (b + c))))
    )  # fmt: skip
    (expression, value), (_, careless) = rng.sample((late, early), 2)
    walk = _walk(rng, (WRONG + 1) // 2, min(value, careless) - 1)
    around = {number + step for number in (value, careless) for step in _seen_from_one(rng, walk)}
    return _numeric(f"What is {expression}?", value, sorted(around))


def units(rng: random.Random) -> ChoiceQuestion:
    """Draws a question that asks for an amount in a smaller unit."""
    large, small, factor = rng.choice(UNITS)
    whole, rest = rng.randint(2, 90), rng.randint(1, factor - 1)
    value = whole * factor + rest
    return _numeric(f"How many {small} are {whole} {large} and {rest} {small}?", value, _among(rng, value))


def dates(rng: random.Random) -> ChoiceQuestion:
    """Draws a question that asks for the date some days before or after another date."""
    start, days = _day(rng), rng.randint(5, 120)
    direction = rng.choice((1, -1))
    wanted = start + direction * timedelta(days=days)
    others = [wanted + timedelta(days=step) for step in _seen_from_one(rng, _walk(rng, WRONG + 1, 300)) if step]
    text = f"Which date is {days} days {'after' if direction > 0 else 'before'} {_spell_date(start)}?"
    return ChoiceQuestion(text, _spell_date(wanted), tuple(_spell_date(day) for day in others))


def weekdays(rng: random.Random) -> ChoiceQuestion:
    """Draws a question that asks for the day of the week of a date."""
    day = _day(rng)
    answer = WEEKDAYS[day.weekday()]
    text = f"Which day of the week is {_spell_date(day)}?"
    return ChoiceQuestion(text, answer, tuple(name for name in WEEKDAYS if name != answer))


def clock(rng: random.Random) -> ChoiceQuestion:
    """Draws a question that asks for the time at which a train arrives."""
    start, minutes = rng.randrange(24 * 60), rng.randint(25, 600)
    arrival = start + minutes
    others = [_time(arrival + step) for step in _seen_from_one(rng, _walk(rng, WRONG + 1, 12 * 60)) if step]
    hours, rest = divmod(minutes, 60)
    length = f"{hours} h {rest} min" if hours else f"{rest} min"
    text = f"A train leaves at {_time(start)} and travels for {length}. What time is it when it arrives?"
    return ChoiceQuestion(text, _time(arrival), tuple(others))


def sorting(rng: random.Random) -> ChoiceQuestion:
    """Draws a question that asks which word has a given place in alphabetical order."""
    words = rng.sample(WORDS, rng.randint(6, len(PLACES)))
    place = rng.randrange(len(words))
    answer = sorted(words)[place]
    text = f"In alphabetical order, which of these words comes {PLACES[place]}: {', '.join(words)}?"
    return ChoiceQuestion(text, answer, tuple(word for word in words if word != answer))


def sequences(rng: random.Random) -> ChoiceQuestion:
    """Draws a question that asks for the next number of a sequence."""
    start, step, growth = rng.randint(1, 60), rng.randint(2, 25), rng.randint(1, 9)
    numbers = rng.choice(
        (
            [start + step * i for i in range(6)],
            [start + step * i + growth * i * (i - 1) // 2 for i in range(6)],
            [start * 2**i for i in range(6)],
            _sums_of_two(start, step),
        )
    )
    *shown, following = numbers
    return _numeric(f"Which number comes next: {', '.join(map(str, shown))}?", following, _among(rng, following))


def divisibility(rng: random.Random) -> ChoiceQuestion:
    """Draws a question that asks which number can be divided by a divisor."""
    divisor = rng.randint(3, 19)
    answer = divisor * rng.randint(12, 90)
    width = min(80, answer - 1)
    lowest = answer - rng.randint(0, width)
    others = [number for number in range(lowest, lowest + width + 1) if number % divisor]
    text = f"Which of these numbers can be divided by {divisor} without a remainder?"
    return ChoiceQuestion(text, str(answer), tuple(str(number) for number in rng.sample(others, WRONG)))


def roman_numerals(rng: random.Random) -> ChoiceQuestion:
    """Draws a question that asks how a number is written in Roman numerals."""
    number = rng.randint(20, LATEST_ROMAN - 200)
    others = [roman(number + step) for step in _seen_from_one(rng, _walk(rng, WRONG + 1, min(number - 1, 200))) if step]
    return ChoiceQuestion(f"How is {number} written in Roman numerals?", roman(number), tuple(others))


SUBJECTS: Mapping[Subject, Callable[[random.Random], ChoiceQuestion]] = {
    "arithmetic": arithmetic,
    "units": units,
    "dates": dates,
    "weekdays": weekdays,
    "clock": clock,
    "sorting": sorting,
    "sequences": sequences,
    "divisibility": divisibility,
    "roman numerals": roman_numerals,
}


def roman(number: int) -> str:
    """Writes a number from 1 to 3999 in Roman numerals."""
    written = ""
    for value, letters in ROMAN:
        count, number = divmod(number, value)
        written += letters * count
    return written


def _numeric(text: str, answer: int, options: Sequence[int]) -> ChoiceQuestion:
    return ChoiceQuestion(text, str(answer), tuple(str(number) for number in options if number != answer))


def _among(rng: random.Random, answer: int) -> Sequence[int]:
    """Draws positive numbers, among which the answer has a random place."""
    return [answer + step for step in _seen_from_one(rng, _walk(rng, WRONG + 1, answer - 1))]


def _walk(rng: random.Random, places: int, longest: int) -> Sequence[int]:
    """Draws `places` ascending numbers that begin with 0. The last is at most `longest`, unless even steps of 1 lead
    beyond.
    """
    steps = [step for step in STEPS if step * (places - 1) <= longest] or STEPS[:1]
    return list(accumulate(rng.choices(steps, k=places - 1), initial=0))


def _seen_from_one(rng: random.Random, places: Sequence[int]) -> Sequence[int]:
    """Returns the differences of all numbers to a random one of them."""
    origin = rng.choice(places)
    return [place - origin for place in places]


def _sums_of_two(first: int, second: int) -> list[int]:
    numbers = [first, second]
    while len(numbers) < 7:
        numbers.append(numbers[-1] + numbers[-2])
    return numbers


def _day(rng: random.Random) -> date:
    return date(1950, 1, 1) + timedelta(days=rng.randrange(150 * 365))


def _spell_date(day: date) -> str:
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def _time(minutes: int) -> str:
    hours, rest = divmod(minutes % (24 * 60), 60)
    return f"{hours:02}:{rest:02}"
