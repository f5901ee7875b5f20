"""Collects the rows of episodes until they are staged in one file."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import pyarrow as pa

from ray_gym.errors import describe
from ray_gym.messages import encodable
from ray_gym.play.play import Played
from ray_gym.record.rows import Facts, facts_of, oldest_versions, table_of
from ray_gym.record.schema import as_table, failed_row
from ray_gym.run.directory.receipt import Receipt, receipt_of
from ray_gym.run.lease import EpisodeKey

AT_ONCE = 32
"""Most episodes that become rows together. Twice as many would hold up the event loop for longer; with fewer, each row
costs more."""
EVENTS_AT_ONCE = 1000
"""Number of events after which no further episode is added to a batch: 32 episodes of a hundred turns would hold up the
event loop for 0.2 s."""


def take_batch(ended: deque[Played]) -> list[Played]:
    """Removes episodes from the left end, and returns them: at most `AT_ONCE`, and none after those that together have
    `EVENTS_AT_ONCE` events. So few become rows without blocking the event loop for long. Empty if `ended` is empty.
    """
    batch: list[Played] = []
    events = 0
    while ended and len(batch) < AT_ONCE and events < EVENTS_AT_ONCE:
        batch.append(ended.popleft())
        events += len(batch[-1].episode.events)
    return batch


class Rows:
    """Holds rows as Arrow tables, with the attempt of each."""

    def __init__(self, run_id: str, env_id: str) -> None:
        self._of = run_id, env_id
        self.keys: list[EpisodeKey] = []
        """Attempt of each row."""
        self.bytes = 0
        """Size of the rows in memory, in bytes."""
        self._tables: list[pa.Table] = []

    def __len__(self) -> int:
        return len(self.keys)

    def add(self, played: Sequence[Played]) -> list[Receipt]:
        """Adds the rows of episodes, and returns their receipts in the same order. An episode that can't become a row
        gets a failed row instead. `played` must not be empty.
        """
        receipts, table = self._make(played)
        self.keys += [receipt.episode for receipt in receipts]
        self.bytes += table.nbytes
        self._tables.append(table)
        self._join_small_ones()
        return receipts

    def table(self) -> pa.Table:
        """Returns all rows as one table, in the order in which they were added. Errors: ValueError if there are
        none.
        """
        return pa.concat_tables(self._tables)

    def _join_small_ones(self) -> None:
        """Joins the last `AT_ONCE` tables into one if they are small, because each table costs 80 kB and time to
        write.
        """
        last = self._tables[-AT_ONCE:]
        if len(last) == AT_ONCE and sum(table.num_rows for table in last) < 4 * AT_ONCE:
            self._tables[-AT_ONCE:] = [pa.concat_tables(last).combine_chunks()]

    def _make(self, played: Sequence[Played]) -> tuple[list[Receipt], pa.Table]:
        try:
            facts = [facts_of(one, *self._of) for one in played]
            return [_receipt(*both) for both in zip(facts, played, strict=True)], table_of(played, facts)
        except Exception as error:
            if len(played) == 1:
                row = failed_row(played[0].episode.spec, *self._of, describe(error))
                return [receipt_of(row, played[0].episode.calls.log.replayed)], as_table([encodable(row)])
        made = [self._make([one]) for one in played]
        return [receipt for [receipt], _ in made], pa.concat_tables([table for _, table in made])


def _receipt(facts: Facts, played: Played) -> Receipt:
    episode = played.episode
    return receipt_of(facts, episode.calls.log.replayed, oldest_versions(played), episode.undecided)
