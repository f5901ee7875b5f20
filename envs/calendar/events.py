"""Defines an event as a task expects it to be scheduled."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from ray_gym.envs.calendar.clock import MIDNIGHT, read_time, show_time
from ray_gym.envs.calendar.constraint import Constraint, read_constraint


@lru_cache(maxsize=4096)
def _plain_time(text: str) -> str:
    return show_time(read_time(text))


@lru_cache(maxsize=4096)
def _plain_constraint(text: str | None) -> str:
    return str(read_constraint(text))


Time = Annotated[str, AfterValidator(_plain_time)]
"""Type of a field that takes a time in any spelling, and holds it as HH:MM."""


class ExpectedEvent(BaseModel):
    """An expected event lies within its window (`min_time` to `max_time`) and meets its constraint.

    Without a name it is known by its id. A row may also give its `start_time`, which is the constraint to begin then.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)

    event_id: int
    event_name: Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[^\n\r]*$")] | None = None
    duration: Annotated[int, Field(ge=1, le=MIDNIGHT)]
    constraint: Annotated[str | None, AfterValidator(_plain_constraint)] = "none"
    min_time: Time = "00:00"
    max_time: Time = "24:00"

    @model_validator(mode="before")
    @classmethod
    def _read_begin(cls, given: Any) -> Any:
        if not isinstance(given, Mapping) or "start_time" not in given:
            return given
        fields = dict(given)
        start = fields.pop("start_time")
        if start is None:
            return fields
        if fields.get("constraint") not in (None, "none"):
            raise ValueError("start_time is the constraint to begin at it: write only one of start_time and constraint")
        return {**fields, "constraint": f"at {start}"}

    @property
    def label(self) -> str:
        """Returns the event's name; for an event without a name, its id: `event id: 3`."""
        return self.event_name or f"event id: {self.event_id}"

    @property
    def rule(self) -> Constraint:
        """Returns `constraint` as an object, which the event's time has to meet."""
        return read_constraint(self.constraint)

    @property
    def window(self) -> tuple[int, int]:
        """Returns the beginning and the end of the window, in minutes since midnight."""
        return read_time(self.min_time), read_time(self.max_time)
