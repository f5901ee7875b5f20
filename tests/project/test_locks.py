"""The locks name packages and their hashes, and no address: each machine takes its own index."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
LISTED = subprocess.run(["git", "ls-files", "*.lock", "*lock.json"], cwd=REPOSITORY, capture_output=True, text=True)
LOCKS = [name for name in LISTED.stdout.splitlines() if not name.startswith("tests/")]


def test_all_kinds_of_locks_are_looked_at() -> None:
    assert {"requirements.lock", "viewer/package-lock.json"} <= set(LOCKS)
    assert any(name.startswith("examples/trainers/") for name in LOCKS)


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_has_no_address(name: str) -> None:
    found = [line.strip() for line in (REPOSITORY / name).read_text().splitlines() if "://" in line or "@git" in line]
    assert found == []


def test_pages_that_ask_for_funds_are_taken_out(tmp_path: Path) -> None:
    lock = tmp_path / "package-lock.json"
    packages = {"": {"name": "x"}, "node_modules/y": {"version": "1.0.0", "funding": {"url": "https://a.example"}}}
    lock.write_text(json.dumps({"lockfileVersion": 3, "packages": packages}))
    subprocess.run([sys.executable, REPOSITORY / ".ci/without_addresses.py", lock], check=True)
    assert json.loads(lock.read_text())["packages"] == {"": {"name": "x"}, "node_modules/y": {"version": "1.0.0"}}
