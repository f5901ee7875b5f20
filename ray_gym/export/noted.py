"""Writes the notes of a run: the labels and remarks that people gave its episodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ray_gym.export.finished import Row
from ray_gym.export.form import Form, FormOptions
from ray_gym.export.selection import Counts
from ray_gym.run.directory.notes import Note, Notes
from ray_gym.run.directory.reading import Run

NO_NOTE = "episodes without a note"
"""Reason for which an episode is left out."""


@dataclass(frozen=True)
class Noted(Form):
    """Writes a line for each episode with a note."""

    notes: Mapping[str, Note]
    """Notes by the episode's id."""
    to = "notes"
    columns = ("run_id", "episode_id", "group_id", "task_id", "status", "reward")

    @classmethod
    @contextmanager
    def open_form(cls, options: FormOptions, run: Run) -> Iterator[Noted]:
        """Makes the form with the notes of a run. Errors: UserError for a damaged file of notes."""
        yield cls(Notes(run.storage).read())

    def lines(self, groups: Iterable[list[Row]], counts: Counts) -> Iterator[dict[str, Any]]:
        """Yields the line of each episode with a note: `labels`, `remark`, `changed_at` (Unix time), and the columns
        that say which episode it is.
        """
        for group in groups:
            for row in group:
                note = self.notes.get(row["episode_id"])
                counts.left_out[NO_NOTE] += note is None
                if note is not None:
                    yield {**{name: row[name] for name in self.columns}, **note.model_dump(mode="json")}
