"""Runs all tests in named parts, the gate first. A part that has passed with the same code is not run again.

    python .ci/run_parts.py [PART ...]

Each part takes at most 40 minutes. What has passed is noted in `.reports/passed.json`; `--again` forgets it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

PARTS = {
    "gate": "the tests of every change",
    "runs": "runs, services and streams in forms beside those that the gate plays",
    "services": "a service as it runs, called by agents, readers and attackers",
    "chaos": "processes that are killed, and what outlives them",
    "models": "the small real model: its weights, streams, routing, and all ready configs",
    "nodes": "several Ray nodes on this machine, SLURM, KubeRay's held service",
    "clock": "promises about time, and the commands of benchmarks",
    "packaging": "the wheel, installed on every Python there is, and what `new-env` writes",
    "docs": "what the pages do, with a service or a trainer of its own",
    "environments": "environments in all their datasets and options",
    "trainers": "bridges to trainers, with the real packages in venvs of their own",
    "browser": "the viewer, in a real browser",
    "reading": "finished runs, in further ways to score, export, examine and report them",
    "agents": "agents' programs and sandboxes",
}
PASSED = Path(".reports/passed.json")


def main(arguments: list[str]) -> int:
    """Runs the parts, and returns 1 if one of them failed, 2 for a part that there is not."""
    names = [name for name in arguments if name != "--again"] or list(PARTS)
    if unknown := [name for name in names if name not in PARTS]:
        print(f"there is no part {unknown[0]!r}; the parts are: {', '.join(PARTS)}", file=sys.stderr)
        return 2
    passed = {} if "--again" in arguments or not PASSED.exists() else json.loads(PASSED.read_text())
    failed = [name for name in names if not run(name, passed)]
    print(f"failed: {', '.join(failed)}" if failed else f"all passed: {', '.join(names)}")
    return 1 if failed else 0


def run(name: str, passed: dict[str, str]) -> bool:
    """Runs a part unless it has passed at this state of the code, and says whether it passes."""
    state = state_of_code()
    if passed.get(name) == state:
        print(f"{name}: passed before", flush=True)
        return True
    print(f"{name}: {PARTS[name]}", flush=True)
    began = time.monotonic()
    report = [f"--junitxml=.reports/{name}.xml", "--durations=10"]
    gate = [".ci/run_tests.py", "--hypothesis-profile=default"]
    tests = gate if name == "gate" else ["-m", "pytest", f"--part={name}", *report]
    everything = {**os.environ, "RAY_GYM_TEST_ALL": "1"}  # a program that is missing fails the part
    is_good = subprocess.run([sys.executable, *tests], check=False, env=everything).returncode == 0
    print(f"{name}: {'passed' if is_good else 'FAILED'} after {time.monotonic() - began:.0f} s", flush=True)
    if is_good:
        passed[name] = state
        PASSED.parent.mkdir(exist_ok=True)
        PASSED.write_text(json.dumps(passed, indent=2) + "\n")
    return is_good


def state_of_code() -> str:
    """Returns the commit, with a digest of what differs from it."""
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    changes = subprocess.run(["git", "stash", "create"], capture_output=True, text=True, check=True).stdout.strip()
    return f"{commit} {changes and tree_of(changes)}".strip()


def tree_of(commit: str) -> str:
    """Returns the id of a commit's tree, which does not depend on when it was made."""
    parse = ["git", "rev-parse", f"{commit}^{{tree}}"]
    return subprocess.run(parse, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
