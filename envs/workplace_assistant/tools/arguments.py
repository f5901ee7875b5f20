"""Converts arguments to the form of the tables, and checks what a schema can't check. All functions raise ToolError."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import date, datetime

from ray_gym import ToolError
from ray_gym.envs.workplace_assistant.clock import format_day, format_moment
from ray_gym.envs.workplace_assistant.table import RowT, Table
from ray_gym.envs.workplace_assistant.workplace import Workplace


def row(table: Table[RowT], row_id: str) -> RowT:
    """Returns the row of a table with an id. Errors: ToolError if there is none."""
    found = table.get(row_id)
    if found is None:
        raise ToolError(f"there is no {table.kind} {row_id!r}; ids look like {table.kind}-7, and a search tells them")
    return found


def day(text: str) -> str:
    """Returns a date in the tables' form: 2026-03-12. Errors: ToolError for a text that is no date."""
    try:
        return format_day(date.fromisoformat(text.strip()))
    except ValueError:
        raise ToolError(f"{text!r} is no date; write it as YYYY-MM-DD") from None


def moment(text: str) -> str:
    """Returns a date with a time in the tables' form: 2026-03-12 08:30. Errors: ToolError for a text that is none, or
    has a time zone.
    """
    with suppress(ValueError):
        found = datetime.fromisoformat(text.strip())
        if ":" in text and found.tzinfo is None:
            return format_moment(found)
    raise ToolError(f"{text!r} is no date with a time; write it as YYYY-MM-DD HH:MM")


def period(from_date: str, to_date: str) -> tuple[str, str]:
    """Returns the first and the last day of a period in the tables' form. Errors: ToolError for a text that is no date,
    or if the period ends before it begins.
    """
    first, last = day(from_date), day(to_date)
    if last < first:
        raise ToolError(f"the period ends on {last}, before it begins on {first}")
    return first, last


def open_period(from_date: str, to_date: str) -> tuple[str, str]:
    """Returns the first and the last day of a period; an empty text leaves that end open. Errors: ToolError for a text
    that is no date, or if the period ends before it begins.
    """
    return period(from_date or "0001-01-01", to_date or "9999-12-31")


def address(text: str) -> str:
    """Returns an email address in lower case. Errors: ToolError for a text that is none."""
    found = text.strip()
    name, at, host = found.partition("@")
    if not name or not at or "." not in host or " " in found:
        raise ToolError(f"{text!r} is no email address")
    return found.lower()


def colleague(workplace: Workplace, text: str) -> str:
    """Returns the address of a person in the directory, in lower case. Errors: ToolError if nobody there has it."""
    found = address(text)
    if found not in workplace.people:
        raise ToolError(f"nobody in the directory has the address {text!r}")
    return found


def require_text(text: str) -> str:
    """Returns a text without white space around it. Errors: ToolError if it is empty."""
    if not text.strip():
        raise ToolError("an empty text can't be used here")
    return text.strip()


def one_of(options: Sequence[str], text: str) -> str:
    """Returns the text if it is one of the options. Errors: ToolError if it is not."""
    if text not in options:
        raise ToolError(f"{text!r} is none of: {', '.join(options)}")
    return text


def whole_minutes(text: str) -> int:
    """Returns the number of minutes that a text tells. Errors: ToolError if it is no whole number from 5 to 480."""
    if not (text.isascii() and text.isdigit() and 5 <= int(text[:4]) <= 480 and len(text) <= 3):
        raise ToolError(f"{text!r} is no number of minutes from 5 to 480")
    return int(text)
