"""Runs the gate: its groups of tests in three lanes, one group after the other in a lane.

    python .ci/run_tests.py [PYTEST ARGUMENT ...]

The groups share nothing: `engine` has the small real model, `cluster` a Ray cluster, `authoring` and `plain` neither.
Reports with the duration of every test, and what each group prints, are in `.reports/`. Exit code 1 if a group failed.
"""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

LANES = (("engine", "cluster"), ("authoring",), ("plain",))
"""Groups by lane, in their order. All lanes take about as long, and each waits at times for other things than a core."""
REPORTS = Path(".reports")
BUDGET_S = 60
"""Seconds that a test of the gate may take, fixtures apart."""
OPTIONS = ("-q", "--durations=10", f"--budget={BUDGET_S}", "--hypothesis-profile=ci")
"""Hypothesis draws the same examples each time, so that what fails is the change; `test-all` draws others each night."""


def main(arguments: list[str]) -> int:
    """Runs all groups to their end, and returns 1 if one of them failed."""
    REPORTS.mkdir(exist_ok=True)
    with ThreadPoolExecutor(len(LANES)) as lanes:
        failed = [group for lane in lanes.map(lambda lane: run_lane(lane, arguments), LANES) for group in lane]
    for group in (group for lane in LANES for group in lane):
        print(f"---- {group} ----", log_of(group).read_text(), sep="\n", flush=True)
    if failed:
        print(f"failed: {', '.join(failed)}; see above", file=sys.stderr)
    return 1 if failed else 0


def run_lane(groups: tuple[str, ...], arguments: list[str]) -> list[str]:
    """Runs groups one after the other, and returns those that failed."""
    return [group for group in groups if run_group(group, arguments) != 0]


def run_group(group: str, arguments: list[str]) -> int:
    """Runs the tests of a group, and returns pytest's exit code."""
    report = [f"--junitxml={REPORTS / group}.xml", "-o", f"cache_dir=.pytest_cache/{group}"]
    command = [sys.executable, "-m", "pytest", f"--group={group}", *OPTIONS, *report, *arguments]
    with log_of(group).open("wb") as log:
        return subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, check=False).returncode


def log_of(group: str) -> Path:
    """Returns the file with what the tests of a group print."""
    return REPORTS / f"{group}.log"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
