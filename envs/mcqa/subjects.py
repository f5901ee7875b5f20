"""Questions whose answers are computed: one function a subject, each with more wrong answers than are shown."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

from envs.mcqa.words import WORDS

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


@dataclass(frozen=True, slots=True)
class Question:
    """`wrong` answers are different from each other and from the right one."""

    text: str
    answer: str
    wrong: tuple[str, ...]


def arithmetic(rng: random.Random) -> Question:
    a, b, c = rng.randint(12, 99), rng.randint(3, 30), rng.randint(2, 12)
    expression, value, careless = rng.choice(
        (
            (f"{a} + {b} * {c}", a + b * c, (a + b) * c),
            (f"({a} + {b}) * {c}", (a + b) * c, a + b * c),
            (f"{a} * {c} - {b}", a * c - b, a * (c - b)),
            (f"{a} * {b} + {c}", a * b + c, a * (b + c)),
        )
    )
    return _numeric(rng, f"What is {expression}?", value, careless)


def units(rng: random.Random) -> Question:
    large, small, factor = rng.choice(UNITS)
    whole, rest = rng.randint(2, 90), rng.randint(1, factor - 1)
    value = whole * factor + rest
    return _numeric(rng, f"How many {small} are {whole} {large} and {rest} {small}?", value, whole * 10 + rest)


def dates(rng: random.Random) -> Question:
    start, days = _day(rng), rng.randint(5, 120)
    direction = rng.choice((1, -1))
    wanted = start + direction * timedelta(days=days)
    others = [wanted + timedelta(days=distance) for distance in (-30, -10, -3, -2, -1, 1, 2, 3, 7, 31)]
    text = f"Which date is {days} days {'after' if direction > 0 else 'before'} {_written(start)}?"
    return Question(text, _written(wanted), tuple(_written(day) for day in rng.sample(others, WRONG)))


def weekdays(rng: random.Random) -> Question:
    day = _day(rng)
    answer = WEEKDAYS[day.weekday()]
    text = f"Which day of the week is {_written(day)}?"
    return Question(text, answer, tuple(name for name in WEEKDAYS if name != answer))


def clock(rng: random.Random) -> Question:
    start, minutes = rng.randrange(24 * 60), rng.randint(25, 600)
    arrival = start + minutes
    others = [_time(arrival + distance) for distance in (-60, -40, -30, -10, -5, 5, 10, 30, 40, 60)]
    hours, rest = divmod(minutes, 60)
    length = f"{hours} h {rest} min" if hours else f"{rest} min"
    text = f"A train leaves at {_time(start)} and travels for {length}. What time is it when it arrives?"
    return Question(text, _time(arrival), tuple(rng.sample(others, WRONG)))


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
    careless = 2 * shown[-1] - shown[-2]
    return _numeric(rng, f"Which number comes next: {', '.join(map(str, shown))}?", following, careless)


def divisibility(rng: random.Random) -> Question:
    divisor = rng.randint(3, 19)
    answer = divisor * rng.randint(12, 90)
    others = [number for number in range(max(1, answer - 40), answer + 41) if number % divisor]
    text = f"Which of these numbers can be divided by {divisor} without a remainder?"
    return Question(text, str(answer), tuple(str(number) for number in rng.sample(others, WRONG)))


def roman_numerals(rng: random.Random) -> Question:
    number = rng.randint(20, LATEST_ROMAN - 200)
    others = [roman(near) for near in _near(rng, number)]
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


def _numeric(rng: random.Random, text: str, answer: int, careless: int) -> Question:
    """`careless` is what a likely mistake gives; it is among the wrong answers if it is one."""
    wrong = dict.fromkeys([careless, *_near(rng, answer)])
    return Question(text, str(answer), tuple(str(number) for number in wrong if number != answer)[:WRONG])


def _near(rng: random.Random, answer: int) -> Sequence[int]:
    """Numbers that are not the answer, and look as if they could be."""
    distances = (1, 2, 3, 5, 9, 10, 11, 20, 100, 101)
    near = [answer + sign * distance for distance in distances for sign in (1, -1)]
    return rng.sample([number for number in near if number > 0 or answer <= 0], WRONG)


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
