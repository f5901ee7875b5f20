"""How far the fan-out may run ahead of its trainer. Pure: knows neither Ray nor time.

Two bounds, both on groups that are begun:

* **open**: begun, and neither acknowledged nor dropped. At most `max_open` are. A trainer that is slow holds the fan-out back with it.
* **ahead**: begun, and not delivered before the weights last changed; what is dropped counts no more. At most (max_staleness + 1) *
  groups_per_version are. A trainer that takes `groups_per_version` groups for every update finds them at most `max_staleness` versions old
  then, as long as no group is overtaken by ones begun later; one that is may get too old, and is dropped.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Window:
    max_open: int
    max_ahead: int | None = None
    open: set[int] = field(default_factory=set)
    ahead: set[int] = field(default_factory=set)
    _delivered: set[int] = field(default_factory=set)
    """Since the weights last changed."""

    @property
    def has_room(self) -> bool:
        return len(self.open) < self.max_open and (self.max_ahead is None or len(self.ahead) < self.max_ahead)

    def begin(self, number: int) -> None:
        self.open.add(number)
        self.ahead.add(number)

    def deliver(self, number: int) -> None:
        self._delivered.add(number)

    def acknowledge(self, number: int) -> None:
        self.open.discard(number)

    def drop(self, number: int) -> None:
        self.open.discard(number)
        self.ahead.discard(number)

    def advance(self) -> None:
        """The weights have changed: what was delivered until now is what they were changed with."""
        self.ahead -= self._delivered
        self._delivered.clear()
