"""Checks what becomes of a sandbox's files when the worker is killed: its programs run again, and what they print has to
be what the model was told.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import desk
import pytest
from desk import Writer, play_at_desk
from sandboxes import left_in

from ray_gym.journal.history import fence

WRITES = ["echo one > paper.txt", "cat paper.txt; echo two >> paper.txt", "cat paper.txt"]


@pytest.fixture(autouse=True)
def own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Puts the folders of sandboxes into a folder of the test's own."""
    places = tmp_path / "places"
    places.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(places))
    return places


def kill_in_the_middle(folder: Path, places: Path, commands: list[str], call: int) -> str:
    """Plays in a process that is killed in a tool call; returns the name of its journal, fenced."""
    command = [sys.executable, desk.__file__, str(folder), str(call), json.dumps(commands)]
    paths = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": paths, "TMPDIR": str(places)}, check=False)
    assert done.returncode == -signal.SIGKILL
    return fence(folder / "1-0.journal", "run").name


@pytest.mark.parametrize("call", [pytest.param(1, marks=pytest.mark.agents), 3])
async def test_programs_run_again_and_leave_the_same_files(tmp_path: Path, own_places: Path, call: int) -> None:
    fenced = kill_in_the_middle(tmp_path, own_places, WRITES, call)
    model = Writer(WRITES)
    played = await play_at_desk(tmp_path, model, adopted=(fenced,))
    assert played.failure is None and played.score is not None
    assert (played.episode.answer, played.score.reward) == ("one\ntwo\n", 8)
    assert played.causes == {} and model.calls == 4 - call, "what was answered then is not asked again"
    assert not left_in(own_places), "what the dead worker left is removed, as is what this one had"


async def test_a_program_that_prints_something_else_is_a_new_try(tmp_path: Path, own_places: Path) -> None:
    seen = tmp_path / "seen"
    commands = [f"echo x >> {seen}; wc -l < {seen}", "echo done > paper.txt"]
    fenced = kill_in_the_middle(tmp_path, own_places, commands, 2)
    model = Writer(commands)
    played = await play_at_desk(tmp_path, model, adopted=(fenced,))
    assert played.failure is None and played.score is not None and played.score.reward == 5
    [cause] = played.causes.values()
    assert cause.startswith("nondeterminism: ") and "asked something else than was recorded" in cause
    told = [event.content.strip() for event in played.episode.events if event.kind == "tool_result"]
    assert told == ["3", ""] and model.calls == 3, "the new try asks for everything"
