"""Where episodes start from: task rows out of a file or out of the environment's generator, each with a stable id."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pydantic import ValidationError

from ray_gym.config import TasksSection
from ray_gym.config_file import explain
from ray_gym.environment import Environment, Task
from ray_gym.errors import UserError, describe
from ray_gym.seeds import derive_seed, stable_id

Placed = tuple[str, Task]
"""A task and where it stands, for messages."""
MAX_PROBLEMS = 20
"""Bad rows shown before the rest is only counted."""


@dataclass(frozen=True, slots=True)
class TaskRow:
    """A validated task: its id and its JSON, as it goes into the record."""

    task_id: str
    task: str


def read_tasks(section: TasksSection, environment: Environment[Any, Any], seed: int, config_dir: Path) -> list[TaskRow]:
    """All tasks of a run, in order.

    Errors: UserError for a missing file, a row that breaks the environment's schema (file, line, field), no rows at all.
    """
    if section.path is not None:
        tasks: Iterable[Placed] = _from_file(locate(section.path, config_dir), environment, section.limit)
    else:
        count = min(section.generate or 0, section.limit or section.generate or 0)
        tasks = _generated(environment, seed, count)
    rows = list(_with_ids(_for_these_participants(tasks, environment.participants)))
    if not rows:
        raise UserError(f"tasks: {section.path or 'the generator'} gave no tasks")
    return rows


def locate(path: str, config_dir: Path) -> Path:
    """Where a task file is. Errors: UserError."""
    candidates = [config_dir / Path(path).expanduser(), Path(path).expanduser()]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    looked = " nor ".join(dict.fromkeys(str(candidate) for candidate in candidates))
    raise UserError(f"tasks.path: there is no file {looked}")


def _from_file(path: Path, environment: Environment[Any, Any], limit: int | None) -> list[Placed]:
    task_type = environment.task_type
    if path.suffix == ".jsonl":
        rows = _jsonl_rows(path)
    elif path.suffix == ".parquet":
        rows = _parquet_rows(path)
    else:
        raise UserError(f"tasks.path: {path} is neither .jsonl nor .parquet")
    tasks: list[Placed] = []
    problems: list[str] = []
    for place, row in islice(rows, limit):
        try:
            task = task_type.model_validate_json(row)
            environment.check(task)
            tasks.append((place, task))
        except ValidationError as error:
            problems += [f"{place}: {line}" for line in explain(error, task_type)]
        except (ValueError, UserError) as error:
            problems.append(f"{place}: {error}")
        except Exception as error:
            problems.append(f"{place}: the task's validator failed: {describe(error)}")
    if problems:
        more = f"\n... and {len(problems) - MAX_PROBLEMS} more" if len(problems) > MAX_PROBLEMS else ""
        raise UserError("\n".join(problems[:MAX_PROBLEMS]) + more)
    return tasks


def _jsonl_rows(path: Path) -> Iterator[tuple[str, str]]:
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield f"{path}:{number}", line
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: can't be read: {error}") from None


def _parquet_rows(path: Path) -> Iterator[tuple[str, str]]:
    try:
        table = pq.read_table(path)
    except Exception as error:
        raise UserError(f"{path}: not a readable Parquet file: {describe(error)}") from None
    for number, row in enumerate(table.to_pylist()):
        given = {key: value for key, value in row.items() if value is not None}
        yield f"{path} row {number}", json.dumps(given, default=str)


def _generated(environment: Environment[Any, Any], seed: int, count: int) -> Iterator[Placed]:
    for index in range(count):
        try:
            yield (
                f"generated task {index}",
                environment.generate(random.Random(derive_seed(seed, "task", index)), index),
            )
        except NotImplementedError as error:
            raise UserError(f"tasks.generate: {error}") from None
        except Exception as error:
            raise UserError(f"tasks.generate: the generator failed on task {index}: {describe(error)}") from error


def _for_these_participants(tasks: Iterable[Placed], participants: Sequence[str]) -> Iterator[Placed]:
    for place, task in tasks:
        for name in task.system_prompts:
            if name not in participants:
                raise UserError(f"{place}: system_prompts.{name}: known participants: {', '.join(participants)}")
        if task.messages and task.messages[-1].role == "assistant" and len(participants) == 1:
            raise UserError(f"{place}: messages: the policy spoke last, and there is nobody else who could answer it")
        yield place, task


def _with_ids(tasks: Iterable[Placed]) -> Iterator[TaskRow]:
    """The given id, or a hash of the content; equal rows get distinct ids by counting. Errors: UserError for an id given twice."""
    counts: dict[str, int] = {}
    given: dict[str, str] = {}
    for place, task in tasks:
        text = task.model_dump_json()
        if task.task_id is not None:
            if task.task_id in given:
                raise UserError(f"{place}: task_id: {task.task_id!r} is given already at {given[task.task_id]}")
            given[task.task_id] = place
            yield TaskRow(task.task_id, text)
            continue
        base = stable_id(text)
        count = counts.get(base, 0)
        counts[base] = count + 1
        yield TaskRow(base if not count else f"{base}-{count}", text)
