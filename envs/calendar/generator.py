"""Makes tasks out of random numbers. The wishes about times fit a hidden schedule, so that all can be met."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from ray_gym.envs.calendar.answer import write_calendar
from ray_gym.envs.calendar.clock import show_time
from ray_gym.envs.calendar.constraint import KINDS, Constraint
from ray_gym.envs.calendar.events import ExpectedEvent
from ray_gym.envs.calendar.phrases import (
    FURTHER_REQUESTS,
    OCCASIONS,
    REQUESTS,
    SMALL_TALK,
    SUBJECTS,
    WINDOWS,
    WISHES,
    ways_to_say,
    within,
)
from ray_gym.envs.calendar.solver import solve
from ray_gym.envs.calendar.task import UserLine

GRID = 15
"""Minutes that divide all times and durations."""
LONGEST_WHEN_MANY = 60
"""Minutes of the longest event from five events on: seven of them fit into the shortest day."""


def random_events(rng: random.Random) -> list[ExpectedEvent]:
    """Draws two to seven events, in the order in which they are asked for."""
    opens = GRID * rng.randint(28, 40)
    closes = opens + GRID * rng.randint(28, 40)
    hidden = _hidden_schedule(rng, rng.randint(2, 7), opens, closes)
    rng.shuffle(hidden)
    subjects = rng.sample(SUBJECTS, len(hidden))
    return [
        ExpectedEvent(
            event_id=number,
            event_name=f"{subject} {rng.choice(OCCASIONS)}",
            duration=end - start,
            constraint=str(_wish(rng, start, end, opens, closes)),
            min_time=show_time(opens),
            max_time=show_time(closes),
        )
        for number, (subject, (start, end)) in enumerate(zip(subjects, hidden, strict=True), start=1)
    ]


def random_lines(rng: random.Random, events: Sequence[ExpectedEvent]) -> list[UserLine]:
    """Draws the user's lines: a request for each event, and up to two lines of small talk, never first or last. The
    first request names the day's window.
    """
    window = rng.choice(WINDOWS)
    texts = [within(window, events[0], _request(rng, events[0], REQUESTS))]
    texts += [_request(rng, event, REQUESTS + FURTHER_REQUESTS) for event in events[1:]]
    lines = [UserLine(text=text, event_id=event.event_id) for text, event in zip(texts, events, strict=True)]
    for text in rng.sample(SMALL_TALK, rng.randint(0, 2)):
        lines.insert(rng.randrange(1, len(lines)), UserLine(text=text))
    return lines


def write_conversation(lines: Sequence[UserLine], events: Sequence[ExpectedEvent]) -> list[dict[str, Any]]:
    """Returns the lines as messages of a user, and after each but the last an answer with the calendar so far.

    A calendar is solved without the later lines, so the last request may need events to move.
    """
    messages = []
    asked: set[int | None] = set()
    for line in lines:
        asked.add(line.event_id)
        so_far = [event for event in events if event.event_id in asked]
        calendar = write_calendar(so_far, solve(so_far) or {})
        messages.append({"role": "user", "content": line.text})
        messages.append({"role": "assistant", "content": f"This is your calendar now.\n{calendar}"})
    return messages[:-1]


def _hidden_schedule(rng: random.Random, count: int, opens: int, closes: int) -> list[tuple[int, int]]:
    """Draws the starts and ends of events that follow each other, in minutes since midnight. The free time between
    them is random.
    """
    longest = 90 if count < 5 else LONGEST_WHEN_MANY
    lengths = [rng.choice([length for length in (15, 30, 45, 60, 90) if length <= longest]) for _ in range(count)]
    free = (closes - opens - sum(lengths)) // GRID
    before = sorted(rng.randint(0, free) for _ in lengths)
    schedule = []
    used = 0
    for length, gaps in zip(lengths, before, strict=True):
        start = opens + used + GRID * gaps
        schedule.append((start, start + length))
        used += length
    return schedule


def _wish(rng: random.Random, start: int, end: int, opens: int, closes: int) -> Constraint:
    """Draws a constraint that an event from `start` to `end` meets, with up to an hour and a half to spare."""
    after = max(opens, start - GRID * rng.randint(0, 6))
    before = min(closes, end + GRID * rng.randint(0, 6))
    kind = rng.choice(KINDS)
    times = {"none": (), "before": (before,), "after": (after,), "between": (after, before), "at": (start,)}
    return Constraint(kind, times[kind])


def _request(rng: random.Random, event: ExpectedEvent, forms: tuple[str, ...]) -> str:
    wish = rng.choice(WISHES[event.rule.kind]).format(*event.rule.name_times())
    duration = rng.choice(ways_to_say(event.duration))
    return rng.choice(forms).format(name=event.label, duration=duration, wish=wish)
