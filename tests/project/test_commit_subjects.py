"""The hook refuses a commit whose subject nobody could read in a log."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / ".ci" / "commit_subjects.py"


def checked(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, SCRIPT, *arguments], cwd=cwd, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("x" * 73, "the subject has 73 characters"),
        ("", "the subject is empty"),
        ("# Please enter the message\n", "the subject is empty"),
        ("Mend the fence.", "ends with a full stop"),
        ("Mend the fence\nIt was torn", "the second line is not empty"),
    ],
)
def test_a_message_is_refused(tmp_path: Path, message: str, told: str) -> None:
    (tmp_path / "message").write_text(message)
    ended = checked("message", cwd=tmp_path)
    assert ended.returncode == 1 and told in ended.stderr and len(ended.stderr.splitlines()) == 1


@pytest.mark.parametrize("message", ["x" * 72, "Mend the fence\n\nIt was torn.\n# On branch main\n"])
def test_a_message_passes(tmp_path: Path, message: str) -> None:
    (tmp_path / "message").write_text(message)
    ended = checked("message", cwd=tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_commits_of_a_range_are_named(tmp_path: Path) -> None:
    def git(*arguments: str) -> str:
        who = ["-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
        return subprocess.run(
            ["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True, text=True
        ).stdout

    git("init", "--quiet")
    for subject in ("x" * 100, "Begin", "Mend the fence."):
        git("commit", "--quiet", "--allow-empty", "--message", subject)
    ended = checked("HEAD~2..HEAD", cwd=tmp_path)
    newest = git("rev-parse", "--short", "HEAD").strip()
    assert ended.returncode == 1
    assert ended.stderr == f"{newest}: the subject ends with a full stop: leave it out\n"
