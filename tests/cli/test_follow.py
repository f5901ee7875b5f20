"""`ray-gym show --follow` prints what is committed while a run goes on, and ends with the run."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from made_runs import new_run
from rich.console import Console
from shown_runs import episode, write

from ray_gym.cli.follow import follow_run
from ray_gym.record.bounds import read_bound
from ray_gym.run.directory.location import storage_at


def test_new_episodes_are_printed_until_nobody_plays_the_run(tmp_path: Path) -> None:
    directory = new_run(tmp_path, "mine")
    write(directory.path, *(episode(number) for number in range(12)), number=1)
    out, looks = io.StringIO(), 0

    def wait(seconds: float) -> None:
        nonlocal looks
        looks += 1
        if looks == 1:
            assert out.getvalue().count("\n") == 10 and "e1 " not in out.getvalue()
            write(directory.path, episode(20), episode(21, None), number=2)
            half = write(directory.path, episode(22), number=3)
            half.write_bytes(half.read_bytes()[:-50])
        else:
            write(directory.path, episode(30), number=4)
            directory.close()

    follow_run(Console(file=out, width=200), directory.storage, wait=wait)
    *lines, last = out.getvalue().splitlines()
    assert [line.split()[0] for line in lines] == [*(f"e{n}" for n in range(2, 12)), "e20", "e21", "left", "e30"]
    assert "environment in tools.py:3: no such shelf 21" in lines[-3] and "part-00000003" in lines[-2]
    assert looks == 2 and last == "the run is not being played (any more)"


@pytest.mark.parametrize(("bound", "failed", "expected"), [("<0.5", False, ["e1"]), (None, True, ["e2"])])
def test_only_what_is_asked_for_is_printed(
    tmp_path: Path, bound: str | None, failed: bool, expected: list[str]
) -> None:
    write(tmp_path, episode(0), episode(1, 0.25), episode(2, None))
    out = io.StringIO()
    reward = None if bound is None else read_bound(bound, "--reward")
    follow_run(Console(file=out, width=200), storage_at(str(tmp_path)), failed=failed, reward=reward)
    assert [line.split()[0] for line in out.getvalue().splitlines()[:-1]] == expected
