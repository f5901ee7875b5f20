"""What the toy trainer saves: its version, the stream's cursor, and which groups went into its weights."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass(slots=True)
class Checkpoint:
    version: int = 0
    cursor: dict[str, Any] | None = None
    consumed: list[int] = field(default_factory=list)
    stalest: int = 0
    """The most versions that a group was behind when it was trained on."""

    @classmethod
    def load(cls, folder: Path) -> Checkpoint:
        path = folder / "checkpoint.json"
        return cls(**json.loads(path.read_text())) if path.exists() else cls()

    def save(self, folder: Path) -> None:
        """Whole or not at all."""
        scratch = folder / "checkpoint.new"
        scratch.write_text(json.dumps(asdict(self)))
        scratch.rename(folder / "checkpoint.json")
