"""Makes the files of a data set from task rows: splits the rows, and describes them."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from ray_gym.data.lengths import Ruler
from ray_gym.data.parquet import write_rows
from ray_gym.data.rows import TaskFile
from ray_gym.data.tasks import Placed, with_ids
from ray_gym.data.validation import ValidationReport, content_id, validate_all
from ray_gym.environment import Environment
from ray_gym.seeds import derive_seed
from ray_gym.task import Task, task_data

Split = Literal["train", "validation"]
SPLITS: tuple[Split, ...] = ("train", "validation")
"""Splits of a data set, in the order of their files."""
STATISTICS = "statistics.json"
"""Name of the file that describes a data set."""
Rows = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Settings:
    """Holds the settings with which a data set is made."""

    environment: str
    """Id of the environment."""
    options: Mapping[str, Any]
    """All options of the environment."""
    validation: float
    """Share of the rows in the validation split, 0 to 1."""
    seed: int
    """Seed of the split."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """Holds the rows of a data set before it is written."""

    settings: Settings
    reports: list[ValidationReport]
    """Reports on the files that the rows come from."""
    rows: dict[Split, Rows]
    """Good rows, by split."""

    @property
    def bad(self) -> int:
        """Returns the number of bad rows."""
        return sum(len(report.bad) for report in self.reports)


def prepare(paths: Sequence[Path], environment: Environment[Any, Any], settings: Settings, ruler: Ruler) -> Prepared:
    """Reads and validates files of rows, and splits their good rows. Errors: UserError for a file that can't be read,
    an id that two tasks have, or infrastructure of the environment that fails.
    """
    found = validate_all([TaskFile(path) for path in paths], environment, ruler)
    tasks = [placed for _, of_file in found for placed in of_file]
    rows: dict[Split, Rows] = {split: [] for split in SPLITS}
    for (_, task), row in zip(tasks, rows_of(tasks), strict=True):
        rows[choose_split(task, settings)].append(row)
    return Prepared(settings, [report for report, _ in found], rows)


def rows_of(tasks: Sequence[Placed]) -> Rows:
    """Returns the fields that each task sets, with the id that it has in a run.

    Errors: UserError for an id that two tasks have.
    """
    return [
        {"task_id": row.task_id, **task_data(task, task.model_fields_set - {"task_id"})}
        for row, (_, task) in zip(with_ids(tasks), tasks, strict=True)
    ]


def choose_split(task: Task, settings: Settings) -> Split:
    """Returns the split of a task, by the seed and the task's id (its content if it has none), and by no other row."""
    drawn = derive_seed(settings.seed, "split", task.task_id or content_id(task)) / 2**63
    return "validation" if drawn < settings.validation else "train"


def files_of(prepared: Prepared) -> dict[str, bytes]:
    """Returns the contents of the data set's files, by name: one for each split that has rows, and `STATISTICS`.

    The same rows and settings give the same bytes.
    """
    files = {f"{split}.parquet": _parquet(rows) for split, rows in prepared.rows.items() if rows}
    statistics = _statistics(prepared, files)
    files[STATISTICS] = (json.dumps(statistics, indent=2, ensure_ascii=False) + "\n").encode()
    return files


def _parquet(rows: Rows) -> bytes:
    file = io.BytesIO()
    write_rows(rows, file)
    return file.getvalue()


def _statistics(prepared: Prepared, files: Mapping[str, bytes]) -> dict[str, Any]:
    """Returns counts, lengths, settings and checksums for the file `STATISTICS`."""
    return {
        "settings": asdict(prepared.settings),
        "rows": {split: len(rows) for split, rows in prepared.rows.items()},
        "sources": [_source(report) for report in prepared.reports],
        "files": {name: {"sha256": hashlib.sha256(data).hexdigest()} for name, data in files.items()},
    }


def _source(report: ValidationReport) -> dict[str, Any]:
    spread = report.spread
    return {
        "file": str(report.file.path),
        "sha256": hashlib.sha256(report.file.path.read_bytes()).hexdigest(),
        "rows": report.rows,
        "rows_with_a_double": sum(map(len, report.duplicates)),
        "first_prompt": {"unit": report.ruler.unit, **asdict(spread)} if spread else None,
    }
