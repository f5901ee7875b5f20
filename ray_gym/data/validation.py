"""Validates every row of a file for an environment: finds bad rows, rows that occur twice, and how long their prompts
are.
"""

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
from ray_gym.task import Task


@dataclass
class ValidationReport:
    """A report tells what was found in a file.

    `bad` has each bad row by its number, with a line for every problem; lengths are of good rows.
    """

    file: TaskFile
    ruler: Ruler
    rows: int = 0
    bad: dict[int, list[str]] = field(default_factory=dict)
    rows_by_content: dict[str, list[int]] = field(default_factory=dict)
    lengths: list[int] = field(default_factory=list)
    tools_length: int | None = None

    @property
    def good(self) -> int:
        """Returns the number of good rows."""
        return self.rows - len(self.bad)

    @property
    def duplicates(self) -> list[list[int]]:
        """Returns groups of rows that differ in their ids only, by their numbers."""
        return [numbers for numbers in self.rows_by_content.values() if len(numbers) > 1]

    @property
    def spread(self) -> LengthSpread | None:
        """Returns how the lengths of first prompts are spread; None if there are none."""
        return LengthSpread.of(self.lengths)


class GivenIds:
    """Remembers the ids that rows give: each may be given once, over all files."""

    def __init__(self) -> None:
        self._places: dict[str, str] = {}

    def problem_of(self, row: FileRow) -> str:
        """Describes the problem of a row's own id, also where the row is bad in other ways; "" for none."""
        given = (row.fields or {}).get("task_id")
        if not isinstance(given, str):
            return ""
        first = self._places.setdefault(given, row.place)
        return f"task_id: {given!r} is given already at {first}" if first != row.place else ""


def content_id(task: Task) -> str:
    """Returns an id of a task's content, the same for tasks that differ in their ids only."""
    return stable_id(task.model_dump_json(exclude={"task_id"}))


def validate(file: TaskFile, environment: Environment[Any, Any], ruler: Ruler) -> ValidationReport:
    """Validates a file. Errors: UserError if the file can't be read."""
    ((report, _),) = validate_all([file], environment, ruler)
    return report


def validate_all(
    files: Sequence[TaskFile], environment: Environment[Any, Any], ruler: Ruler
) -> list[tuple[ValidationReport, list[Placed]]]:
    """Returns the report of each file, and its good tasks.

    An id may be given once in all of them. Errors: UserError.
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
    """Yields the good tasks of a file; bad rows go into the report."""
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
    """Measures messages. Errors: BadRow for messages that the tokenizer's chat template refuses."""
    try:
        return ruler.measure(messages)
    except UserError as error:
        raise BadRow([f"(first prompt): {error}"]) from None
