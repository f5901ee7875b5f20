"""Defines how a driver owns a run: the protocol of owners, and the error for a run that another driver owns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ray_gym.errors import UserError

if TYPE_CHECKING:
    pass


class RunIsTaken(UserError):
    """Says that another driver owns the run. A driver that was just killed may still own it for some seconds."""


class Owner(Protocol):
    """Holds a driver's claim to be the only writer of a run."""

    @property
    def epoch(self) -> int:
        """Returns the number of this driver among the drivers that the run has had, from 1."""

    def check(self) -> None:
        """Checks that this driver still owns the run. Errors: RunFailed if another driver took over, or the run was
        deleted; OSError.
        """

    def release(self) -> None:
        """Ends the claim, so that another driver may resume the run at once. Raises no OSError."""

    def withdraw(self) -> None:
        """Ends the claim to a run whose directory is about to be removed. Writes nothing, unlike `release`."""
