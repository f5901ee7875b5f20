"""Writes what the policy is told of a task: the issue, the prompt, and the visible tests."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from ray_gym.envs.code_repair.packages.blueprint import Drawn, Probe
from ray_gym.envs.code_repair.task import CodeRepairTask

GREETINGS = (
    "I use `{package}` in a small program of mine. {about}",
    "We came across this with `{package}`. {about}",
    "Thanks for `{package}`! {about} But something is off.",
    "A colleague told me to report this about `{package}`. {about}",
)
BEFORE = ("Try this:", "Here is an example:", "To see it:", "This is what I did:")
AFTER = (
    "It {given}. From what the docstrings say, it should have {wanted}.",
    "What happens: it {given}. It ought to have {wanted}.",
    "I expected that it had {wanted}, but it {given}.",
)
WHERE = ("I think it has to do with `{function}`.", "I did not look into the code.", "", "")
PROMPT = """\
The Python package `{package}`, in the current folder, has one fault. Somebody reported:

{issue}

Find the fault, and mend it in the package. The package should do what its docstrings say, also where the report does not
look.{tests} When you are done, say in one sentence what was wrong.
"""
TESTS_PASS = " Some tests pass already: python3 {path}."
TESTS = '''\
"""Tests of {package}. Run them by `python3 {path}`."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

{imports}


def plain(value):
    """Returns a value as JSON has it: tuples are lists."""
    return json.loads(json.dumps(value))


{tests}
if __name__ == "__main__":
    failed = 0
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            try:
                test()
                print("passed", name)
            except Exception as error:
                failed += 1
                print("FAILED", name, type(error).__name__, error)
    sys.exit(1 if failed else 0)
'''


def path_of_tests(package: str) -> str:
    """Returns the path of the visible tests of a package."""
    return f"tests/test_{package}.py"


def prompt_of(task: CodeRepairTask) -> str:
    """Writes what the policy is asked."""
    tests = path_of_tests(task.package)
    are_there = any(file.path == tests for file in task.files)
    told = TESTS_PASS.format(path=tests) if are_there else ""
    return PROMPT.format(package=task.package, issue=task.issue, tests=told)


def issue_of(
    rng: random.Random, drawn: Drawn, probe: Probe, given: dict[str, Any], wanted: dict[str, Any], function: str
) -> str:
    """Writes an issue. `probe`: the example. `given`, `wanted`: its outcome with and without the fault. `function`: where
    the fault is.
    """
    code = "\n".join([drawn.imports, "", *probe.lines, f"print({probe.asks})"])
    greeting = rng.choice(GREETINGS).format(package=drawn.package, about=drawn.blueprint.about)
    told = rng.choice(AFTER).format(given=_gave(given), wanted=_given(wanted))
    where = rng.choice(WHERE).format(function=function)
    return "\n\n".join([greeting, rng.choice(BEFORE), f"```python\n{code}\n```", f"{told} {where}".strip()])


def _gave(outcome: dict[str, Any]) -> str:
    if "raises" in outcome:
        return f"raises `{outcome['raises']}`"
    return f"gives `{outcome['value']!r}`" if "value" in outcome else f"gives an object of type `{outcome['odd']}`"


def _given(outcome: dict[str, Any]) -> str:
    return f"raised `{outcome['raises']}`" if "raises" in outcome else f"given `{outcome['value']!r}`"


def write_tests(drawn: Drawn, probes: Sequence[tuple[Probe, dict[str, Any]]]) -> str:
    """Writes tests that run probes, and compare what they give with outcomes."""
    tests = [_test(number, probe, outcome) for number, (probe, outcome) in enumerate(probes, start=1)]
    path = path_of_tests(drawn.package)
    return TESTS.format(package=drawn.package, path=path, imports=drawn.imports, tests="\n\n".join([*tests, ""]))


def _test(number: int, probe: Probe, outcome: dict[str, Any]) -> str:
    if "value" in outcome:
        body = [*probe.lines, f"assert plain({probe.asks}) == {outcome['value']!r}"]
    else:
        raising = [f"    {line}" for line in (*probe.lines, probe.asks)]
        body = [
            "try:",
            *raising,
            f"except {outcome['raises']}:",
            "    return",
            'raise AssertionError("it raised nothing")',
        ]
    return "\n".join([f"def test_{number}():", *(f"    {line}" for line in body), ""])
