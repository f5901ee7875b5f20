"""Grades a package by hidden checks, in a sandbox that the policy never saw.

Only the package's own `.py` files are carried there. The checks' code goes in, and what it gives comes out, and is
compared here: no expected value is ever in a sandbox, so that code which prints, patches or ends what it likes can pass
only by working out the right values.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from ray_gym import Episode
from ray_gym.envs.code_repair import driver
from ray_gym.envs.code_repair.task import Check, CodeRepairTask
from ray_gym.episode.sandbox import EpisodeSandbox
from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.graders import Grader, Verdict
from ray_gym.sandbox import Ended, ProgramEnd, SandboxRefused

PYTHON = ("python3", "-I", "-S", "-B")
"""Python that reads no variables, no site, and nothing from the current folder."""
DRIVER = "driver.py"
CODE = Path(driver.__file__).read_bytes()
"""Code of the driver."""
FIXED_HASH = {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
LISTING = """
import json, os, sys
package, most = sys.argv[1], int(sys.argv[2])
found = []
for number, (place, folders, names) in enumerate(os.walk(package)):
    folders[:] = sorted(name for name in folders if name != "__pycache__")
    for name in sorted(names):
        path = os.path.join(place, name)
        if name.endswith(".py") and os.path.isfile(path) and not os.path.islink(path):
            found.append(path)
    if max(number, len(found)) > most:
        found += [place] * (most + 1)
        break
print(json.dumps(found))
"""
LISTING_S = 120.0
"""Seconds for a list of the package's files, which takes a moment: a machine that takes longer is out of order."""
OUTPUT_BYTES = 2**20


class NoPackage(Exception):
    """Says why there is no package that could be graded."""


@dataclass(frozen=True, slots=True)
class Carried:
    """Limits what is carried from the policy's sandbox to the grader's."""

    files: int
    """Most files."""
    kb: int
    """Most kilobytes in all."""


async def package_in(sandbox: EpisodeSandbox, package: str, most: Carried) -> dict[str, bytes]:
    """Returns the regular `.py` files of a package's folder by path. Errors: NoPackage if there are none, or too many;
    EpisodeFailure (infra) if the machine takes too long; SandboxGone.
    """
    end = await sandbox.run([*PYTHON, "-c", LISTING, package, str(most.files)], deadline_s=LISTING_S)
    if end.ended is Ended.DEADLINE:
        raise EpisodeFailure(FailureKind.INFRA, "sandbox", f"the package was not read within {LISTING_S:g} s")
    paths = _json_of(end)
    if not isinstance(paths, list) or not paths:
        raise NoPackage(f"there is no package {package}")
    if len(paths) > most.files:
        raise NoPackage(f"{package} has more than {most.files} files or folders")
    files: dict[str, bytes] = {}
    for path in paths:
        if not isinstance(path, str) or not _is_inside(path, package):
            raise NoPackage(f"{package} has an odd file")
        try:
            files[path] = await sandbox.read(path, most.kb * 1024)
        except SandboxRefused as error:
            raise NoPackage(str(error)) from None
    if sum(map(len, files.values())) > most.kb * 1024:
        raise NoPackage(f"{package} has more than {most.kb} kB")
    return files


def _is_inside(path: str, package: str) -> bool:
    parts = PurePosixPath(path).parts
    return len(parts) > 1 and parts[0] == package and ".." not in parts and path.endswith(".py") and "\0" not in path


def _json_of(end: ProgramEnd) -> Any:
    """Returns what a program printed as JSON; None if it did not end well, or printed something else."""
    if end.ended is not None or end.exit_code or end.stdout_dropped:
        return None
    try:
        return json.loads(end.stdout)
    except (ValueError, RecursionError):
        return None


class HiddenChecks(Grader):
    """Gives 1 if the package that the policy left passes all hidden checks, else 0."""

    def __init__(self, most: Carried, deadline_s: float) -> None:
        """Takes the limits of what is carried, and the seconds that all checks may take."""
        self._most, self._deadline_s = most, deadline_s

    async def grade(self, episode: Episode) -> Verdict:
        task: CodeRepairTask = episode.task
        try:
            files = await package_in(episode.sandbox, task.package, self._most)
        except NoPackage as error:
            return Verdict(0.0, str(error))
        async with episode.fresh_sandbox() as place:
            try:
                for path, data in files.items():
                    await place.write(path, data)
            except SandboxRefused as error:
                return Verdict(0.0, str(error))
            end = await self._run(place, task)
        given = _json_of(end)
        if not isinstance(given, list) or len(given) != len(task.checks):
            return Verdict(0.0, f"the checks did not come to their end ({end.ended or f'exit code {end.exit_code}'})")
        passed = sum(map(_is_same, given, task.checks))
        return Verdict(float(passed == len(given)), f"{passed} of {len(given)} hidden checks passed")

    async def _run(self, place: EpisodeSandbox, task: CodeRepairTask) -> ProgramEnd:
        await place.write(DRIVER, CODE)
        return await place.run(
            [*PYTHON, DRIVER],
            stdin=asked_of(task.imports, task.checks),
            env=FIXED_HASH,
            deadline_s=self._deadline_s,
            output_bytes=OUTPUT_BYTES,
        )


def asked_of(imports: str, checks: Sequence[Check]) -> bytes:
    """Returns what the driver is told: the checks' code, and nothing of what is expected."""
    code = [{"lines": check.lines, "asks": check.asks} for check in checks]
    return json.dumps({"imports": imports, "checks": code}).encode()


def _is_same(given: object, check: Check) -> bool:
    """Says whether a check gave what is expected, type by type: true is not 1."""
    return _spelled(given) == _spelled(check.outcome)


def _spelled(outcome: object) -> str:
    return json.dumps(outcome, sort_keys=True)
