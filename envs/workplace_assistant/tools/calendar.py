"""Gives tools for the user's calendar."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Annotated, Any, Literal

from pydantic import Field

from ray_gym import tool
from ray_gym.envs.workplace_assistant.rows import CalendarEvent
from ray_gym.envs.workplace_assistant.tools.answers import Query, listing
from ray_gym.envs.workplace_assistant.tools.arguments import (
    address,
    moment,
    open_period,
    require_text,
    row,
    whole_minutes,
)
from ray_gym.envs.workplace_assistant.workplace import Workplace

_READ: Mapping[str, Callable[[str], Any]] = {
    "name": require_text,
    "participant": address,
    "start": moment,
    "minutes": whole_minutes,
}


class CalendarTools:
    """Adds the tools for the calendar to the environment."""

    @tool()
    def calendar_search(
        self, workplace: Workplace, caller: object, query: str = "", from_date: str = "", to_date: str = ""
    ) -> dict[str, object]:
        """Find events, earliest first, with all words of the query in their name or the participant's address."""
        wanted = Query(query)
        first, last = open_period(from_date, to_date)
        found = [
            event
            for event in workplace.events
            if first <= event.start[:10] <= last and wanted.matches(event.name, event.participant)
        ]
        found.sort(key=lambda event: event.start)
        return listing(found, "id", "name", "participant", "start", "minutes")

    @tool()
    def calendar_read(self, workplace: Workplace, caller: object, event_id: str) -> dict[str, object]:
        """A whole event."""
        return asdict(row(workplace.events, event_id))

    @tool()
    def calendar_create(
        self,
        workplace: Workplace,
        caller: object,
        name: str,
        participant: Annotated[str, Field(description="address")],
        start: str,
        minutes: Annotated[int, Field(ge=5, le=480)],
    ) -> str:
        """Put an event into the calendar. The participant gets an invitation."""
        event_id = workplace.events.next_id
        workplace.put_event(CalendarEvent(event_id, require_text(name), address(participant), moment(start), minutes))
        return f"created {event_id}"

    @tool()
    def calendar_update(
        self,
        workplace: Workplace,
        caller: object,
        event_id: str,
        field: Literal["name", "participant", "start", "minutes"],
        new_value: str,
    ) -> str:
        """Change one field of an event."""
        event = row(workplace.events, event_id)
        workplace.put_event(replace(event, **{field: _READ[field](new_value)}))
        return f"changed {event_id}"

    @tool()
    def calendar_delete(self, workplace: Workplace, caller: object, event_id: str) -> str:
        """Cancel an event."""
        workplace.events.remove(row(workplace.events, event_id).id)
        return f"deleted {event_id}"
