"""The groups of a committed file: what decides whether a trainer gets them, read without their tokens and texts."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import Any

import pyarrow.parquet as pq

from ray_gym.run.commit_order import number_of as commit_of
from ray_gym.run.storage import EPISODES, Storage
from ray_gym.stream.source import number_of

_SAMPLES = "samples.list.element"
COLUMNS = [
    "group_id",
    "task_id",
    "status",
    f"{_SAMPLES}.trainable",
    f"{_SAMPLES}.versions.list.element.version",
]


@dataclass(frozen=True, slots=True)
class Finished:
    """A group whose episodes are all over, and where its rows are."""

    number: int
    group_id: str
    task_id: str
    commit: int
    file: str
    start: int
    rows: int
    completed: int
    version: int | None
    """The oldest that a trainable token of a completed episode came from; None where no tokens are known."""


def groups_of(storage: Storage, file: str) -> list[Finished]:
    """Blocks. Errors: OSError; ValueError for a file that is none of a stream's."""
    commit = commit_of(file)
    if commit is None:
        raise ValueError(f"{file} is no file of a stream's")
    with storage.filesystem.open_input_file(storage.at(f"{EPISODES}/{file}")) as opened:
        rows: list[dict[str, Any]] = pq.ParquetFile(opened).read(columns=COLUMNS).to_pylist()
    found, start = [], 0
    for group_id, members in groupby(rows, key=lambda row: str(row["group_id"])):
        group = list(members)
        usable = [row for row in group if row["status"] == "completed"]
        versions = [version for row in usable for version in _versions(row)]
        found.append(
            Finished(
                number=number_of(group_id),
                group_id=group_id,
                task_id=group[0]["task_id"],
                commit=commit,
                file=file,
                start=start,
                rows=len(group),
                completed=len(usable),
                version=min(versions, default=None),
            )
        )
        start += len(group)
    return found


def _versions(row: dict[str, Any]) -> list[int]:
    return [span["version"] for sample in row["samples"] if sample["trainable"] for span in sample["versions"]]
