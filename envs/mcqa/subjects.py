"""Questions whose answers are computed: one function a subject, each with more wrong answers than are shown.

Nothing but the question says which option is right. Answers that can be counted lie on a random walk, on which the right one has a
random place; if wrong ones were drawn around it, it would be the one in their middle.
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
"""From one option to the next."""


@dataclass(frozen=True, slots=True)
class Question:
    """`wrong` answers are different from each other and from the right one."""

    text: str
    answer: str
    wrong: tuple[str, ...]


def arithmetic(rng: random.Random) -> Question:
    """Each expression has a twin that is worth what a likely mistake gives. Half of the options lie around either value, alike."""
    a, b, c = rng.randint(12, 99), rng.randint(3, 30), rng.randint(2, 12)
    late, early = rng.choice(
        (((f"{a} + {b} * {c}", a + b * c), (f"({a} + {b}) * {c}", (a + b) * c)),
         ((f"{a} * {b} + {c}", a * b + c), (f"{a} * ({b} + {c})", a * (b + c))))
    )  # fmt: skip
    (expression, value), (_, careless) = rng.sample((late, early), 2)
    walk = _walk(rng, (WRONG + 1) // 2, min(value, careless) - 1)
    around = {number + step for number in (value, careless) for step in _seen_from_one(rng, walk)}
    return _numeric(f"What is {expression}?", value, sorted(around))


def units(rng: random.Random) -> Question:
    large, small, factor = rng.choice(UNITS)
    whole, rest = rng.randint(2, 90), rng.randint(1, factor - 1)
    value = whole * factor + rest
    return _numeric(f"How many {small} are {whole} {large} and {rest} {small}?", value, _among(rng, value))


def dates(rng: random.Random) -> Question:
    start, days = _day(rng), rng.randint(5, 120)
    direction = rng.choice((1, -1))
    wanted = start + direction * timedelta(days=days)
    others = [wanted + timedelta(days=step) for step in _seen_from_one(rng, _walk(rng, WRONG + 1, 300)) if step]
    text = f"Which date is {days} days {'after' if direction > 0 else 'before'} {_written(start)}?"
    return Question(text, _written(wanted), tuple(_written(day) for day in others))


def weekdays(rng: random.Random) -> Question:
    day = _day(rng)
    answer = WEEKDAYS[day.weekday()]
    text = f"Which day of the week is {_written(day)}?"
    return Question(text, answer, tuple(name for name in WEEKDAYS if name != answer))


def clock(rng: random.Random) -> Question:
    start, minutes = rng.randrange(24 * 60), rng.randint(25, 600)
    arrival = start + minutes
    others = [_time(arrival + step) for step in _seen_from_one(rng, _walk(rng, WRONG + 1, 12 * 60)) if step]
    hours, rest = divmod(minutes, 60)
    length = f"{hours} h {rest} min" if hours else f"{rest} min"
    text = f"A train leaves at {_time(start)} and travels for {length}. What time is it when it arrives?"
    return Question(text, _time(arrival), tuple(others))


def sorting(rng: random.Random) -> Question:
    words = rng.sample(WORDS, rng.randint(6, len(PLACES)))
    place = rng.randrange(len(words))
    answer = sorted(words)[place]
    text = f"In alphabetical order, which of these words comes {PLACES[place]}: {', '.join(words)}?"
    return Question(text, answer, tuple(word for word in words if word != answer))


def sequences(rng: random.Random) -> Question:
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


def divisibility(rng: random.Random) -> Question:
    divisor = rng.randint(3, 19)
    answer = divisor * rng.randint(12, 90)
    width = min(80, answer - 1)
    lowest = answer - rng.randint(0, width)
    others = [number for number in range(lowest, lowest + width + 1) if number % divisor]
    text = f"Which of these numbers can be divided by {divisor} without a remainder?"
    return Question(text, str(answer), tuple(str(number) for number in rng.sample(others, WRONG)))


def roman_numerals(rng: random.Random) -> Question:
    number = rng.randint(20, LATEST_ROMAN - 200)
    others = [roman(number + step) for step in _seen_from_one(rng, _walk(rng, WRONG + 1, min(number - 1, 200))) if step]
    return Question(f"How is {number} written in Roman numerals?", roman(number), tuple(others))


SUBJECTS: Mapping[Subject, Callable[[random.Random], Question]] = {
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
    """From 1 to 3999."""
    written = ""
    for value, letters in ROMAN:
        count, number = divmod(number, value)
        written += letters * count
    return written


def _numeric(text: str, answer: int, options: Sequence[int]) -> Question:
    return Question(text, str(answer), tuple(str(number) for number in options if number != answer))


def _among(rng: random.Random, answer: int) -> Sequence[int]:
    """Positive numbers, of which the answer is one like any other."""
    return [answer + step for step in _seen_from_one(rng, _walk(rng, WRONG + 1, answer - 1))]


def _walk(rng: random.Random, places: int, longest: int) -> Sequence[int]:
    """So many different places in ascending order, the last at most `longest` from the first (if that leaves room for them)."""
    steps = [step for step in STEPS if step * (places - 1) <= longest] or STEPS[:1]
    return list(accumulate(rng.choices(steps, k=places - 1), initial=0))


def _seen_from_one(rng: random.Random, places: Sequence[int]) -> Sequence[int]:
    """How far they are from a random one of them."""
    origin = rng.choice(places)
    return [place - origin for place in places]


def _sums_of_two(first: int, second: int) -> list[int]:
    numbers = [first, second]
    while len(numbers) < 7:
        numbers.append(numbers[-1] + numbers[-2])
    return numbers


def _day(rng: random.Random) -> date:
    return date(1950, 1, 1) + timedelta(days=rng.randrange(150 * 365))


def _written(day: date) -> str:
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def _time(minutes: int) -> str:
    hours, rest = divmod(minutes % (24 * 60), 60)
    return f"{hours:02}:{rest:02}"
