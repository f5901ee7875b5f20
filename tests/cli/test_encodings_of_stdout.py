"""Checks that commands print any text, whatever encoding stdout has: text for people with escapes, data as UTF-8."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from conftest import REPOSITORY

CODE = """
from ray_gym.cli.output import make_console, prepare_stdout, say, write
prepare_stdout()
say("said é 结束")
make_console().print("shown é 结束")
write("data é 结束")
"""


@pytest.mark.parametrize(
    ("encoding", "told"), [("ascii", "\\xe9 \\u7ed3\\u675f"), ("latin-1", "é \\u7ed3\\u675f"), ("utf-8", "é 结束")]
)
def test_what_an_encoding_lacks_is_an_escape_for_people_and_utf_8_for_programs(encoding: str, told: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "PYTHONIOENCODING": encoding}
    done = subprocess.run([sys.executable, "-c", CODE], env=environment, capture_output=True, timeout=60, check=True)
    said, shown, data = done.stdout.splitlines()
    assert (said, shown) == (f"said {told}".encode(encoding), f"shown {told}".encode(encoding))
    assert data.decode() == "data é 结束"
