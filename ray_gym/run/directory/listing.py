"""Lists the runs of a folder with their state, figures and size, and says which of them may be removed."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
import yaml
from pyarrow.fs import FileInfo, FileSelector, FileType

from ray_gym.errors import UserError, describe
from ray_gym.messages import utf8
from ray_gym.run.directory.directory import CONFIG, PLAN, STREAM, find_run
from ray_gym.run.directory.location import child_of, storage_at
from ray_gym.run.directory.reading import Run
from ray_gym.run.directory.storage import EPISODES, Storage

State = Literal["live", "finished", "interrupted", "unfinished", "stream", "damaged"]
"""State of a run. live: a driver writes it. finished: all planned episodes are committed. interrupted: it has ended
before. unfinished: its driver has died. stream: a trainer's, which may open it again. damaged: it can't be read.
"""
DAY_S = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class ListedRun:
    """Describes a run of a folder."""

    name: str
    location: str
    state: State
    changed: float
    """Time of the newest file, in Unix seconds."""
    size: int
    """Bytes of all its files."""
    episodes: int = 0
    """Number of the committed episodes."""
    planned: int | None = None
    """Number of the planned episodes; None for a stream, or if it is not known."""
    failed: int = 0
    """Number of the committed episodes that failed."""
    mean_reward: float | None = None
    """Mean reward of the completed episodes; None without any."""
    cost: float | None = None
    """Cost of the committed episodes; None if no model of theirs has a price."""
    failure: str = ""
    """Reason for which it was ended early; empty without one."""
    problem: str = ""
    """Reason for which it is damaged; empty if it is not."""

    def may_be_removed(self, older_than_s: float, now: float) -> bool:
        """Says whether nobody needs the run's directory to go on: the run is finished, and was last changed more than
        `older_than_s` seconds before `now` (Unix seconds).
        """
        return self.state == "finished" and now - self.changed > older_than_s


def runs_in(folder: str) -> Iterator[ListedRun]:
    """Yields the runs of a folder (a path or a URI), by name. A folder that is no run is passed over.

    Errors: UserError if the folder is not there, can't be read, or is a run itself.
    """
    for name in _folders_in(folder):
        if (shown := utf8(name)) != name:
            yield ListedRun(
                shown, child_of(folder, shown), "damaged", 0.0, 0, problem="its name is not UTF-8: rename it"
            )
            continue
        location = child_of(folder, name)
        storage = storage_at(location)
        if storage.exists(EPISODES) or storage.exists(CONFIG):
            yield listed(location, storage)


def remove_run(location: str) -> None:
    """Deletes a run's directory, unless another driver has opened it meanwhile, or it is not whole. Errors: RunIsTaken;
    UserError that names the damage; OSError.
    """
    require_whole(location)
    directory = find_run(location)
    directory.open()
    assert directory.owner is not None
    directory.owner.withdraw()
    directory.storage.remove()


def require_whole(location: str) -> None:
    """Checks that all episodes which a finished run counts can be read, and its config is YAML. Errors: UserError that
    names what is wrong; OSError.
    """
    storage = storage_at(location)
    try:
        if not isinstance(yaml.safe_load(storage.read(CONFIG)), dict):
            raise UserError(f"{location}/{CONFIG}: this file is damaged (it is empty, or no mapping)")
        there = sum(table.num_rows for table in storage.tables(["episode_id"]))
        counted = (Run(storage).summary or {}).get("episodes", 0)
    except (yaml.YAMLError, UnicodeDecodeError, FileNotFoundError) as error:
        raise UserError(f"{location}/{CONFIG}: it can't be read: {describe(error)}") from None
    if there != counted:
        raise UserError(f"{location}: its summary counts {counted} episodes, and {there} are there")


def _folders_in(folder: str) -> list[str]:
    """Returns the sorted names of the folders in a folder. Errors: as `runs_in`."""
    storage = storage_at(folder)
    try:
        if storage.exists(CONFIG):
            raise UserError(f"{folder}: this is a run itself: `ray-gym show` shows it; give the folder that it is in")
        found = storage.filesystem.get_file_info(FileSelector(storage.root))
        return sorted(info.base_name for info in found if info.type == FileType.Directory)
    except NotADirectoryError:
        raise UserError(f"{folder}: this is a file; give a folder of runs") from None
    except FileNotFoundError:
        raise UserError(
            f"{folder}: there is no such folder; give the one that your runs are in (`output.dir`)"
        ) from None
    except OSError as error:
        raise UserError(f"{folder}: can't be read: {error.strerror or error}") from None
    except UnicodeDecodeError:  # of a name; only a filesystem has such
        return sorted(entry.name for entry in os.scandir(storage.root) if entry.is_dir())


def listed(location: str, storage: Storage) -> ListedRun:
    files = _files_of(storage)
    size = sum(info.size or 0 for info in files)
    changed = max(((info.mtime_ns or 0) / 1e9 for info in files), default=0.0)
    try:
        figures = _figures(storage)
        return ListedRun(storage.name, location, changed=changed, size=size, **figures)
    except (UserError, OSError, pa.ArrowException, ValueError, KeyError, TypeError, AttributeError) as error:
        problem = str(error) if isinstance(error, UserError) else describe(error)
        return ListedRun(storage.name, location, "damaged", changed, size, problem=problem)


def _files_of(storage: Storage) -> list[FileInfo]:
    """Returns the files of a run directory. Some may go while they are listed."""
    with suppress(FileNotFoundError):
        found = storage.filesystem.get_file_info(FileSelector(storage.root, recursive=True))
        return [info for info in found if info.type == FileType.File]
    return []


def _figures(storage: Storage) -> dict[str, Any]:
    """Returns a run's state and figures, by the names of `ListedRun`. Of a run that has ended they are those of its
    summary, else those of its rows. Errors: as `Run`; KeyError, TypeError for a damaged summary or plan.
    """
    summary = None if storage.is_owned() else Run(storage).summary
    if summary is not None:
        is_stream = storage.exists(STREAM)
        ended: State = "stream" if is_stream else "interrupted" if summary["interrupted"] else "finished"
        return {
            "state": ended,
            "episodes": summary["episodes"],
            "planned": None if is_stream else summary["of"],
            "failed": summary["status"].get("failed", 0),
            "mean_reward": summary["mean_reward"],
            "cost": (summary.get("cost") or {}).get("total"),
            "failure": summary.get("failure") or "",
        }
    state: State = "live" if storage.is_owned() else "stream" if storage.exists(STREAM) else "unfinished"
    return {"state": state, "planned": _planned(storage), **_of_rows(storage)}


def _planned(storage: Storage) -> int | None:
    """Returns the number of planned episodes that a run has noted; None for a stream, or if it has noted none."""
    if storage.exists(STREAM) or not storage.exists(PLAN):
        return None
    return int(json.loads(storage.read(PLAN))["episodes"])


def _of_rows(storage: Storage) -> dict[str, Any]:
    """Counts the committed episodes, and takes the mean of the completed ones' rewards."""
    tables = list(storage.tables(["status", "reward", "cost"]))
    if not tables:
        return {}
    rows = pa.concat_tables(tables)
    status = rows.column("status")
    rewards = rows.filter(pc.equal(status, "completed")).column("reward")
    failed = pc.sum(pc.equal(status, "failed")).as_py() or 0
    cost = pc.sum(rows.column("cost")).as_py()
    return {"episodes": rows.num_rows, "failed": failed, "mean_reward": pc.mean(rewards).as_py(), "cost": cost}


def age_of(changed: float, now: float | None = None) -> str:
    """Returns how long ago a time was, in words as `3 h` or `12 days`. `now`: Unix seconds; None: the present."""
    passed = max(0.0, (time.time() if now is None else now) - changed)
    for unit, length in (("days", DAY_S), ("h", 3600.0), ("min", 60.0)):
        if passed >= 2 * length:
            return f"{passed // length:.0f} {unit}"
    return f"{passed:.0f} s"
