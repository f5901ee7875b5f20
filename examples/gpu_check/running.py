"""Runs a check in a process of its own, so that one that crashes or hangs is a line in the report and others go on."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from examples.gpu_check.checks import Check

Verdict = Literal["passed", "FAILED", "skipped"]
LEAVE_S = 60
"""Seconds that a check has to end itself after it was interrupted at its deadline."""
TAIL = 25
"""Number of lines of a check's output that the report shows if it fails."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Holds what came of a check."""

    check: Check
    verdict: Verdict
    figures: str
    """The check's figures, the reason for which it was skipped, or what went wrong."""
    seconds: float | None = None
    output: str = ""
    """Last lines of the output of a check that failed."""


def run_check(check: Check, folder: Path) -> Outcome:
    """Runs a check, with its numbers and its log in the folder, and returns what came of it. It raises nothing of the check's."""
    if check.skipped:
        return Outcome(check, "skipped", check.skipped)
    numbers, log = folder / f"{check.name}.json", folder / f"{check.name}.log"
    numbers.unlink(missing_ok=True)
    began = time.monotonic()
    command = [sys.executable, "-m", *check.command, "--json", str(numbers)]
    ended = run_logged(command, log, check.deadline_s)
    seconds = time.monotonic() - began
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    figures, problems = told(check, numbers)
    if ended == "" and figures and not problems:
        return Outcome(check, "passed", figures, seconds)
    why = problems or last_error(lines) or "it has no figures"
    known = [part for part in (figures, ended, why) if part]
    return Outcome(check, "FAILED", "; ".join(known), seconds, "\n".join(lines[-TAIL:]))


def run_logged(command: Sequence[str], log: Path, deadline_s: float) -> str:
    """Runs a command whose output goes to a file. Returns how it ended; "" for exit code 0."""
    with log.open("w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        try:
            code = process.wait(deadline_s)
        except subprocess.TimeoutExpired:
            interrupt(process)
            return f"not done after {deadline_s:g} s"
        except BaseException:
            interrupt(process)
            raise
    if code < 0:
        return f"killed by {signal.Signals(-code).name}"
    return f"exit code {code}" if code else ""


def interrupt(process: subprocess.Popen[bytes]) -> None:
    """Sends SIGINT to a process, so that it takes its engines down, and kills it if it does not end."""
    process.send_signal(signal.SIGINT)
    try:
        process.wait(LEAVE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def told(check: Check, numbers: Path) -> tuple[str, str]:
    """Returns the figures of a check as a line, and its problems as another; "" for what it did not write."""
    try:
        found = json.loads(numbers.read_text())
        return check.tell(found), "; ".join(found.get("problems", []))
    except FileNotFoundError:
        return "", ""
    except (OSError, ValueError, KeyError, TypeError, ZeroDivisionError, AttributeError) as error:
        return "", f"its numbers can't be read: {type(error).__name__}: {error}"


def last_error(lines: Sequence[str]) -> str:
    """Returns the last line that begins like an error, or else the last line; "" without any."""
    errors = [line for line in lines if line.lower().startswith("error:")]
    return (errors or list(lines) or [""])[-1]
