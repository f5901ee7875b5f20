"""Finds a schedule for any set of events, or finds that there is none. It does not know how the events were made.

Events follow each other, so a schedule is an order of events in which each begins as early as it may. Of all orders of
the same events, the order that ends first leaves the most room for the others, so only that order is continued. This is
exact to the minute, and looks at most at 2^n sets of events instead of n! orders.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from ray_gym.envs.calendar.clock import MIDNIGHT
from ray_gym.envs.calendar.constraint import Constraint
from ray_gym.envs.calendar.events import ExpectedEvent

Schedule = dict[int, int]
"""Start of each event in minutes since midnight, by event id."""

Span = tuple[int, int, int, int]
"""Number of an event, its earliest start, its latest end and its duration, in minutes."""


def solve(events: Sequence[ExpectedEvent]) -> Schedule | None:
    """Returns the schedule of these events that ends first; None if no schedule has room for all of them."""
    spans = tuple((index, *_span(event), event.duration) for index, event in enumerate(events))
    order = _order(spans)
    return None if order is None else _starts(events, spans, order)


@lru_cache(maxsize=256)
def _order(spans: tuple[Span, ...]) -> tuple[int, ...] | None:
    """Returns the numbers of events in the order that ends first; None if no order has room for all of them. A task is read
    several times, and solved once.
    """
    # by set of events (as bits): when it is over, its order
    best: dict[int, tuple[int, tuple[int, ...]]] = {0: (0, ())}
    for _ in spans:
        longer: dict[int, tuple[int, tuple[int, ...]]] = {}
        for placed, (over, order) in best.items():
            for placed_now, end, index in _next(placed, over, spans):
                if placed_now not in longer or end < longer[placed_now][0]:
                    longer[placed_now] = (end, (*order, index))
        best = longer
    return next(iter(best.values()))[1] if best else None


def _next(placed: int, over: int, spans: Sequence[Span]) -> list[tuple[int, int, int]]:
    """Returns for each event that may follow: the set of events with it (as bits), its end, and its number.

    `placed`: set of the events so far, `over`: their end in minutes. Returns an empty list if one of the remaining
    events has no room any more.
    """
    found = []
    for index, earliest, latest, duration in spans:
        if not placed >> index & 1:
            end = (over if over > earliest else earliest) + duration
            if end > latest:
                return []
            found.append((placed | 1 << index, end, index))
    return found


def _starts(events: Sequence[ExpectedEvent], spans: Sequence[Span], order: Sequence[int]) -> Schedule:
    over, starts = 0, {}
    for index, earliest, _, duration in (spans[number] for number in order):
        starts[events[index].event_id] = max(over, earliest)
        over = max(over, earliest) + duration
    return starts


def _span(event: ExpectedEvent) -> tuple[int, int]:
    """Returns the earliest start and the latest end of an event, in minutes since midnight."""
    after, before = _bounds_of(event.rule, event.duration)
    opens, closes = event.window
    return max(opens, after), min(closes, before)


def _bounds_of(rule: Constraint, duration: int) -> tuple[int, int]:
    match rule.kind, rule.times:
        case "before", (time,):
            return 0, time
        case "after", (time,):
            return time, MIDNIGHT
        case "at", (time,):
            return time, time + duration
        case "between", (first, second):
            return first, second
    return 0, MIDNIGHT
