"""Validates every row of a file for an environment: finds bad rows and duplicates, and measures the first prompts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ray_gym.data.checking import BadRow, task_of
from ray_gym.data.first_prompt import FirstPrompts
from ray_gym.data.lengths import LengthSpread, Ruler
from ray_gym.data.rows import FileRow, TaskFile
from ray_gym.data.tasks import Placed
from ray_gym.environment import Environment
from ray_gym.errors import UserError
from ray_gym.messages import Message
from ray_gym.seeds import stable_id
from ray_gym.task import Task, task_json


@dataclass
class ValidationReport:
    """Reports on the rows of one file."""

    file: TaskFile
    """The file."""
    ruler: Ruler
    """Ruler with which prompts were measured."""
    rows: int = 0
    """Number of rows."""
    bad: dict[int, list[str]] = field(default_factory=dict)
    """Problems of each bad row, by its number."""
    rows_by_content: dict[str, list[int]] = field(default_factory=dict)
    """Numbers of the good rows, by a hash of their content."""
    lengths: list[int] = field(default_factory=list)
    """Lengths of the good rows' first prompts."""
    tools_length: int | None = None
    """Length that the policy's tools add to a prompt; None if it was not measured."""

    @property
    def good(self) -> int:
        """Returns the number of good rows."""
        return self.rows - len(self.bad)

    @property
    def duplicates(self) -> list[list[int]]:
        """Returns groups of good rows that differ only in their ids, by their numbers."""
        return [numbers for numbers in self.rows_by_content.values() if len(numbers) > 1]

    @property
    def spread(self) -> LengthSpread | None:
        """Returns the spread of the first prompts' lengths; None if there are none."""
        return LengthSpread.of(self.lengths)


class GivenIds:
    """Remembers the ids that rows have, which must be unique over all files."""

    def __init__(self) -> None:
        self._places: dict[str, str] = {}

    def problem_of(self, row: FileRow) -> str:
        """Returns the problem of a row whose id an earlier row has; "" if the id is new, or if the row has no id, or
        one that is no text. Remembers the id, even if the row is bad in other ways.
        """
        given = (row.fields or {}).get("task_id")
        if not isinstance(given, str):
            return ""
        first = self._places.setdefault(given, row.place)
        return f"task_id: {given!r} is given already at {first}" if first != row.place else ""


def content_id(task: Task) -> str:
    """Returns a hash of a task's content without its id."""
    return stable_id(task_json(task, exclude={"task_id"}))


def validate(file: TaskFile, environment: Environment[Any, Any], ruler: Ruler) -> ValidationReport:
    """Validates the rows of one file, and returns the report. Errors: UserError if the file can't be read, or if
    infrastructure that the environment needs fails.
    """
    ((report, _),) = validate_all([file], environment, ruler)
    return report


def validate_all(
    files: Sequence[TaskFile], environment: Environment[Any, Any], ruler: Ruler
) -> list[tuple[ValidationReport, list[Placed]]]:
    """Validates the rows of files, and returns the report and the good tasks of each. Ids must be unique over all
    files.

    Errors: UserError if a file can't be read, or if infrastructure that the environment needs fails.
    """

    async def look() -> list[tuple[ValidationReport, list[Placed]]]:
        given_ids, prompts = GivenIds(), FirstPrompts(environment)
        try:
            found = []
            for file in files:
                report = ValidationReport(file, ruler)
                found.append((report, [placed async for placed in _good_tasks(report, given_ids, prompts)]))
            return found
        finally:
            await prompts.close()

    return asyncio.run(look())


async def _good_tasks(report: ValidationReport, given_ids: GivenIds, prompts: FirstPrompts) -> AsyncIterator[Placed]:
    """Yields the good tasks of a file. Puts the counts, the bad rows and the lengths into the report.

    Errors: UserError if the file can't be read, or if infrastructure that the environment needs fails.
    """
    for row in report.file.rows():
        report.rows += 1
        repeated = given_ids.problem_of(row)
        problems = [repeated] if repeated else []
        try:
            task = task_of(row, prompts.environment)
            messages = await prompts.of(task)
            length = _length(report.ruler, messages) if messages is not None else None
        except BadRow as error:
            report.bad[row.number] = [*error.problems, *problems]
            continue
        if problems:
            report.bad[row.number] = problems
            continue
        report.rows_by_content.setdefault(content_id(task), []).append(row.number)
        if messages is not None and length is not None:
            report.lengths.append(length)
            if report.tools_length is None and report.ruler.measure_tools is not None and prompts.tools:
                report.tools_length = report.ruler.measure_tools(messages, prompts.tools)
        yield row.place, task


def _length(ruler: Ruler, messages: Sequence[Message]) -> int:
    """Returns the length of messages. Errors: BadRow if the tokenizer's chat template refuses them."""
    try:
        return ruler.measure(messages)
    except UserError as error:
        raise BadRow([f"(first prompt): {error}"]) from None
