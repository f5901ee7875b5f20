"""Defines how a driver owns a run: the protocol of owners, and the error for a run that has another one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ray_gym.errors import UserError

if TYPE_CHECKING:
    pass


class RunIsTaken(UserError):
    """Another driver has the run. A driver that was just killed may be about to end."""


class Owner(Protocol):
    @property
    def epoch(self) -> int: ...

    def check(self) -> None:
        """Checks that this driver still owns the run. Errors: RunFailed if another driver took over; OSError."""

    def release(self) -> None:
        """Closes the run: another driver may resume it at once."""

    def withdraw(self) -> None:
        """Stops owning a run that is about to be removed, so that no other driver may resume it."""
