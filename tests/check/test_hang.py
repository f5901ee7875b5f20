"""Checks environments that hang: the command ends with 1, and says where."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HANG = """
import asyncio, re, sys
from ray_gym.check.hang import HangWatch
from faulty_orders import Sound, {name}

async def main():
    with HangWatch(Sound(), lambda finding: print(finding.where, finding.what), after_s=0.5):
        await asyncio.sleep(1.5)
        print("alive", flush=True)
        {name}()

import ray_gym.check.hang as hang
hang.GRACE_S = 0.1
asyncio.run(main())
"""


@pytest.mark.environments
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("sleep_for_ever", "sleep_for_ever (faulty_orders.py:"),
        ("search_for_ever", "in search_for_ever"),
    ],
)
def test_what_hangs_is_ended_and_named(name: str, said: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", HANG.format(name=name)],
        cwd=Path(__file__).parent,
        env={"PYTHONPATH": ":".join(path or "." for path in sys.path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (ended.returncode, ended.stdout.splitlines()[0]) == (1, "alive"), ended.stderr
    assert said in ended.stdout + ended.stderr
