"""Takes the addresses out of a lock of npm: what `viewer/.npmrc` leaves of them, which are pages that ask for funds.

python .ci/without_addresses.py viewer/package-lock.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main(path: Path) -> None:
    """Rewrites a lock of npm without the key `funding` of its packages."""
    lock = json.loads(path.read_text())
    for package in lock["packages"].values():
        package.pop("funding", None)
    path.write_text(json.dumps(lock, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
