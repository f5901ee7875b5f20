"""Checks that ray_gym reads and writes text files as UTF-8, whatever the locale is."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_TEXT_MODE = re.compile(r"[rwax]\+?t?")


def unnamed_encodings(source: str) -> list[str]:
    """Returns the calls that open, read or write a text file and don't say `utf-8`."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return [ast.unparse(call) for call in calls if _is_of_text(call) and "utf-8" not in ast.unparse(call)]


def _is_of_text(call: ast.Call) -> bool:
    function = ast.unparse(call.func)
    if function == "installed.read_text":
        return False  # importlib.metadata's, which always reads UTF-8
    if function.endswith((".read_text", ".write_text")):
        return True
    modes = [node.value for node in call.args if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return function.endswith(("open", "fdopen")) and any(_TEXT_MODE.fullmatch(mode) for mode in modes)


@pytest.mark.parametrize(
    "call", ["path.read_text()", "path.write_text(x)", 'path.open("w")', 'open(file, "r+")', 'os.fdopen(fd, "a")']
)
def test_a_call_without_an_encoding_is_found(call: str) -> None:
    assert unnamed_encodings(call)


@pytest.mark.parametrize("call", ['path.read_text("utf-8")', 'path.open("wb")', 'path.open("w", encoding="utf-8")'])
def test_others_are_not(call: str) -> None:
    assert not unnamed_encodings(call)


def test_every_file_is_read_and_written_as_utf_8() -> None:
    files = {path: path.read_text("utf-8") for path in (ROOT / "ray_gym").rglob("*.py")}
    for room in ("envs", "deployments"):
        files |= {path: path.read_text("utf-8") for path in (ROOT / room).rglob("*.py")}
    assert {path: found for path, source in files.items() if (found := unnamed_encodings(source))} == {}
