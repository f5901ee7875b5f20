"""Rows that wait to be staged in one file. They become Arrow in pieces, as they come: a whole file's at once would hold up the event loop.

(Also on a thread: Arrow keeps the interpreter's lock as long as it reads Python's objects.)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from ray_gym.run.lease import EpisodeKey
from ray_gym.trajectory import as_table

PIECE = 16
"""Rows: 64 held the event loop up for 40 ms; of smaller pieces each row costs more."""


class Rows:
    def __init__(self) -> None:
        self.keys: list[EpisodeKey] = []
        self.bytes = 0
        self._loose: list[dict[str, Any]] = []
        self._packed: list[pa.Table] = []

    def __len__(self) -> int:
        return len(self.keys)

    def add(self, key: EpisodeKey, row: dict[str, Any]) -> None:
        self.keys.append(key)
        self.bytes += _weight(row)
        self._loose.append(row)

    @property
    def pieces(self) -> int:
        """Those that are not packed, and make whole ones."""
        return len(self._loose) // PIECE

    def pack(self) -> None:
        """Make one piece of those that came first."""
        self._packed.append(as_table(self._loose[:PIECE]))
        del self._loose[:PIECE]

    def table(self) -> pa.Table:
        """All of them."""
        while self._loose:
            self.pack()
        return pa.concat_tables(self._packed)


def _weight(row: Mapping[str, Any]) -> int:
    """About how many bytes a row takes in memory: its text, and nine bytes a token."""
    text = sum(len(part["text"]) for event in row["events"] for part in event["content"])
    return text + 9 * sum(len(sample["token_ids"]) for sample in row["samples"])
