"""Reads what a report tells of a run: its figures, its findings and its index, each in one pass over the run's files."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import pyarrow as pa

from ray_gym.cli.stats_reading import ReadRun, read_run
from ray_gym.health.examine import Health, examine
from ray_gym.run.directory.listing import ListedRun, listed
from ray_gym.run.directory.location import storage_at
from ray_gym.run.directory.storage import Storage
from ray_gym.viewer.index_files import read_index
from ray_gym.viewer.index_rows import INDEX
from ray_gym.viewer.places import models_of


@dataclass(frozen=True)
class Facts:
    """Holds what was read of a run. None of it grows with what was said."""

    storage: Storage
    read: ReadRun
    health: Health
    listed: ListedRun
    files: list[str]
    """Names of the committed files, by the numbers that the index has."""
    index: pa.Table
    """A row for each episode, under `ray_gym.viewer.index_rows.INDEX`."""
    models: dict[str, object] = field(default_factory=dict)
    """The section `models` of the run's config."""

    def without_location(self, text: str) -> str:
        """Returns a message with the run's name for its place, which is nobody else's business, and may hold keys."""
        for place in sorted(
            {self.read.location, self.storage.location, self.storage.root} - {""}, key=len, reverse=True
        ):
            whole = rf"(?<![\w/.]){re.escape(place.rstrip('/'))}/?(?=[/\s:,]|$)"
            text = re.sub(whole, lambda _: self.storage.name, text)
        return text


def read_facts(location: str) -> Facts:
    """Reads a run. Errors: as `read_run`."""
    read = read_run(location)
    storage = storage_at(location)
    files = storage.committed()
    parts = [INDEX.empty_table()]
    for number, name in enumerate(files):
        parts.append(read_index(storage, name, number)[0])
    index = pa.concat_tables(parts)
    return Facts(storage, read, examine(storage), listed(location, storage), files, index, models_of(storage))
