"""Makes venvs of trainers from locks with hashes, which name no index of packages; a wrong name is told the right ones."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from trainer_venvs import REPOSITORY, VENVS

LOCKS = sorted((REPOSITORY / "examples" / "trainers").glob("*/requirements.lock"))


@pytest.mark.parametrize("arguments", [["tlr"], []])
def test_a_wrong_name_is_told_the_right_ones(arguments: list[str]) -> None:
    command = [sys.executable, REPOSITORY / ".ci" / "trainer_venv.py", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stdout == ""
    [line] = done.stderr.splitlines()
    assert re.search(r"make trainer NAME=\.\.\. with one of .*\btrl\b", line)


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.parent.name)
def test_a_lock_has_versions_and_hashes_and_no_address(lock: Path) -> None:
    requirements = re.sub(r"\\\n", "", lock.read_text()).splitlines()
    assert all(re.match(r"[\w.-]+(\[[\w,-]+\])?==\S+ .*--hash=sha256:", one) for one in requirements)
    assert "://" not in lock.read_text() and (lock.parent / "requirements.in").exists()
    assert not [one for one in requirements if one.startswith(("torch==", "ray-gym=="))], "those come from elsewhere"


def test_a_venv_is_stale_once_its_lock_has_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_GYM_CACHE", str(tmp_path))
    folder = VENVS["folder_of"]("trl")
    assert folder == tmp_path / "trainers" / "trl" and not VENVS["is_made"]("trl")
    folder.mkdir(parents=True)
    (folder / VENVS["STAMP"]).write_text(VENVS["digest_of"]("trl"))
    assert VENVS["is_made"]("trl")
    (folder / VENVS["STAMP"]).write_text("that of an earlier lock")
    assert not VENVS["is_made"]("trl")
