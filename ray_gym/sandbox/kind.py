"""Defines a kind of sandbox, which opens sandboxes. Other packages add kinds by the entry points `ray_gym.sandboxes`."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

from ray_gym.errors import UserError
from ray_gym.sandbox.limits import SandboxLimits
from ray_gym.sandbox.sandbox import Sandbox


class SandboxOptions(BaseModel):
    """Holds the options of a kind, beside the limits that all kinds have."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True, slots=True)
class Unavailable:
    """Says why a kind of sandbox can't be had on this machine, and how to get it."""

    found: str
    mend: str

    def as_error(self, kind: str) -> UserError:
        return UserError(f"the sandbox {kind!r} can't be had here: {self.found}; {self.mend}")


class SandboxKind(ABC):
    """A kind of sandbox opens sandboxes on the machine that it is on. One instance serves a worker."""

    Options: ClassVar[type[SandboxOptions]] = SandboxOptions
    name: ClassVar[str]
    protects: ClassVar[bool] = True
    """True if it keeps programs from the rest of the machine."""
    shows_machine: ClassVar[bool] = False
    """True if programs see files of the machine at their own paths; False if they see an image's."""

    def __init__(self, options: Any = None) -> None:
        self.options: Any = options if options is not None else self.Options()
        self._starting = asyncio.Lock()
        """Held while a process is started, which blocks the loop for that moment: one after the other."""

    @classmethod
    @abstractmethod
    def missing_here(cls) -> Unavailable | None:
        """Returns the reason why this machine does not have the kind, or None. It may take seconds, and blocks."""

    def problem(self) -> Unavailable | None:
        """Returns the reason why none can be opened with these options, or None. It may take seconds, and blocks."""
        return self.missing_here()

    @abstractmethod
    async def open(self, limits: SandboxLimits, door: Path | None = None) -> Sandbox:
        """Opens an empty sandbox. `door`: a Unix socket of this process, which programs reach at `door_url`.

        Errors: UserError if it can't be had here, which says how to get it.
        """
