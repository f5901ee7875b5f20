"""A release has one version, a dated section in the changelog, and no deprecated name beyond its time."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
CHANGELOG = (ROOT / "CHANGELOG.md").read_text()
DATED = "# Changelog\n\n## [0.2.0] - 2027-01-31\n\n### Added\n\n- That.\n\n## [0.1.0] - 2026-11-25\n\nThis.\n"
notes = runpy.run_path(str(ROOT / ".ci" / "release_notes.py"))["notes"]


def test_notes_are_the_section_of_the_version() -> None:
    assert notes("v0.2.0", "0.2.0", DATED) == "### Added\n\n- That."
    assert notes("v0.1.0", "0.1.0", DATED) == "This."


@pytest.mark.parametrize(
    ("tag", "version", "changelog", "told"),
    [
        ("v0.3.0", "0.2.0", DATED, "pyproject.toml: version is 0.2.0"),
        ("v0.3.0", "0.3.0", DATED, "no section"),
        ("v0.2.0", "0.2.0", DATED.replace("2027-01-31", "Unreleased"), r"\[0.2.0\] is Unreleased: put the day"),
    ],
)
def test_a_tag_that_is_not_ready_is_refused(tag: str, version: str, changelog: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        notes(tag, version, changelog)


def test_the_changelog_has_this_version_first() -> None:
    assert re.findall(r"^## \[(.+?)\]", CHANGELOG, re.MULTILINE)[0] == VERSION


def test_no_deprecated_name_outlives_its_time() -> None:
    """Each entry says `Since X.Y, gone with X.Z`: two minor versions later, and not yet."""
    entries = re.findall(r"^### Deprecated\n\n(.*?)(?=^##)", CHANGELOG, re.DOTALL | re.MULTILINE)
    bullets = [
        bullet for entry in entries for bullet in re.findall(r"^- .*?(?=^- |\Z)", entry, re.DOTALL | re.MULTILINE)
    ]
    assert bullets
    major, minor = map(int, VERSION.split(".")[:2])
    for bullet in bullets:
        times = re.search(r"Since (\d+)\.(\d+), gone with (\d+)\.(\d+)", " ".join(bullet.split()))
        assert times, bullet
        since, gone = (int(times[1]), int(times[2])), (int(times[3]), int(times[4]))
        assert gone == (since[0], since[1] + 2), bullet
        removed = re.search(rf"^## \[{gone[0]}\.{gone[1]}\.\d+\].*?^### Removed", CHANGELOG, re.DOTALL | re.MULTILINE)
        assert (major, minor) < gone or removed, f"{bullet}: it is to be removed, and to stand under Removed"
