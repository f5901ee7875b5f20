"""Defines a task: a package with a fault, what somebody says of it, and checks that tell whether it was mended."""

from __future__ import annotations

import json
import sys
from pathlib import PurePosixPath
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from ray_gym import Task
from ray_gym.envs.code_repair.mutations import Kind
from ray_gym.task import Words

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=64)]


class Check(BaseModel):
    """A check runs some lines, and compares what an expression gives then."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    lines: tuple[str, ...] = ()
    asks: Words
    expected: str
    """Outcome that it has to have, as JSON: {"value": ...}, or {"raises": name of an error's type}."""

    @property
    def outcome(self) -> Any:
        """Returns what it has to give. Errors: ValueError if `expected` is no JSON."""
        return json.loads(self.expected)


class File(BaseModel):
    """A file is a text at a path, which is relative to the folder that the package is in."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: Annotated[str, Field(min_length=1, max_length=256)]
    text: str


class CodeRepairTask(Task):
    """A task is a package with a fault."""

    package: Name
    issue: Words
    files: tuple[File, ...]
    """Files that the policy gets: the package's modules, and tests."""
    imports: str = ""
    """Statement before the lines of each check."""
    checks: Annotated[tuple[Check, ...], Field(min_length=1)]
    """Hidden checks. What is expected never comes into a sandbox."""
    fixed: tuple[File, ...] = ()
    """Modules without the fault, which `perfect` writes; none if nobody knows."""
    kind: Kind | None = None
    """Kind of the fault."""


def wrong_with(task: CodeRepairTask) -> str | None:
    """Returns what is wrong with a task that its schema does not say; None if nothing is."""
    if task.package in sys.stdlib_module_names:
        return f"package: {task.package} is a module of Python's own library; choose another name"
    for path in (file.path for file in (*task.files, *task.fixed)):
        parts = PurePosixPath(path).parts
        if not parts or path.startswith("/") or ".." in parts or "\0" in path:
            return f"files: {path!r} is not a relative path within the folder"
    if f"{task.package}/__init__.py" not in [file.path for file in task.files]:
        return f"files: there is no {task.package}/__init__.py"
    wrong = next((one.expected for one in task.checks if not _is_outcome(one.expected)), None)
    return None if wrong is None else f'checks: expected is {{"value": ...}} or {{"raises": ...}}, not {wrong!r:.100}'


def _is_outcome(text: str) -> bool:
    try:
        outcome = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(outcome, dict) and set(outcome) in ({"value"}, {"raises"})
