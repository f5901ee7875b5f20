"""Prints the section of CHANGELOG.md for a release, or refuses a tag that is not ready: python .ci/release_notes.py v0.2.0"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def notes(tag: str, version: str, changelog: str) -> str:
    """Cuts the section of a tag out of the changelog. Errors: ValueError that says what to mend."""
    if tag != f"v{version}":
        raise ValueError(f"pyproject.toml: version is {version}: tag v{version}, or change it")
    found = re.search(
        rf"^## \[{re.escape(version)}\] - (\S+)\n(.*?)(?=^## \[|^\[|\Z)", changelog, re.MULTILINE | re.DOTALL
    )
    if found is None:
        raise ValueError(f"CHANGELOG.md: there is no section '## [{version}] - DATE': write one")
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", found[1]):
        raise ValueError(f"CHANGELOG.md: [{version}] is {found[1]}: put the day of the release there, as YYYY-MM-DD")
    return found[2].strip()


def main(tag: str) -> int:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    try:
        print(notes(tag, version, (ROOT / "CHANGELOG.md").read_text()))
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
