"""Finds the runs that a viewer shows: those of a folder, or the ones that were named."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from ray_gym.errors import UserError
from ray_gym.run.directory.directory import CONFIG, PLAN
from ray_gym.run.directory.listing import ListedRun, listed, runs_in
from ray_gym.run.directory.location import child_of, parent_of, storage_at
from ray_gym.run.directory.notes import Notes
from ray_gym.run.directory.reading import open_run
from ray_gym.run.directory.storage import EPISODES, Storage
from ray_gym.viewer.run_index import RunIndex
from ray_gym.viewer.training import Training, training_at

FIRST_S = 1.0
"""Most seconds to wait for the first rows of an index."""


class NoSuchRun(UserError):
    """Says that the viewer shows no run of a name."""


@dataclass(slots=True)
class ShownRun:
    """Holds a run that is shown, and its index once somebody has asked for it."""

    storage: Storage
    index: RunIndex
    notes: Notes
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def of(cls, storage: Storage) -> ShownRun:
        """Returns the run of a directory, of which nothing is read yet."""
        return cls(storage, RunIndex(storage), Notes(storage))

    def refresh(self) -> RunIndex:
        """Returns the index, with all that is committed. Blocks while files are read for the first time. Errors: as
        `RunIndex.refresh`.
        """
        with self._lock:
            self.index.refresh()
        return self.index

    def begun(self) -> RunIndex:
        """Returns the index, up to date. While it is read for the first time, returns it with what was read until now,
        once the first file was, and has the rest read in the background. Errors: as `RunIndex.refresh`, unless they come
        in the background.
        """
        if self.index.is_read:
            return self.refresh()
        if not self._lock.locked():
            threading.Thread(target=self._refresh_quietly, name="ray_gym viewer", daemon=True).start()
        self.index.wait_for_rows(FIRST_S)
        return self.index

    def _refresh_quietly(self) -> None:
        """Reads the index. What can't be read is told by the next call of `refresh`."""
        with contextlib.suppress(OSError, UserError):
            self.refresh()

    def training(self) -> Training | None:
        """Returns the curves that a trainer wrote in the run's directory, or beside it; None without any. Errors: UserError
        for a file that can't be read.
        """
        location = self.storage.location
        return training_at(location, parent_of(location))

    def models(self) -> dict[str, Any]:
        """Returns the section `models` of the run's config; an empty one if it can't be read."""
        return models_of(self.storage)


@dataclass(slots=True)
class Places:
    """Holds the runs of a viewer by name."""

    folder: str | None
    """Folder whose runs are shown; None if runs were named."""
    _named: dict[str, ShownRun] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def of(cls, locations: Sequence[str]) -> Places:
        """Opens one folder of runs, or runs. Errors: UserError if there is none, one can't be read, or two have the same
        name.
        """
        if len(locations) == 1 and not _is_run(locations[0]):
            if not any(True for _ in runs_in(locations[0])):
                raise UserError(f"{locations[0]}: there are no runs in this folder, and it is none itself")
            return cls(locations[0])
        places = cls(None)
        for location in locations:
            storage = open_run(location).storage
            if storage.name in places._named:
                if places._named[storage.name].storage.location == storage.location:
                    raise UserError(f"{location}: this run is named twice")
                raise UserError(f"{location}: another run that was named is called {storage.name}, too; rename one")
            places._named[storage.name] = ShownRun.of(storage)
        return places

    def runs(self) -> list[ListedRun]:
        """Returns the runs with their state and figures, by name. Errors: UserError if the folder can't be read."""
        if self.folder is not None:
            return list(runs_in(self.folder))
        return [listed(run.storage.location, run.storage) for run in self._named.values()]

    def run(self, name: str) -> ShownRun:
        """Returns a run. Errors: NoSuchRun."""
        with self._lock:
            if name in self._named:
                return self._named[name]
            if (
                self.folder is None
                or name in ("", ".", "..")
                or "/" in name
                or "\0" in name
                or not _is_run(child_of(self.folder, name))
            ):
                raise NoSuchRun(f"there is no run {name!r} here")
            storage = storage_at(child_of(self.folder, name))
            self._named[name] = ShownRun.of(storage)
            return self._named[name]

    def named(self) -> list[ShownRun]:
        """Returns the runs that were named, in their order; none for a folder. Nothing is read for it."""
        return list(self._named.values()) if self.folder is None else []


def models_of(storage: Storage) -> dict[str, Any]:
    """Returns the section `models` of a run's config; an empty one if it can't be read."""
    try:
        config = yaml.safe_load(storage.read(CONFIG))
    except (OSError, yaml.YAMLError, UnicodeDecodeError):
        return {}
    models = config.get("models") if isinstance(config, dict) else None
    return models if isinstance(models, dict) else {}


def _is_run(location: str) -> bool:
    storage = storage_at(location)
    try:
        return storage.exists(EPISODES) or storage.exists(CONFIG) or storage.exists(PLAN)
    except OSError as error:
        raise UserError(f"{location} can't be read: {error.strerror or error}") from None
