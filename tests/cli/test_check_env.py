"""Runs the command as a user does, and checks its output and its exit codes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from conftest import ray_gym, ray_gym_here

EXAMPLE = "envs/multi_step/example.jsonl"
FAULTY = str(Path(__file__).parents[1] / "check")


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": FAULTY}


def test_all_passed() -> None:
    done = ray_gym("check-env", "multi_step", "--tasks-file", EXAMPLE, environment=environment())
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 12 and all(line.startswith("ok ") for line in lines[:11])
    assert lines[11] == "20 episodes on 5 tasks"


def test_a_failed_check_says_where_what_and_how_to_mend_it() -> None:
    done = ray_gym_here("check-env", "faulty_orders:OutOfRange", "--tasks", "2", environment=environment())
    assert done.returncode == 1, done.stderr
    failed = [line for line in done.stdout.splitlines() if not line.startswith("ok ")]
    assert failed[0].startswith("x  score")
    assert failed[1].strip().startswith("OutOfRange.score: a reward of -0.5, out of the declared range 0 to 1")
    assert failed[2].strip().startswith("to mend it: keep to `reward_range`")


def test_a_secret_of_an_option_is_not_shown() -> None:
    given = ("--tasks", "1", "--option", "token=${oc.env:SECRET_TOKEN}")
    done = ray_gym_here(
        "check-env", "faulty_orders:LogsIn", *given, environment={**environment(), "SECRET_TOKEN": "tok-SECRET-99"}
    )
    assert done.returncode == 1 and "bad login '${oc.env:SECRET_TOKEN}'" in done.stdout
    assert "SECRET-99" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("no_such",), "there is no environment 'no_such'"),
        (("calendar", "--option", "mod=live"), "--option: mod: unknown key; did you mean 'mode'?"),
        (("calendar", "--option", "live"), "--option 'live': write KEY=VALUE"),
        (("calendar", "--tasks-file", "missing.jsonl"), "there is no file"),
        (("calendar", "--tasks-file", EXAMPLE), "example.jsonl:1: "),
        (("faulty_orders:NoGenerator",), "has no task generator: give it a file of tasks, --tasks-file FILE"),
        (("calendar", "--tasks", "0"), "--tasks"),
    ],
)
def test_wrong_input(arguments: tuple[str, ...], message: str) -> None:
    done = ray_gym_here("check-env", *arguments, environment=environment())
    assert done.returncode == 2 and message in done.stderr, done.stderr
    assert "Traceback" not in done.stderr
