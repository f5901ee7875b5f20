"""Checks that no note is lost that two processes write at the same time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from shown_runs import episode, write

from ray_gym.run.directory.location import storage_at
from ray_gym.run.directory.notes import Notes

EACH = 40
WRITE = """
import sys
from ray_gym.run.directory.location import storage_at
from ray_gym.run.directory.notes import Note, Notes
notes = Notes(storage_at(sys.argv[1]))
for number in range(int(sys.argv[3])):
    notes.write(f"{sys.argv[2]}{number}", Note(labels=("seen",)))
"""


def test_all_notes_are_kept(tmp_path: Path) -> None:
    write(tmp_path, episode(0))
    writers = [subprocess.Popen([sys.executable, "-c", WRITE, str(tmp_path), name, str(EACH)]) for name in "ab"]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    assert Notes(storage_at(str(tmp_path))).read().keys() == {f"{name}{n}" for name in "ab" for n in range(EACH)}
    assert not list(tmp_path.glob("*.new"))
