"""Defines a sandbox: a place with limits where programs run and files lie."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

OUTPUT_BYTES = 2**20
"""Bytes that are kept of each output of a program, unless its caller says otherwise."""
READ_BYTES = 2**24
"""Bytes that a file may have that is read, unless the caller says otherwise."""


class SandboxGone(Exception):
    """Says that a sandbox has ended, and why, with all its programs and files."""


class SandboxRefused(Exception):
    """Says why a request was refused: a path that leads out, a folder in place of a file, a file that is too long."""


class Ended(StrEnum):
    """Says why a program was ended, if it did not end by itself."""

    DEADLINE = "deadline"
    MEMORY = "memory"
    PROCESSES = "processes"
    DISK = "disk"
    """It failed with the disk full, or wrote more than the disk's limit."""
    KILLED = "killed"
    """Its caller ended it."""
    KEEPER = "keeper"
    """It, or another program of the sandbox, killed the process that keeps it."""


@dataclass(frozen=True, slots=True)
class ProgramEnd:
    """Says how a program ended. All processes that it had started are dead then."""

    exit_code: int
    """Its exit code, or the negative number of the signal that killed it; 127 if there is no such program, 126 if it
    can't be started.
    """
    ended: Ended | None
    """Reason why it was ended; None if it ended by itself."""
    seconds: float
    stdout: bytes
    """The first and the last of what it printed; b"" if that was streamed."""
    stderr: bytes
    """The first and the last of what it printed there; the last alone if its output was streamed."""
    stdout_dropped: int = 0
    """Bytes left out between the first and the last."""
    stderr_dropped: int = 0


class Program(Protocol):
    """A program is one that runs in a sandbox; its output can be read as it comes."""

    def output(self) -> AsyncIterator[bytes]:
        """Yields what it prints, until its output ends or has reached `output_bytes`; can be used once."""
        ...

    async def write(self, data: bytes, last: bool = False) -> None:
        """Writes to its standard input, and closes that after the `last` data. A program that has ended takes none."""
        ...

    async def wait(self) -> ProgramEnd:
        """Waits for its end. Errors: SandboxGone."""
        ...

    async def kill(self, now: bool = False) -> ProgramEnd:
        """Ends it and all that it has started, by SIGTERM and a second later by SIGKILL, or `now` by SIGKILL, and waits
        for the end. Errors: SandboxGone.
        """
        ...


class Sandbox(Protocol):
    """A sandbox is a place with limits, where programs run and files lie. Paths are relative to its `folder`."""

    @property
    def folder(self) -> str:
        """Returns the folder's absolute path, as programs in the sandbox see it."""
        ...

    @property
    def door_url(self) -> str | None:
        """Returns the address at which programs reach the worker's door, http://127.0.0.1:PORT; None without a door."""
        ...

    async def run(
        self,
        command: Sequence[str],
        *,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        folder: str = ".",
        deadline_s: float | None = None,
        output_bytes: int = OUTPUT_BYTES,
        kill: asyncio.Event | None = None,
    ) -> ProgramEnd:
        """Runs a program to its end. If this call is cancelled, the program and all that it has started are killed.

        `env`: environment beside PATH, HOME, TMPDIR and LANG. `folder`: in which it starts. `deadline_s`: seconds; None:
        those of the limits; `math.inf`: no deadline. `output_bytes`: bytes that are kept of each of its outputs. `kill`:
        once it is set, they are killed too, and the program's end has what it had printed.

        Errors: SandboxRefused for a folder that is none of the sandbox's; SandboxGone.
        """
        ...

    async def start(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        folder: str = ".",
        deadline_s: float | None = None,
        output_bytes: int = OUTPUT_BYTES,
    ) -> Program:
        """Starts a program that goes on, with an open standard input. Its output can be read as it comes, up to
        `output_bytes`; as many of its standard error's last bytes are kept. Errors as of `run`.
        """
        ...

    async def read(self, path: str, most_bytes: int = READ_BYTES) -> bytes:
        """Returns the content of a file. Errors: SandboxRefused if it leads out of the folder, is not a file, or has
        more than `most_bytes`; FileNotFoundError and other OSErrors; SandboxGone.
        """
        ...

    async def write(self, path: str, data: bytes, executable: bool = False) -> None:
        """Writes a file, and makes the folders that it lies in. Errors: SandboxRefused if it leads out of the folder or
        is not a file; OSError, also if the disk is full; SandboxGone.
        """
        ...

    async def close(self) -> None:
        """Kills all its programs, and removes all that is left of it. A closed sandbox may be closed again."""
        ...
