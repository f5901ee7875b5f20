"""The groups that no trainer gets: a small file each in `dropped/`, so that a restart doesn't think again."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath

from ray_gym.run.storage import Storage
from ray_gym.stream.finished import Finished

DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class Dropped:
    """All of it blocks. Errors: OSError."""

    storage: Storage

    def numbers(self) -> set[int]:
        return {int(stem) for name in self.storage.names(DROPPED) if (stem := PurePath(name).stem).isdigit()}

    def add(self, group: Finished, reason: str, version: int) -> None:
        said = {
            "group_id": group.group_id,
            "reason": reason,
            "completed": group.completed,
            "oldest_version": group.version,
            "version": version,
        }
        self.storage.write(f"{DROPPED}/{group.number}.json", json.dumps(said).encode())

    def forget(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            self.storage.delete(f"{DROPPED}/{number}.json")
