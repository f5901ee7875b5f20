"""Finds the calendar in the text of an answer, and reads it, whatever a model may have written.

The README says what counts as an event. Reading raises no exception.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ray_gym.envs.calendar.clock import MIDNIGHT, read_clock, show_time
from ray_gym.envs.calendar.events import ExpectedEvent

LONGEST = 20_000
"""Number of characters at the end of an answer in which its calendar is looked for, so that no answer holds up others.
"""

_BEGINNING = re.compile(r'\[\s*[{\]]|\{\s*"')


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry is an event as the policy scheduled it."""

    event_id: str
    name: str
    start: int
    """Minutes since midnight."""
    duration: int
    """Minutes."""

    @property
    def end(self) -> int:
        """Returns the end of the event in minutes since midnight."""
        return self.start + self.duration


def read_calendar(text: str) -> list[Entry | None] | None:
    """Returns the entries of the last calendar in a text, with None for each entry that is no event. Returns None if
    there is no calendar.

    An empty list counts as a calendar only if there is no other. Only the last `LONGEST` characters are read.
    """
    calendars = [found for value in _json_values(text[-LONGEST:]) if (found := _calendar(value)) is not None]
    if not calendars:
        return None
    return [_entry(item) for item in next((calendar for calendar in reversed(calendars) if calendar), calendars[-1])]


def write_calendar(events: Sequence[ExpectedEvent], starts: Mapping[int, int]) -> str:
    """Returns the events as the JSON list that an answer holds, in the order of their starts. `starts`: minutes since
    midnight, by event id.
    """
    entries = [
        {
            "event_id": event.event_id,
            "event_name": event.label,
            "start_time": show_time(starts[event.event_id]),
            "duration": event.duration,
        }
        for event in sorted(events, key=lambda event: starts[event.event_id])
    ]
    return json.dumps(entries, ensure_ascii=False)


def _json_values(text: str) -> Iterator[Any]:
    """Yields the JSON lists and objects in a text that could hold a calendar, outermost ones only. Stops at one that is
    nested too deeply.
    """
    decoder, position = json.JSONDecoder(), 0
    while found := _BEGINNING.search(text, position):
        try:
            value, position = decoder.raw_decode(text, found.start())
        except ValueError:
            position = found.start() + 1
        except RecursionError:
            return
        else:
            yield value


def _calendar(value: Any) -> list[dict[str, Any]] | None:
    """Returns the objects of the calendar that a JSON value is, or that its last field with a calendar holds; None if
    there is no calendar.

    A calendar is a list of objects, or an object of them by event id.
    """
    inside = list(value.values()) if isinstance(value, dict) else []
    for given in (value, *reversed(inside)):
        if isinstance(given, list) and all(isinstance(item, dict) for item in given):
            return given
        if isinstance(given, dict) and _is_by_id(given):
            return [{"event_id": key, **item} for key, item in given.items()]
    return None


def _is_by_id(given: dict[str, Any]) -> bool:
    items = given.values()
    return all(isinstance(item, dict) for item in items) and any("event_name" in item for item in items)


def _entry(item: dict[str, Any]) -> Entry | None:
    event_id, name = item.get("event_id"), item.get("event_name")
    start, duration = read_clock(item.get("start_time")), _whole_number(item.get("duration"))
    if isinstance(event_id, bool) or not isinstance(event_id, int | str) or not isinstance(name, str):
        return None
    if start is None or duration is None or not 0 < duration <= MIDNIGHT:
        return None
    return Entry(str(event_id), name, start, duration)


def _whole_number(given: Any) -> int | None:
    if isinstance(given, bool) or not isinstance(given, int | float):
        return None
    return int(given) if isinstance(given, int) or given.is_integer() else None
