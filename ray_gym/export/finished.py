"""Reads a finished run group by group, with only a few groups in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ray_gym.errors import UserError
from ray_gym.run.directory.directory import RunDirectory
from ray_gym.run.directory.empty import no_episodes
from ray_gym.run.directory.intact import intact_rows
from ray_gym.run.directory.location import shell_quoted
from ray_gym.run.directory.parquet import DamagedRows
from ray_gym.run.directory.reading import Run

Row = dict[str, Any]
"""Row of an episode, by column (docs/record.md)."""

ROWS_AT_ONCE = 16
"""Number of rows that are turned into Python objects together."""


def refuse_unfinished(run: Run) -> None:
    """Checks that a run is finished. Errors: UserError if it has no episodes, or fewer than were planned, or if its
    episodes can't be read; OSError, ValueError or TypeError if its plan.json can't be read.
    """
    try:
        there = run.storage.count()
    except OSError as error:
        raise _unreadable(run, error) from None
    except DamagedRows as error:
        raise _damaged(error) from None
    planned = RunDirectory(run.storage).read_fingerprint()
    if not there:
        raise no_episodes(run)
    if planned is not None and there < planned.episodes:
        raise UserError(
            f"{run.location}: it is not finished: {there:,} of {planned.episodes:,} episodes are there; resume it by "
            f"`ray-gym rollout --resume {shell_quoted(run.location)}`, or export what is there with --partial"
        )


def groups(run: Run, columns: Sequence[str], damages: list[str] | None = None) -> Iterator[list[Row]]:
    """Yields the rows of each group of episodes, sorted by `repeat`. Each row has the `columns`, and `group_id`,
    `group_size` and `repeat`. `damages`: takes a line for each part that can't be read, whose rows are left out; None
    refuses such a run. Errors: UserError if a file can't be read.
    """
    try:
        for group in whole_groups(_rows(run, [*columns, "group_id", "group_size", "repeat"], damages)):
            yield sorted(group, key=lambda row: row["repeat"])
    except OSError as error:
        raise _unreadable(run, error) from None
    except DamagedRows as error:
        raise _damaged(error) from None


def whole_groups(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Yields the rows of each group of episodes together. A group's rows are in one file, but not always side by side.

    Groups with fewer rows than their `group_size` are yielded at the end.
    """
    gathering: dict[str, list[Row]] = {}
    for row in rows:
        group = gathering.setdefault(row["group_id"], [])
        group.append(row)
        sizes = [one["group_size"] for one in group if one["group_size"] is not None]
        if sizes and len(group) >= sizes[0]:
            yield gathering.pop(row["group_id"])
    yield from gathering.values()


def _rows(run: Run, columns: Sequence[str], damages: list[str] | None) -> Iterator[Row]:
    each = list(dict.fromkeys(columns))
    whole = run.storage.batches(each, ROWS_AT_ONCE)
    for batch in whole if damages is None else intact_rows(run.storage, each, ROWS_AT_ONCE, damages):
        yield from batch.to_pylist()


def _damaged(error: DamagedRows) -> UserError:
    return UserError(f"{error}, or export what can be read with --partial")


def _unreadable(run: Run, error: Exception) -> UserError:
    return UserError(f"{run.location}: its episodes can't be read: {error}")
