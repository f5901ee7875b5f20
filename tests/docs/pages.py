"""Lists the pages of this repository, and cuts blocks of code and command lines out of them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

from conftest import REPOSITORY

PAGES = [REPOSITORY / "README.md", REPOSITORY / "envs" / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]


def name_of(page: Path) -> str:
    return str(page.relative_to(REPOSITORY))


def blocks(page: Path, language: str) -> list[str]:
    """Returns the fenced blocks of a language, in their order."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)


def block(page: Path, language: str, having: str) -> str:
    """Returns the one block of a language that has this text in it. Errors: ValueError if there is not exactly one."""
    [found] = [one for one in blocks(page, language) if having in one]
    return found


def prose(page: Path) -> str:
    """Returns the page without its blocks of code."""
    return re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)


def commands(page: Path, program: str) -> list[list[str]]:
    """Returns the arguments of each command line of `program` in the page's blocks of shell."""
    shell = "\n".join([*blocks(page, "sh"), *blocks(page, "bash")]).replace("\\\n", " ")
    return _arguments(shell.splitlines(), program)


def mentions(page: Path, program: str) -> list[list[str]]:
    """Does the same between backticks in sentences, where a command may stand without what it needs."""
    return _arguments(re.findall(r"`([^`\n]+)`", prose(page)), program)


def _arguments(lines: list[str], program: str) -> list[list[str]]:
    found = [line.strip() for line in lines if line.strip().startswith(f"{program} ")]
    return [shlex.split(line.removeprefix(program), comments=True) for line in found]


def parse(command: Any, arguments: list[str]) -> None:
    """Reads arguments as a click command does, without carrying it out. Errors: click's, for what is not there."""
    context = command.make_context(command.name or "", list(arguments))
    while hasattr(command, "resolve_command"):  # typer has a click of its own
        left = context._protected_args + context.args
        if not left and command.invoke_without_command:  # `ray-gym runs` is a command itself
            return
        _, inner, rest = command.resolve_command(context, left)
        context = inner.make_context(inner.name or "", rest, parent=context)
        command = inner
