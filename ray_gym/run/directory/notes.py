"""Keeps labels and remarks on episodes in a file beside a run, never in the episodes' own files."""

from __future__ import annotations

import csv
import io
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from ray_gym.errors import RunFailed, UserError
from ray_gym.run.directory.storage import Storage

FILE = "notes.json"
"""Name of the file in the run's directory."""
LONGEST_REMARK = 20_000
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""Beginnings of what programs for tables take for a formula."""


def _named(label: str) -> str:
    """Returns a label without white space around it. Errors: ValueError for one that names nothing."""
    if not label.strip() or label.strip() == "*":
        raise ValueError("a label needs letters; * stands for any")
    return label.strip()


def _each_once(labels: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(labels))


Label = Annotated[
    str,
    Field(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f,]+$"),
    AfterValidator(_named),
]


class Note(BaseModel):
    """Says what a person noted of an episode."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    labels: Annotated[tuple[Label, ...], Field(max_length=50), AfterValidator(_each_once)] = ()
    remark: Annotated[str, Field(max_length=LONGEST_REMARK)] = ""
    changed_at: float = 0.0
    """Unix time of the last change."""

    @property
    def is_empty(self) -> bool:
        """Says whether there is neither a label nor a remark."""
        return not self.labels and not self.remark.strip()


class NotesFile(BaseModel):
    """Holds the notes of a run as its file has them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: Literal[1] = 1
    notes: dict[str, Note] = {}
    """Notes by the episode's id."""


def csv_of(notes: Mapping[str, Note]) -> str:
    """Returns notes as CSV: a line an episode with its labels, which are separated by commas, and its remark. A text that
    would be a formula has an apostrophe before it.
    """
    written = io.StringIO()
    lines = csv.writer(written)
    lines.writerow(("episode_id", "labels", "remark", "changed_at"))
    for name, note in notes.items():
        texts = (f"'{text}" if text.startswith(FORMULA) else text for text in (",".join(note.labels), note.remark))
        lines.writerow((name, *texts, note.changed_at))
    return written.getvalue()


@dataclass(slots=True)
class Notes:
    """Reads and writes the notes of a run. All methods block, and threads may share it; other processes of this machine may
    write notes of the same run, unless it is on an object store: there the last one to write counts.
    """

    storage: Storage
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def read(self) -> dict[str, Note]:
        """Returns the notes by the episode's id. Errors: UserError for a damaged file."""
        if not self.storage.exists(FILE):
            return {}
        try:
            return NotesFile.model_validate_json(self.storage.read(FILE)).notes
        except ValidationError as error:
            where = f"{self.storage.location}/{FILE}"
            raise UserError(f"{where}: this is no file of notes: {error.errors()[0]['msg']}; move it away") from None

    def write(self, episode_id: str, note: Note) -> Note:
        """Writes the note of an episode in the place of an older one, or removes it if the new one is empty. Returns it
        with the time of the change. Errors: UserError for a damaged file; RunFailed if it can't be written.
        """
        try:
            with self._lock, self.storage.alone(FILE):
                made = note.model_copy(update={"changed_at": time.time()})
                notes = {**self.read(), episode_id: made}
                if made.is_empty:
                    del notes[episode_id]
                self.storage.write(FILE, NotesFile(notes=notes).model_dump_json(indent=1).encode())
                return made
        except OSError as error:
            reason = error.strerror or error
            raise RunFailed(f"{self.storage.location}/{FILE}: the note can't be written: {reason}") from None
