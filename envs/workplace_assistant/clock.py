"""Tells the time in the office, which never changes. Written dates and moments sort in the order of time."""

from __future__ import annotations

from datetime import date, datetime

NOW = datetime(2026, 3, 12, 8, 30)
TODAY = NOW.date()

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def format_day(day: date) -> str:
    """Writes a day in the tables' form: 2026-03-12."""
    return day.isoformat()


def format_moment(moment: datetime) -> str:
    """Writes a moment in the tables' form: 2026-03-12 08:30."""
    return moment.isoformat(" ", "minutes")


def read_moment(text: str) -> datetime:
    """Returns the moment that a text in the tables' form tells. Errors: ValueError for a text that is no date or
    moment.
    """
    return datetime.fromisoformat(text)


def spell_out_day(day: date) -> str:
    """Writes a day in words: Thursday, 12 March 2026."""
    return f"{WEEKDAYS[day.weekday()]}, {day.day} {MONTHS[day.month - 1]} {day.year}"
