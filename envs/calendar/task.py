"""Defines a row of the task format, and refuses rows that have no right calendar."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from ray_gym import Task
from ray_gym.envs.calendar.answer import Entry, read_calendar
from ray_gym.envs.calendar.events import ExpectedEvent
from ray_gym.envs.calendar.phrases import ask_for
from ray_gym.envs.calendar.solver import solve
from ray_gym.graders import folded

MOST_EVENTS = 12


class UserLine(BaseModel):
    """A line is what the user says in one turn: a request for an event, or small talk if it names no event."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)

    text: Annotated[str, Field(min_length=1, pattern=r"^[^\n\r]*$")]
    event_id: int | None = None


def _as_list(given: Any) -> Any:
    """Returns events that stand under their ids as a list, and other data unchanged. JSON has ids as texts there."""
    if not isinstance(given, Mapping):
        return given
    ids = [int(key) if isinstance(key, str) and key.isdecimal() else key for key in given]
    pairs = zip(ids, given.values(), strict=True)
    return [{"event_id": key, **event} if isinstance(event, Mapping) else event for key, event in pairs]


class CalendarTask(Task):
    """A task is the events that a calendar has to hold, and the words in which the user asks for them.

    `messages` are a conversation that was written in advance; `user_lines` are still to be said, one line a turn.
    Without either, the user asks for the events one by one in the words of `ask_for`. NeMo Gym's rows name no events,
    only ids.
    """

    expected_state: Annotated[
        tuple[ExpectedEvent, ...],
        BeforeValidator(_as_list),
        Field(max_length=MOST_EVENTS, validation_alias=AliasChoices("expected_state", "exp_cal_state")),
    ]
    user_lines: tuple[UserLine, ...] = ()

    @model_validator(mode="after")
    def _check_solvable(self) -> CalendarTask:
        events = self.expected_state
        _check_distinct("event_id", [str(event.event_id) for event in events])
        _check_distinct("event_name", [folded(event.label) for event in events])
        if solve(events) is not None:
            return self
        for number, event in enumerate(events):
            if solve([event]) is None:
                raise ValueError(
                    f"expected_state[{number}]: {event.label!r} ({event.duration} minutes, {event.constraint}) "
                    f"fits nowhere between {event.min_time} and {event.max_time}"
                )
        raise ValueError("expected_state: no schedule has room for all of these events")

    @model_validator(mode="after")
    def _check_lines(self) -> CalendarTask:
        if not self.user_lines:
            return self
        names = {event.event_id: event.label for event in self.expected_state}
        for number, line in enumerate(self.user_lines):
            if line.event_id is None:
                continue
            name = names.pop(line.event_id, None)
            if name is None:
                raise ValueError(
                    f"user_lines[{number}]: event {line.event_id} is not expected, or was asked for before"
                )
            if line.event_id not in self.events_mentioned(line.text):
                raise ValueError(f"user_lines[{number}]: it asks for {name!r}, and does not say so")
        if names:
            raise ValueError(f"user_lines: no line asks for {', '.join(map(repr, names.values()))}")
        return self

    def lines(self) -> tuple[UserLine, ...]:
        """Returns the lines that the user still has to say: `user_lines`, or without these a request for each event.
        Left out are lines whose event the user's `messages` mention, and lines whose text is there.
        """
        said = "\n".join(message.content for message in self.messages if message.role == "user")
        asked, said = self.events_mentioned(said), folded(said)
        lines = self.user_lines or tuple(
            UserLine(text=ask_for(event), event_id=event.event_id)
            for event in self.expected_state
            if event.event_id not in asked
        )
        return tuple(line for line in lines if line.event_id not in asked and folded(line.text) not in said)

    def calendar_before(self) -> list[Entry | None]:
        """Returns the entries of the last calendar in the assistant's `messages`, with None for each entry that is no
        event; an empty list if they have no calendar.
        """
        said = (message.content for message in reversed(self.messages) if message.role == "assistant")
        return next((found for text in said if (found := read_calendar(text)) is not None), [])

    def events_mentioned(self, text: str) -> set[int]:
        """Returns the ids of events whose names a text has as whole words. The longest of overlapping names counts."""
        text, found = folded(text), set()
        names = [(folded(event.label), event) for event in self.expected_state]
        for name, event in sorted(names, key=lambda pair: -len(pair[0])):
            if name not in text:  # far cheaper than the pattern, on long texts
                continue
            word = re.escape(name)
            text, times = re.subn(rf"{word}(?<!\w{word})(?!\w)", "|", text)  # begins with the name: it is faster
            if times:
                found.add(event.event_id)
        return found


def _check_distinct(what: str, values: list[str]) -> None:
    """Checks that no value is there twice. `what`: name of the field that has the values. Errors: ValueError that names
    the first event whose value an earlier event has.
    """
    for number, value in enumerate(values):
        if value in values[:number]:
            raise ValueError(f"expected_state[{number}]: {what} {value!r} is taken by an event before it")
