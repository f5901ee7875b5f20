"""Registers open sessions, each in a small file. After a restart of the service they are resumed from it. Blocks."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from ray_gym.episode.spec import EpisodeSpec


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """Holds everything that is needed to resume a session."""

    caller: str
    offer: str
    """Name of the offer that the session plays."""
    body: str
    """Hash of the request that opened the session."""
    spec: EpisodeSpec
    created_at: float = 0.0
    """Seconds of `time.time()`."""

    @property
    def id(self) -> str:
        """Returns the id of the session, which is also that of its episode."""
        return self.spec.episode_id


@dataclass(frozen=True, slots=True)
class Registry:
    """A registry is the folder with the files of the open sessions."""

    folder: Path

    def add(self, session: SessionRecord) -> None:
        """Writes a session's file whole or not at all. Errors: OSError."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self._path(session.spec.episode_id)
        scratch = path.with_suffix(".new")
        with scratch.open("w", encoding="utf-8") as file:
            json.dump(asdict(session), file)
            file.flush()
            os.fsync(file.fileno())
        scratch.rename(path)

    def remove(self, session_id: str) -> None:
        """Deletes a session's file, if there is one. Errors: OSError."""
        self._path(session_id).unlink(missing_ok=True)

    def all(self) -> Iterator[SessionRecord]:
        """Yields all sessions in the registry. Errors: OSError; ValueError, KeyError or TypeError for a broken file."""
        for path in sorted(self.folder.glob("*.json")):
            fields = json.loads(path.read_text("utf-8"))
            yield SessionRecord(**{**fields, "spec": EpisodeSpec(**fields["spec"])})

    def _path(self, session_id: str) -> Path:
        return self.folder / f"{session_id}.json"
