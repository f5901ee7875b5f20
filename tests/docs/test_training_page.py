"""docs/training.md shows the loop of examples/toy_trainer.py as it is, and the command of the page runs, twice."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import REPOSITORY

PAGE = (REPOSITORY / "docs" / "training.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def test_the_loop_is_that_of_the_example() -> None:
    assert BLOCKS[0] in (REPOSITORY / "examples" / "toy_trainer.py").read_text()


@pytest.mark.ray
@pytest.mark.docs
def test_the_example_goes_on_where_it_was(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(REPOSITORY / "examples")
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("RAY_")}
    environment = {**inherited, "RAY_ADDRESS": "local", "PYTHONPATH": str(REPOSITORY)}
    taken: list[int] = []
    for steps in (["2"], ["1"]):
        done = subprocess.run(
            [sys.executable, "-m", "examples.toy_trainer", *steps],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        taken += [
            int(number) for groups in re.findall(r"groups \[(.*?)\]", done.stdout) for number in groups.split(",")
        ]
    assert len(taken) == 24 == len(set(taken)), "three batches, and no group twice"
