"""Finds a schedule for any set of events, or says that there is none. It knows nothing of how the events were made.

Events follow each other, so a schedule is an order in which each begins as soon as it may. Of all orders of the same events, the one
that is over first leaves the most room for the others: only that one is gone on with. This is exact to the minute, and looks at no
more than 2^n sets of events instead of n! orders.
"""

from __future__ import annotations

from collections.abc import Sequence

from envs.calendar.clock import MIDNIGHT
from envs.calendar.constraint import Constraint
from envs.calendar.events import ExpectedEvent

Schedule = dict[int, int]
"""The start of each event, by its id."""


def solve(events: Sequence[ExpectedEvent]) -> Schedule | None:
    """The schedule that is over first, or None if the events can't all be had."""
    spans = [(*_span(event), event.duration) for event in events]
    best: dict[int, tuple[int, tuple[int, ...]]] = {
        0: (0, ())
    }  # by set of events (as bits): when it is over, its order
    for _ in events:
        longer: dict[int, tuple[int, tuple[int, ...]]] = {}
        for placed, (over, order) in best.items():
            for index, (earliest, latest, duration) in enumerate(spans):
                end = max(over, earliest) + duration
                key = placed | 1 << index
                if key != placed and end <= latest and (key not in longer or end < longer[key][0]):
                    longer[key] = (end, (*order, index))
        best = longer
    return _starts(events, next(iter(best.values()))[1]) if best else None


def _starts(events: Sequence[ExpectedEvent], order: Sequence[int]) -> Schedule:
    over, starts = 0, {}
    for event in (events[index] for index in order):
        starts[event.event_id] = max(over, _span(event)[0])
        over = starts[event.event_id] + event.duration
    return starts


def _span(event: ExpectedEvent) -> tuple[int, int]:
    """When it may begin at the earliest, and must be over at the latest."""
    after, before = _asked(event.rule, event.duration)
    opens, closes = event.window
    return max(opens, after), min(closes, before)


def _asked(rule: Constraint, duration: int) -> tuple[int, int]:
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
