"""Defines the limits of a sandbox."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class SandboxLimits(BaseModel):
    """Holds the limits of a sandbox, which all its programs share."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    memory_mb: int = Field(default=2048, ge=16)
    """Megabytes of memory, what lies on its disk left out."""
    processes: int = Field(default=512, ge=1)
    """Processes, each thread counted, as the kernel does."""
    seconds: float = Field(default=600.0, gt=0)
    """Seconds that a program may run, unless its caller gives another deadline."""
    disk_mb: int = Field(default=1024, ge=1)
    """Megabytes of files."""
    network: bool = False
    """True if programs reach the machine's network, its own ports included; else they reach nothing but the door."""
