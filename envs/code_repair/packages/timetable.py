"""Describes packages that plan a day in minutes."""

from __future__ import annotations

import random

from ray_gym.envs.code_repair.packages.blueprint import Blueprint, Names, Probe, joined, pick


def draw(rng: random.Random) -> dict[str, str]:
    start = rng.randint(7, 9)
    return {
        "package": joined(rng, "day office studio clinic", "planner timetable diary agenda"),
        "opens": str(60 * start),
        "closes": str(60 * (start + rng.randint(8, 10))),
        "slot": str(rng.choice((10, 15, 20, 30))),
        "merge": pick(rng, "merge unite join_up"),
        "gaps": pick(rng, "gaps free_times openings"),
    }


FILES = {
    "__init__.py": '''
"""Plans a day: times are minutes since midnight, and a span (begin, end) has its end left out."""

from .clock import minutes, spelled
from .spans import $gaps, $merge, overlaps, slots

__all__ = ["$gaps", "$merge", "minutes", "overlaps", "slots", "spelled"]
''',
    "clock.py": '''
"""Reads and writes times of day."""

DAY = 24 * 60


def minutes(text):
    """Reads a time like "9:05" as minutes since midnight. "24:00" is the end of the day; a later time, or one with 60
    minutes or more, is a ValueError.
    """
    hours, rest = [int(part) for part in text.split(":")]
    if rest >= 60:
        raise ValueError("an hour has 60 minutes")
    total = hours * 60 + rest
    if total > DAY:
        raise ValueError("a day has 24 hours")
    return total


def spelled(time):
    """Writes minutes since midnight as a time with two digits each, like "09:05"."""
    return "{:02d}:{:02d}".format(time // 60, time % 60)
''',
    "spans.py": '''
"""Works with spans of time."""

OPENS = $opens
CLOSES = $closes


def overlaps(one, other):
    """Says whether two spans share a minute. Spans that only touch share none."""
    return one[0] < other[1] and other[0] < one[1]


def $merge(spans):
    """Returns the spans in order, with those that overlap or touch made one. The list that is given stays as it is."""
    merged = []
    for begin, end in sorted(spans):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
            continue
        merged.append((begin, end))
    return merged


def $gaps(busy, opens=OPENS, closes=CLOSES):
    """Returns the spans between opening and closing in which nothing is busy."""
    free, at = [], opens
    for begin, end in $merge(busy):
        if begin > at:
            free.append((at, min(begin, closes)))
        at = max(at, end)
        if at >= closes:
            return free
    free.append((at, closes))
    return free


def slots(busy, length=$slot, opens=OPENS, closes=CLOSES):
    """Returns the beginnings of all free slots of a length, one after the other within each gap; the last may end when
    the gap does.
    """
    found = []
    for begin, end in $gaps(busy, opens, closes):
        while begin + length <= end:
            found.append(begin)
            begin = begin + length
    return found
''',
}


def _spans(rng: random.Random, low: int, high: int) -> str:
    spans = []
    for _ in range(rng.randint(1, 4)):
        begin = rng.randrange(low - 60, high, 30)
        spans.append((max(begin, 0), max(begin, 0) + 30 * rng.randint(1, 4)))
    return repr(spans)


def probe(rng: random.Random, names: Names) -> Probe:
    opens, closes = int(names["opens"]), int(names["closes"])
    kind = rng.randrange(6)
    if kind == 0:
        time = rng.choice(("24:00", "24:01", f"{rng.randint(0, 24)}:{rng.randint(0, 59):02d}", "7:60", "8:59", "9:61"))
        return Probe((), f"minutes({time!r})")
    if kind == 1:
        return Probe((), f"spelled({rng.choice((rng.randint(0, 1440), 60 * rng.randint(0, 24)))})")
    if kind == 2:
        begin, length = rng.randrange(0, 300, 30), 30 * rng.randint(1, 3)
        other = begin + rng.choice((length, -30, 30, length + 30, 0))
        return Probe((), f"overlaps(({begin}, {begin + length}), ({other}, {other + 30}))")
    spans = _spans(rng, opens, closes)
    if kind == 3:
        return Probe((f"spans = {spans}", f"merged = {names['merge']}(spans)"), "[merged, spans]")
    if kind == 4:
        return Probe((), f"{names['gaps']}({spans})")
    more = rng.choice(("", f", {rng.choice((45, 60, 90, 120))}"))
    return Probe((), f"slots({_spans(rng, opens + 60, closes - 240)}{more}, opens={opens + 30}, closes={closes - 180})")


TIMETABLE = Blueprint(
    "timetable", "It plans a day: it merges spans of time, and finds free ones.", draw, FILES,
    "from $package import $gaps, $merge, minutes, overlaps, slots, spelled", probe,
)  # fmt: skip
