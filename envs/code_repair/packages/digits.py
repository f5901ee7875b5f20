"""Describes packages that write numbers in digits."""

from __future__ import annotations

import random

from ray_gym.envs.code_repair.packages.blueprint import Blueprint, Names, Probe, joined, pick


def draw(rng: random.Random) -> dict[str, str]:
    return {
        "package": joined(rng, "short odd round number", "codes digits marks labels"),
        "base": str(rng.choice((5, 6, 7, 9, 12))),
        "write": pick(rng, "write to_digits encoded"),
        "read": pick(rng, "read from_digits decoded"),
        "factor": str(rng.choice((3, 7))),
        "group": str(rng.choice((3, 4))),
    }


FILES = {
    "__init__.py": '''
"""Writes numbers in digits of any base, and labels with a digit that checks them."""

from .bases import $read, $write
from .labels import grouped, is_right, labelled
from .romans import roman

__all__ = ["$read", "$write", "grouped", "is_right", "labelled", "roman"]
''',
    "bases.py": '''
"""Writes and reads numbers."""

DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
BASE = $base


def $write(number, base=BASE):
    """Returns a number in the digits of a base from 2 to 36; another base is a ValueError. A number below 0 has a - in
    front.
    """
    if base < 2 or base > len(DIGITS):
        raise ValueError("a base is 2 to 36")
    if number < 0:
        return "-" + $write(-number, base)
    digits = ""
    while number >= base:
        digits = DIGITS[number % base] + digits
        number = number // base
    return DIGITS[number] + digits


def $read(text, base=BASE):
    """Reads a number in the digits of a base. A digit that the base does not have is a ValueError."""
    if text.startswith("-"):
        return -$read(text[1:], base)
    number = 0
    for character in text:
        digit = DIGITS.index(character)
        if digit >= base:
            raise ValueError("the base has no such digit")
        number = number * base + digit
    return number
''',
    "labels.py": '''
"""Makes labels that show most slips of the pen."""

FACTOR = $factor


def _check_digit(digits):
    total = 0
    for place, character in enumerate(digits):
        weight = FACTOR if place % 2 == 0 else 1
        total = total + weight * int(character)
    return (10 - total % 10) % 10


def labelled(number, length=6):
    """Returns a number as a label: with zeros in front up to `length` digits, and a check digit behind. With it, the sum
    of all digits, of which the 1st, 3rd, 5th... count $factor times, ends in 0 (the check digit counts once). A
    number that is too long is a ValueError.
    """
    digits = str(number)
    if len(digits) > length:
        raise ValueError("the number has too many digits")
    digits = "0" * (length - len(digits)) + digits
    return digits + str(_check_digit(digits))


def is_right(label):
    """Says whether the last digit of a label is its check digit. A label has at least two digits, and nothing else."""
    if len(label) < 2 or not label.isdigit():
        return False
    return int(label[-1]) == _check_digit(label[:-1])


def grouped(label, size=$group):
    """Returns a label with a space after each `size` characters, counted from the end."""
    groups = []
    while len(label) > size:
        groups.insert(0, label[-size:])
        label = label[:-size]
    groups.insert(0, label)
    return " ".join(groups)
''',
    "romans.py": '''
"""Writes Roman numerals."""

SIGNS = [(100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")]


def roman(number):
    """Returns a number from 1 to 399 as a Roman numeral; another is a ValueError."""
    if number < 1 or number > 399:
        raise ValueError("a Roman numeral is 1 to 399")
    text = ""
    for value, sign in SIGNS:
        while number >= value:
            text = text + sign
            number = number - value
    return text
''',
}


def probe(rng: random.Random, names: Names) -> Probe:
    base = int(names["base"])
    kind = rng.randrange(6)
    if kind == 0:
        number = rng.choice((0, base - 1, base, base * base, -base, rng.randint(1, 999)))
        return Probe((), f"{names['write']}({number}{rng.choice(('', f', {rng.choice((1, 2, 16, 36, 37))}'))})")
    if kind == 1:
        digits = "".join(rng.choice("0123456789ab"[: base + rng.randint(0, 1)]) for _ in range(rng.randint(1, 4)))
        return Probe((), f"{names['read']}({rng.choice(('', '', '-')) + digits!r}{rng.choice(('', ', 16', ', 2'))})")
    if kind == 2:
        return Probe(
            (), f"labelled({rng.choice((0, 7, 999999, 1000000, rng.randint(1, 99999)))}{rng.choice(('', ', 3'))})"
        )
    if kind == 3:
        label = f"{rng.randint(0, 99999):05d}"
        return Probe(
            (),
            f"[is_right({label!r} + str(digit)) for digit in range(10)]"
            if rng.random() < 0.6
            else f"is_right({rng.choice(('', '0', '00', '1a', label))!r})",
        )
    if kind == 4:
        return Probe(
            (), f"grouped({str(10 ** rng.randint(0, 9) + rng.randint(0, 9))!r}{rng.choice(('', ', 2', ', 1'))})"
        )
    return Probe(
        (), f"roman({rng.choice((0, 1, 399, 400, rng.randint(1, 399), rng.randint(1, 99), 10 * rng.randint(1, 39)))})"
    )


DIGITS = Blueprint(
    "digits", "It writes numbers in digits of any base, as labels with a check digit, and as Roman numerals.", draw, FILES,
    "from $package import $read, $write, grouped, is_right, labelled, roman", probe,
)  # fmt: skip
