"""Describes packages that compare versions."""

from __future__ import annotations

import random

from ray_gym.envs.code_repair.packages.blueprint import Blueprint, Names, Probe, joined, pick


def draw(rng: random.Random) -> dict[str, str]:
    return {
        "package": joined(rng, "simple small plain strict", "versions releases semver tags"),
        "read": pick(rng, "read parse numbers_of"),
        "raised": pick(rng, "raised bump next_of"),
        "newest": pick(rng, "newest latest best"),
    }


FILES = {
    "__init__.py": '''
"""Compares versions such as 1.4.2."""

from .numbers import $raised, $read, compare
from .ranges import $newest, fits

__all__ = ["$newest", "$raised", "$read", "compare", "fits"]
''',
    "numbers.py": '''
"""Reads versions."""

PARTS = 3


def $read(text):
    """Returns the three numbers of a version. Those that are left out are 0; a leading v is allowed. More than three, or
    none, are a ValueError.
    """
    text = text.strip()
    if text.startswith("v"):
        text = text[1:]
    numbers = [int(part) for part in text.split(".")]
    if len(numbers) > PARTS:
        raise ValueError("a version has three numbers")
    while len(numbers) < PARTS:
        numbers.append(0)
    return numbers


def compare(one, other):
    """Returns -1 if the first version is older than the other, 1 if it is newer, 0 if they are equal."""
    left, right = $read(one), $read(other)
    for number in range(PARTS):
        if left[number] < right[number]:
            return -1
        if left[number] > right[number]:
            return 1
    return 0


def $raised(text, part=2):
    """Returns the next version: the number of `part` (0, 1 or 2) is one higher, and those behind it are 0. Another part
    is a ValueError.
    """
    if part < 0 or part >= PARTS:
        raise ValueError("a part is 0, 1 or 2")
    numbers = $read(text)
    numbers[part] = numbers[part] + 1
    for later in range(part + 1, PARTS):
        numbers[later] = 0
    return ".".join(str(number) for number in numbers)
''',
    "ranges.py": '''
"""Finds versions in a range."""

from .numbers import $raised, $read, compare


def fits(version, wanted):
    """Says whether a version is as wanted: ">=1.2" is that one or a newer, "<2" an older, "~1.2" is at least 1.2.0 and
    older than 1.3.0, "^1.2" at least 1.2.0 and older than 2.0.0, and "1.2" just 1.2.0. All of several, parted by
    commas, must hold.
    """
    return all(_holds(version, one.strip()) for one in wanted.split(","))


def _holds(version, rule):
    if rule.startswith(">="):
        return compare(version, rule[2:]) >= 0
    if rule.startswith("<"):
        return compare(version, rule[1:]) < 0
    if rule.startswith("~"):
        return compare(version, rule[1:]) >= 0 and compare(version, $raised(rule[1:], 1)) < 0
    if rule.startswith("^"):
        return compare(version, rule[1:]) >= 0 and compare(version, $raised(rule[1:], 0)) < 0
    return compare(version, rule) == 0


def $newest(versions, wanted=""):
    """Returns the newest of the versions that fit, as it is written; None if there is none. Without a range, all fit. Of
    equal ones it is the first.
    """
    found = None
    for version in versions:
        if wanted and not fits(version, wanted):
            continue
        if found is None or compare(version, found) > 0:
            found = version
    return found
''',
}


def _version(rng: random.Random) -> str:
    numbers = [rng.randint(0, 3), rng.choice((0, 1, 2, 9, 10)), rng.choice((0, 1, 9, 10))][
        : rng.choice((1, 2, 3, 3, 3))
    ]
    return rng.choice(("", "", "", "v")) + ".".join(map(str, numbers))


def probe(rng: random.Random, names: Names) -> Probe:
    one, other = _version(rng), _version(rng)
    kind = rng.randrange(5)
    if kind == 0:
        return Probe((), f"{names['read']}({rng.choice((one, one, ' ' + one, one + '.1.1', ''))!r})")
    if kind == 1:
        return Probe((), f"compare({one!r}, {rng.choice((other, one))!r})")
    if kind == 2:
        return Probe((), f"{names['raised']}({one!r}{rng.choice(('', f', {rng.randint(-1, 3)}'))})")
    rule = rng.choice((">=", "<", "~", "^", "")) + other
    if kind == 3:
        if rng.random() < 0.3:
            rule = f">={_version(rng)}, <{_version(rng)}"
        return Probe((), f"fits({rng.choice((one, other))!r}, {rule!r})")
    listed = [_version(rng) for _ in range(rng.randint(0, 5))]
    return Probe((), f"{names['newest']}({listed!r}{rng.choice(('', f', {rule!r}'))})")


VERSIONS = Blueprint(
    "versions", "It reads and compares versions, and finds those that fit a range.", draw, FILES,
    "from $package import $newest, $raised, $read, compare, fits", probe,
)  # fmt: skip
