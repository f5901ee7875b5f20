"""Makes the checks one after the other, and prints a report in Markdown to paste into an issue.

Exit codes: 0 all that was checked passed, 1 something failed, 2 wrong arguments.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from examples.gpu_check.checks import Check, checks_for
from examples.gpu_check.machine import Machine, look_at_machine
from examples.gpu_check.report import report
from examples.gpu_check.running import Outcome, run_check

FOLDER = Path(".reports/gpu-check")
NAMES = [check.name for check in checks_for(0)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command, and returns its exit code."""
    given = parser().parse_args(arguments)
    machine = look_at_machine()
    checks = [check for check in checks_for(len(machine.gpus)) if check.name in given.only]
    outcomes = check_all(machine, checks, given.out)
    print(report(machine, outcomes))
    print(f"The report is in {given.out}, with the logs. Read it before you paste it anywhere.", file=sys.stderr)
    return int(any(outcome.verdict == "FAILED" for outcome in outcomes))


def check_all(machine: Machine, checks: Sequence[Check], folder: Path) -> list[Outcome]:
    """Makes the checks and returns what came of each. The report in the folder is written anew after each of them."""
    folder.mkdir(parents=True, exist_ok=True)
    outcomes: list[Outcome] = []
    for check in checks:
        print(f"{check.name}: {check.skipped or f'its log is {folder / check.name}.log'}", file=sys.stderr, flush=True)
        outcomes.append(run_check(check, folder))
        print(f"{check.name}: {outcomes[-1].verdict}: {outcomes[-1].figures}", file=sys.stderr, flush=True)
        (folder / "report.md").write_text(report(machine, outcomes))
    return outcomes


def parser() -> argparse.ArgumentParser:
    """Makes the parser of the command line."""
    made = argparse.ArgumentParser(prog="python -m examples.gpu_check", description=__doc__)
    made.add_argument("--only", nargs="+", choices=NAMES, default=NAMES, metavar="CHECK", help=", ".join(NAMES))
    made.add_argument(
        "--out", type=Path, default=FOLDER, help=f"folder of report, logs and numbers (default: {FOLDER})"
    )
    return made


if __name__ == "__main__":
    sys.exit(main())
