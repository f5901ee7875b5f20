"""What time it is in this office: always the same. Dates and times are text, in an order that is also that of time."""

from __future__ import annotations

from datetime import date, datetime

NOW = datetime(2026, 3, 12, 8, 30)
TODAY = NOW.date()

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def written_day(day: date) -> str:
    """As tables keep it: 2026-03-12."""
    return day.isoformat()


def written_moment(moment: datetime) -> str:
    """As tables keep it: 2026-03-12 08:30."""
    return moment.isoformat(" ", "minutes")


def read_moment(text: str) -> datetime:
    """Of a moment that a table keeps."""
    return datetime.fromisoformat(text)


def spoken_day(day: date) -> str:
    """Thursday, 12 March 2026"""
    return f"{WEEKDAYS[day.weekday()]}, {day.day} {MONTHS[day.month - 1]} {day.year}"
