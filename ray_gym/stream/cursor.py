"""Keeps a trainer's place in its stream.

It is saved with the checkpoint; given back, the stream resumes exactly there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ray_gym.errors import UserError

Natural = Annotated[int, Field(ge=0)]


class Cursor(BaseModel):
    """A cursor is a trainer's place in a stream. Groups are named by their numbers.

    A group is settled when it was acknowledged or dropped.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    stream: str
    """Id of the stream that the place is in."""
    version: Natural = 0
    """Version of the weights when the cursor was taken."""
    commit: Natural = 0
    """Number of the last committed file up to which all groups of all files are settled."""
    next: Natural = 0
    """Number of a group before which all groups are settled."""
    beyond: list[Natural] = []
    """Numbers of the settled groups after `next`."""

    @model_validator(mode="after")
    def _is_ordered(self) -> Cursor:
        if any(number <= self.next for number in self.beyond):
            raise ValueError(f"beyond: numbers after next ({self.next}) only")
        return self

    @classmethod
    def parse(cls, saved: Any) -> Cursor:
        """Reads a cursor from saved JSON values. Errors: UserError."""
        try:
            return cls.model_validate(saved)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(["cursor", *map(str, first["loc"])])
            raise UserError(f"{place}: {first['msg']}; give back what `stream.cursor` gave, or None to begin") from None

    def is_settled(self, number: int) -> bool:
        return number < self.next or number in self.beyond

    def as_json(self) -> dict[str, Any]:
        return self.model_dump()


@dataclass(slots=True)
class Progress:
    """Tracks a trainer's progress through a stream, as a cursor that moves.

    Groups come in the order of their files' commits, so files before that of the oldest unacknowledged group are done.
    """

    stream: str
    next: int = 0
    beyond: set[int] = field(default_factory=set)
    out: dict[int, int] = field(default_factory=dict)
    """Commit of each group that was delivered and not acknowledged yet, by the group's number."""
    _commit: int = 0
    """Number of the last file up to which all groups have been delivered."""

    @classmethod
    def at(cls, cursor: Cursor) -> Progress:
        return cls(cursor.stream, cursor.next, set(cursor.beyond), _commit=cursor.commit)

    def is_settled(self, number: int) -> bool:
        return number < self.next or number in self.beyond

    def note_delivered(self, number: int, commit: int) -> None:
        self.out[number] = commit
        self._commit = max(self._commit, commit - 1)

    def acknowledge(self, number: int) -> None:
        """Settles a delivered group. Errors: ValueError for one that was acknowledged already, or never delivered."""
        if number not in self.out:
            raise ValueError(f"group {number} was acknowledged already, or never delivered here")
        del self.out[number]
        self.settle([number])

    def settle(self, numbers: Iterable[int]) -> None:
        self.beyond.update(number for number in numbers if number >= self.next)
        while self.next in self.beyond:
            self.beyond.remove(self.next)
            self.next += 1

    def cursor(self, version: int) -> Cursor:
        commit = min([self._commit, *(commit - 1 for commit in self.out.values())])
        return Cursor(stream=self.stream, version=version, commit=commit, next=self.next, beyond=sorted(self.beyond))
