"""A task of the calendar, its right answer, and what the tests write events and entries with."""

from __future__ import annotations

from typing import Any

from ray_gym.envs.calendar import Calendar
from ray_gym.envs.calendar.events import ExpectedEvent
from ray_gym.envs.calendar.task import CalendarTask


def calendar(**options: Any) -> Calendar:
    return Calendar(Calendar.Options(**options))


WRITTEN, LIVE = calendar(), calendar(mode="live")


def event(event_id: int, name: str, duration: int, constraint: str | None = None, **others: Any) -> ExpectedEvent:
    return ExpectedEvent(event_id=event_id, event_name=name, duration=duration, constraint=constraint, **others)


def entry(name: Any, start: Any, duration: Any, event_id: Any) -> dict[str, Any]:
    return {"event_id": event_id, "event_name": name, "start_time": start, "duration": duration}


DAY = {"min_time": "09:00", "max_time": "17:00"}
TASK = CalendarTask(
    expected_state=(
        event(1, "Budget review", 60, "before 10:45", **DAY),
        event(2, "Legal call", 30, "after 14:00", **DAY),
        event(3, "Hiring lunch", 45, "between 12:00 and 13:00", **DAY),
        event(4, "Safety walkthrough", 30, "at 11:00", **DAY),
        event(5, "Travel planning", 90, **DAY),
    )
)
BUDGET = entry("Budget review", "09:30", 60, 1)
RIGHT = [
    BUDGET,
    entry("Legal call", "14:00", 30, 2),
    entry("Hiring lunch", "12:15", 45, 3),
    entry("Safety walkthrough", "11:00", 30, 4),
    entry("Travel planning", "15:30", 90, 5),
]

A = {"event_id": 1, "event_name": "A", "duration": 60, "min_time": "09:00", "max_time": "17:00"}
"""An event of a row."""
