"""Limits how many groups are played ahead of the trainer. It uses neither Ray nor a clock.

There are two bounds, both on groups that are begun:

* **open** groups are begun, and neither acknowledged nor dropped. There are at most `max_open`, so that a slow trainer
  is not overrun.
* Groups that are **ahead** are begun, and neither delivered before the weights last changed nor dropped. There are at
  most (max_staleness + 1) * groups_per_version. A trainer that takes `groups_per_version` groups for every update then
  finds them at most `max_staleness` versions old, as long as no group is overtaken by others that began later. A group
  that is overtaken may get too old, and is dropped.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Window:
    """A window holds the numbers of the groups that are open, and of those that are ahead."""

    max_open: int
    """Most groups that are open."""
    max_ahead: int | None = None
    """Most groups that are ahead; None: no limit."""
    open: set[int] = field(default_factory=set)
    """Numbers of the open groups."""
    ahead: set[int] = field(default_factory=set)
    """Numbers of the groups that are ahead."""
    _delivered: set[int] = field(default_factory=set)
    """Numbers of the groups that were delivered since the weights last changed."""

    @property
    def has_room(self) -> bool:
        """Says whether another group may begin."""
        return len(self.open) < self.max_open and (self.max_ahead is None or len(self.ahead) < self.max_ahead)

    def begin(self, number: int) -> None:
        """Notes that a group has begun: it is open and ahead from now on."""
        self.open.add(number)
        self.ahead.add(number)

    def deliver(self, number: int) -> None:
        """Notes that the trainer has got a group. The group stays open, and stays ahead until `advance`."""
        self._delivered.add(number)

    def acknowledge(self, number: int) -> None:
        """Notes that the trainer has acknowledged a group: it is not open any more. It may still be ahead."""
        self.open.discard(number)

    def drop(self, number: int) -> None:
        """Notes that a group was dropped: it is neither open nor ahead any more."""
        self.open.discard(number)
        self.ahead.discard(number)

    def advance(self) -> None:
        """Notes that the weights have changed: the groups that were delivered until now are not ahead any more."""
        self.ahead -= self._delivered
        self._delivered.clear()
