"""Runs checks of a package, and prints what each gives. In a sandbox it runs as a program, with Python's library alone:
the checks come as JSON on its standard input, and what they give goes as JSON to its output. What is expected of them is
not there.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def outcome_of(value: object) -> dict[str, Any]:
    """Returns what a check gave: `value`, as JSON has it, or `odd`, the type of one that JSON does not have."""
    try:
        return {"value": json.loads(json.dumps(value, sort_keys=True, allow_nan=False))}
    except (TypeError, ValueError, RecursionError):
        return {"odd": type(value).__name__}


def run_check(imports: str, lines: list[str], asks: str, names: dict[str, Any]) -> dict[str, Any]:
    """Runs a check, and returns what it gave, or `raises` with the type of its error. `names`: those that its code sees."""
    try:
        exec("\n".join([imports, *lines]), names)
        return outcome_of(eval(asks, names))
    except Exception as error:
        return {"raises": type(error).__name__}


def main() -> None:
    asked = json.load(sys.stdin)
    sys.path.insert(0, str(Path.cwd()))
    given = [run_check(asked["imports"], one["lines"], one["asks"], {}) for one in asked["checks"]]
    sys.stdout.write(json.dumps(given))


if __name__ == "__main__":
    main()
