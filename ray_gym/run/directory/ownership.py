"""Who writes a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ray_gym.errors import UserError

if TYPE_CHECKING:
    pass


class RunIsTaken(UserError):
    """Another driver has the run; one that was just killed may be about to end."""


class Owner(Protocol):
    @property
    def epoch(self) -> int: ...

    def check(self) -> None:
        """Errors: RunFailed if another driver took over; OSError."""

    def release(self) -> None:
        """The run is closed: who wants to go on with it may do so at once."""

    def withdraw(self) -> None:
        """The run is about to be taken back, and nobody may go on with it."""
