"""Fences the journals of workers that are gone, and keeps them as long as an episode needs them."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from ray_gym.episode.spec import EpisodeSpec
from ray_gym.journal.history import (
    COMPACTING,
    SUFFIX,
    FencedFile,
    epoch_of,
    fence,
    fence_all,
    is_own,
    late_bytes,
    remove_scratch,
)
from ray_gym.journal.stacks import SUFFIX as STACKS_SUFFIX
from ray_gym.journal.stacks import LastPlace, last_place
from ray_gym.run.lease import Lease


class Specs(Protocol):
    """Gives the specifications of the episodes to be played, by id. It is a dict, or an object that makes them when
    asked.
    """

    def get(self, episode_id: str, /) -> EpisodeSpec | None:
        """Returns the specification of an episode; None if it is not to be played."""


@dataclass(slots=True)
class Fences:
    """Fences and keeps the journals of a run: records that a writer appends to its journal after it was fenced don't
    count. All methods block. `fence_lost` and `release` may be called in several threads at once.
    """

    folder: Path | None
    """Folder of the journals; None if the run keeps none."""
    run_id: str
    problems: list[str] = field(default_factory=list)
    """Messages about damaged records, which are left out, and about files that are no journals of the run."""
    refused_bytes: int = 0
    """Bytes that workers wrote to their journals after they were fenced. These are never read."""
    _needed: dict[str, set[str]] = field(default_factory=dict)
    """Ids of the episodes that need each journal, by the file's name."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def fence_lost(self, worker: str, held: Collection[str]) -> FencedFile | None:
        """Fences the journal of a lost worker, so that later records don't count, and returns it. Returns None if the
        worker made none, or the run keeps none.

        `held`: ids of the worker's episodes that are not committed, for which the file is kept. Journals that no
        episode needs are deleted. Errors: OSError.
        """
        if self.folder is None:
            return None
        try:
            file = fence(self.folder / f"{worker}{SUFFIX}", self.run_id)
        except FileNotFoundError:
            return None
        remove_scratch(self.folder / f"{worker}{COMPACTING}", self.run_id)
        with self._lock:
            self._note(file, file.episodes.keys() & set(held))
            self._remove_unneeded()
        return file

    def last_place_of(self, worker: str) -> LastPlace | None:
        """Returns where the code of a lost worker held the interpreter's lock or crashed, and deletes what says so; None
        if it did neither, or the run keeps no journals. Errors of the filesystem count as that.
        """
        if self.folder is None:
            return None
        path = self.folder / f"{worker}{STACKS_SUFFIX}"
        with contextlib.suppress(OSError):
            stacks = path.read_text("utf-8", "replace")
            path.unlink()
            return last_place(stacks)
        return None

    def take_over(self, specs: Specs) -> dict[str, Lease]:
        """Takes over the journals of an earlier driver: fences them, and deletes those that no episode needs. Returns,
        by episode id, leases that continue the episodes of `specs` which that driver had under way. Errors: OSError.
        """
        leases: dict[str, Lease] = {}
        newest: dict[str, tuple[int, int]] = {}
        for file in fence_all(self.folder, self.run_id) if self.folder and self.folder.is_dir() else []:
            wanted = {one: spec for one in file.episodes if (spec := specs.get(one)) is not None}
            self._note(file, set(wanted))
            for episode_id, spec in wanted.items():
                found = file.episodes[episode_id]
                rank = (
                    epoch_of(file.name),
                    found.attempt,
                )  # a later driver's attempts are newer, whatever their number
                if newest.get(episode_id, rank) > rank:
                    continue
                newest[episode_id] = rank
                spec = replace(spec, attempt=found.attempt + 1)
                before = leases.get(episode_id)
                adopted = found.adopted if found.adopted is not None else before.adopted if before else ()
                leases[episode_id] = Lease(spec, (*adopted, file.name), found.charged)
        for lease in leases.values():
            for name in lease.adopted:
                self._needed.setdefault(name, set()).add(lease.spec.episode_id)
        self._remove_unneeded()
        return leases

    def release(self, episodes: Iterable[str]) -> None:
        """Records that episodes are committed, and deletes the journals that no other episode needs. Errors:
        OSError.
        """
        done = set(episodes)
        with self._lock:
            if any(needed & done for needed in self._needed.values()):
                for needed in self._needed.values():
                    needed -= done
                self._remove_unneeded()

    def remove(self) -> None:
        """Deletes the journals of a run that is complete, and their folder if it is empty then. Files that are not the
        run's are kept. A file that can't be deleted is left without an error.
        """
        if self.folder is None or not self.folder.is_dir():
            return
        for path in self.folder.iterdir():
            with contextlib.suppress(OSError):
                if path.suffix == STACKS_SUFFIX:
                    path.unlink()
                elif is_own(path, self.run_id):
                    self._remove(path)
        with contextlib.suppress(OSError):  # not empty
            self.folder.rmdir()

    def _note(self, file: FencedFile, needed_by: set[str]) -> None:
        self.problems += file.problems
        if not file.foreign:
            self._needed[file.name] = needed_by

    def _remove(self, path: Path) -> None:
        with contextlib.suppress(FileNotFoundError):
            self.refused_bytes += late_bytes(path)
            path.unlink()

    def _remove_unneeded(self) -> None:
        if self.folder is None:
            return
        for name in [name for name, needed in self._needed.items() if not needed]:
            del self._needed[name]
            self._remove(self.folder / name)
