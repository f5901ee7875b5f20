"""How far a trainer has come, to be saved with its checkpoint: given back, the stream goes on exactly there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ray_gym.errors import UserError

Natural = Annotated[int, Field(ge=0)]


class Cursor(BaseModel):
    """A group is settled when it was acknowledged, or dropped. Groups are named by their numbers."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    stream: str
    """Which stream it is a place in."""
    version: Natural = 0
    """Of the weights, when the cursor was taken."""
    commit: Natural = 0
    """Of the committed files up to this one all groups are settled."""
    next: Natural = 0
    """All groups before this one are settled,"""
    beyond: list[Natural] = []
    """and of those after it these."""

    @model_validator(mode="after")
    def _is_ordered(self) -> Cursor:
        if any(number <= self.next for number in self.beyond):
            raise ValueError(f"beyond: numbers after next ({self.next}) only")
        return self

    @classmethod
    def parse(cls, saved: Any) -> Cursor:
        """Errors: UserError."""
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
    """A cursor that moves. Groups come in the order of their files' commits, so files before the oldest group that is out are done."""

    stream: str
    next: int = 0
    beyond: set[int] = field(default_factory=set)
    out: dict[int, int] = field(default_factory=dict)
    """The groups that were delivered and not acknowledged yet, and in which commit each is."""
    _commit: int = 0
    """Of files up to this one all groups have been delivered."""

    @classmethod
    def at(cls, cursor: Cursor) -> Progress:
        return cls(cursor.stream, cursor.next, set(cursor.beyond), _commit=cursor.commit)

    def is_settled(self, number: int) -> bool:
        return number < self.next or number in self.beyond

    def delivered(self, number: int, commit: int) -> None:
        self.out[number] = commit
        self._commit = max(self._commit, commit - 1)

    def acknowledge(self, number: int) -> None:
        """Errors: ValueError for a group that is not out."""
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
