"""Defines the fields of a config by which programs are started."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator


def _without_nul(arguments: tuple[str, ...]) -> tuple[str, ...]:
    if any("\0" in one for one in arguments):
        raise ValueError("no argument has a NUL")
    return arguments


def _with_program(command: tuple[str, ...]) -> tuple[str, ...]:
    if not command or not command[0]:
        raise ValueError("a command begins with its program")
    return _without_nul(command)


def _settable(variables: Mapping[str, str]) -> Mapping[str, str]:
    for name, value in variables.items():
        if not name or "=" in name or "\0" in f"{name}{value}":
            raise ValueError(f"{name!r}: a variable has a name without =, and no NUL")
    return variables


Arguments = Annotated[tuple[str, ...], AfterValidator(_without_nul)]
"""Arguments of a program."""
CommandLine = Annotated[tuple[str, ...], AfterValidator(_with_program)]
"""Program and arguments."""
Variables = Annotated[Mapping[str, str], AfterValidator(_settable)]
"""Variables of a program's environment."""
