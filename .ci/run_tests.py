"""Runs all tests but the long ones, in two processes side by side.

Tests with Ray or an engine, which wait a lot, run in one process; all others run in the second, at a lower priority.
Arguments are handed on to both. The output of the second process comes last. Exits with the first process's code, or
with the second's if that is 0.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile

COSTLY = "ray or engine"
NICE = "5"


def main(arguments: list[str]) -> int:
    """Runs both processes with these arguments, and returns the exit code."""
    pytest = [sys.executable, "-m", "pytest", *arguments]
    with tempfile.TemporaryFile("w+") as kept:
        plain = subprocess.Popen(
            ["nice", "-n", NICE, *pytest, "-m", f"not ({COSTLY}) and not long"], stdout=kept, stderr=kept
        )
        try:
            costly = subprocess.run(
                [*pytest, "-m", f"({COSTLY}) and not long", "-o", "cache_dir=.pytest_cache/costly"], stdout=None
            )
            plain.wait()
        finally:
            plain.kill()
        kept.seek(0)
        print(kept.read(), flush=True)
    if costly.returncode:
        print("tests with Ray or an engine failed; see above", file=sys.stderr)
    return costly.returncode or plain.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
