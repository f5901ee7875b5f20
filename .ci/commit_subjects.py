"""Checks that commits say what they do in a subject that fits a line of a log.

python .ci/commit_subjects.py FILE         # a message, as git's hook commit-msg gives it
python .ci/commit_subjects.py FROM..TO     # the commits of a range
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

LONGEST = 72
"""Largest number of characters of a subject."""
SCISSORS = "# ------------------------ >8 ------------------------"


def faults(message: str) -> list[str]:
    """Lists what is wrong with a commit's message. The comments that git adds for the editor are no part of it."""
    lines = [line.rstrip() for line in message.partition(SCISSORS)[0].splitlines() if not line.startswith("#")]
    text = "\n".join(lines).strip().splitlines() or [""]
    found = []
    if not text[0]:
        found.append("the subject is empty: say what the commit does")
    if len(text[0]) > LONGEST:
        found.append(f"the subject has {len(text[0])} characters: cut it to {LONGEST}, and say why in the body")
    if text[0].endswith("."):
        found.append("the subject ends with a full stop: leave it out")
    if len(text) > 1 and text[1]:
        found.append("the second line is not empty: leave one between subject and body")
    return found


def messages(range_of_commits: str) -> dict[str, str]:
    """Reads the messages of a range, by short hash, without those of merges."""
    log = subprocess.run(
        ["git", "log", "--no-merges", "--format=%h%n%B%x00", range_of_commits],
        check=True,
        capture_output=True,
        text=True,
    )
    commits = (commit.strip().partition("\n") for commit in log.stdout.split("\0") if commit.strip())
    return {name: message for name, _, message in commits}


def main(given: str) -> int:
    told = {given: Path(given).read_text()} if Path(given).is_file() else messages(given)
    lines = [f"{name}: {fault}" for name, message in told.items() for fault in faults(message)]
    print("\n".join(lines), file=sys.stderr, end="\n" if lines else "")
    return 1 if lines else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
