"""Defines cursors, which are the trainer's places in a stream.

A cursor is saved with the checkpoint. A stream that is opened with it resumes exactly there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ray_gym.errors import UserError
from ray_gym.models.versions import Versions

Natural = Annotated[int, Field(ge=0)]


class Cursor(BaseModel):
    """A cursor is a trainer's place in a stream. It names groups by their numbers, from 0.

    A group is settled once it was acknowledged or dropped.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    stream: str
    """Id of the stream that the cursor belongs to."""
    version: Natural = 0
    """Version of the weights when the cursor was taken, the lowest if models have several."""
    versions: dict[str, Natural] = {}
    """Version of each trained model then, by its name; empty if all were at `version`."""
    commit: Natural = 0
    """Number of a commit, from 1: all groups of its file and of those before it are settled; 0 for none."""
    next: Natural = 0
    """Number of the first group that is not settled."""
    beyond: list[Natural] = []
    """Numbers of the settled groups after `next`, in ascending order."""
    flat: Natural = 0
    """Number of the groups before `next` that were dropped for want of spread."""
    ranks: list[Natural] = []
    """Number of the groups that each rank was given, by its number; empty if no ranks share the stream."""
    given: list[list[Natural]] = []
    """Groups that ranks were given and have not acknowledged, as pairs of the group's number and the rank."""
    told: bool = True
    """False if nobody has said which version a trained model serves that does not tell it."""

    @model_validator(mode="after")
    def _is_ordered(self) -> Cursor:
        if any(number <= self.next for number in self.beyond):
            raise ValueError(f"beyond: numbers after next ({self.next}) only")
        if any(len(pair) != 2 or pair[1] >= len(self.ranks) for pair in self.given):
            raise ValueError("given: pairs of a group's number and one of the ranks only")
        return self

    @classmethod
    def parse(cls, saved: Any) -> Cursor:
        """Reads a cursor from saved JSON values. Errors: UserError if they are no cursor."""
        try:
            return cls.model_validate(saved)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(["cursor", *map(str, first["loc"])])
            raise UserError(f"{place}: {first['msg']}; give back what `stream.cursor` gave, or None to begin") from None

    def is_settled(self, number: int) -> bool:
        """Says whether the group with this number was acknowledged or dropped before this cursor was taken."""
        return number < self.next or number in self.beyond

    @property
    def weights(self) -> Versions:
        """Returns the versions of the weights when the cursor was taken."""
        return Versions(self.version, self.versions)

    def as_json(self) -> dict[str, Any]:
        """Returns the cursor as JSON values, which `parse` reads."""
        return self.model_dump()


@dataclass(slots=True)
class Progress:
    """Tracks a trainer's progress through a stream, from which `cursor` makes cursors.

    Groups come in the order of their files' commits, so all files before that of the oldest unacknowledged group are
    settled.
    """

    stream: str
    """Id of the stream."""
    next: int = 0
    """Number of the first group that is not settled."""
    beyond: set[int] = field(default_factory=set)
    """Numbers of the settled groups after `next`."""
    out: dict[int, int] = field(default_factory=dict)
    """Number of the commit of each group that was delivered and not acknowledged yet, by the group's number."""
    flat: int = 0
    """Number of the groups before `next` that were dropped for want of spread."""
    _flat_beyond: set[int] = field(default_factory=set)
    """Numbers of those after `next`."""
    _commit: int = 0
    """Number of the last commit of which all groups have been delivered."""

    @classmethod
    def at(cls, cursor: Cursor) -> Progress:
        """Makes the progress of a trainer that resumes at a cursor."""
        return cls(cursor.stream, cursor.next, set(cursor.beyond), flat=cursor.flat, _commit=cursor.commit)

    def is_settled(self, number: int) -> bool:
        """Says whether the group with this number was acknowledged or dropped until now."""
        return number < self.next or number in self.beyond

    def note_delivered(self, number: int, commit: int) -> None:
        """Notes that the trainer has got a group of a commit."""
        self.out[number] = commit
        self._commit = max(self._commit, commit - 1)

    def acknowledge(self, *numbers: int) -> None:
        """Notes that the trainer has acknowledged delivered groups, which are settled from now on: all, or none if it
        raises.

        Errors: ValueError for a group that was acknowledged before (or is given twice), or never delivered.
        """
        self.require_out(numbers)
        for number in numbers:
            del self.out[number]
        self.settle(numbers)

    def require_out(self, numbers: Sequence[int]) -> None:
        """Checks that groups can be acknowledged. Errors: ValueError for one that can't."""
        for place, number in enumerate(numbers):
            if number not in self.out or number in numbers[:place]:
                raise ValueError(f"group {number} was acknowledged already, or never delivered here")

    def settle(self, numbers: Iterable[int], flat: Iterable[int] = ()) -> None:
        """Notes that groups are settled. Groups that are settled already may be among them.

        `flat`: numbers of those that were dropped for want of spread.
        """
        self._flat_beyond.update(number for number in flat if number >= self.next)
        self.beyond.update(number for number in numbers if number >= self.next)
        while self.next in self.beyond:
            self.beyond.remove(self.next)
            self.flat += self.next in self._flat_beyond
            self._flat_beyond.discard(self.next)
            self.next += 1

    def cursor(self, versions: Versions) -> Cursor:
        """Returns the cursor of the present place. `versions`: those of the weights now."""
        commit = min([self._commit, *(commit - 1 for commit in self.out.values())])
        beyond = sorted(self.beyond)
        return Cursor(
            stream=self.stream,
            version=versions.lowest,
            versions=dict(versions.of),
            commit=commit,
            next=self.next,
            beyond=beyond,
            flat=self.flat,
        )
