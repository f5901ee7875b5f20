"""Holds the index of one run in memory, as a table of DuckDB, and keeps up with the files that the run commits.

A file never changes once it is committed, so each is read once. What can't be read is named, and the rest is shown.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ray_gym.run.directory.storage import Storage
from ray_gym.viewer.index_files import Damage, read_index
from ray_gym.viewer.index_rows import INDEX, with_staleness

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

TABLE = "episodes"
"""Name of the table in DuckDB."""
SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",  # no query reads another file, or attaches another database
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "memory_limit": "256MB",
    "threads": str(min(4, os.cpu_count() or 1)),
}
"""Settings of DuckDB, which no query can change."""


@dataclass(slots=True)
class RunIndex:
    """Holds a row for each episode that was committed, under `INDEX`. All methods block, and threads may share it."""

    storage: Storage
    files: list[str] = field(default_factory=list)
    """Names of the files that were read, by their number; "" for a file that is gone."""
    damage: list[Damage] = field(default_factory=list)
    waiting: int = 0
    """Number of the files that were found and are not read yet."""
    is_read: bool = False
    """Says whether all files were read that were there when the index was begun."""
    _newest: int = -1
    """Newest version of the weights in the files that were read."""
    _database: Any = None
    _has_rows: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _making: threading.Lock = field(default_factory=threading.Lock)

    def refresh(self) -> None:
        """Reads the files that were committed since the last call, and forgets those that are gone. Errors: OSError,
        UserError if the run's folder can't be listed.
        """
        with self._lock:
            known, found = set(self.files), self.storage.committed()
            new = [name for name in found if name not in known]
            self._forget(known - set(found) - {""})
            numbers = {name: len(self.files) + place for place, name in enumerate(new)}
            self.waiting = len(new)
            self.files += new
            with ThreadPoolExecutor(self.storage.readers) as pool:
                for rows, damage in pool.map(lambda name: read_index(self.storage, name, numbers[name]), new):
                    self.damage += damage
                    rows, self._newest = with_staleness(rows, self._newest)
                    self._add(rows)
                    self.waiting -= 1
                    self._has_rows.set()
            self.is_read = True
            self._has_rows.set()

    def wait_for_rows(self, seconds: float) -> None:
        """Waits until the first file was read, but at most so many seconds."""
        self._has_rows.wait(seconds)

    @contextmanager
    def query(self) -> Iterator[DuckDBPyConnection]:
        """Gives a connection to the table while a `with` block runs. Threads need one each."""
        connection = self._connection().cursor()
        try:
            yield connection
        finally:
            connection.close()

    def place_of(self, episode_id: str) -> tuple[str, int] | None:
        """Returns the name of the file that has an episode, and the number of its row; None if there is no such
        episode.
        """
        with self.query() as connection:
            found = connection.execute(f"SELECT file, place FROM {TABLE} WHERE episode_id = ?", [episode_id]).fetchone()
        return None if found is None else (self.files[found[0]], int(found[1]))

    def _connection(self) -> DuckDBPyConnection:
        with self._making:  # the first reader and the first query come at the same time
            if self._database is None:
                self._database = _new_database()
            database: DuckDBPyConnection = self._database
        return database

    def _add(self, rows: pa.Table) -> None:
        if rows.num_rows:
            with self.query() as connection:
                connection.register("added", rows)
                connection.execute(f"INSERT INTO {TABLE} SELECT * FROM added")
                connection.unregister("added")

    def _forget(self, names: set[str]) -> None:
        """Removes the rows of files that are gone, such as those that a trainer's stream no longer needs."""
        gone = [number for number, name in enumerate(self.files) if name in names]
        if gone:
            with self.query() as connection:
                connection.execute(f"DELETE FROM {TABLE} WHERE list_contains(?, file)", [gone])
        for number in gone:
            self.files[number] = ""
        self.damage = [damage for damage in self.damage if damage.file not in names]


def _new_database() -> DuckDBPyConnection:
    """Returns a database in memory, with the table and without a row."""
    import duckdb  # of the extra `view`

    made = duckdb.connect(":memory:", config=SETTINGS)
    made.register("nothing", pa.Table.from_batches([], schema=INDEX))
    made.execute(f"CREATE TABLE {TABLE} AS SELECT * FROM nothing")
    made.execute("SET lock_configuration = true")
    return made
