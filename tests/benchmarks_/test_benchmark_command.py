"""What benchmarks have in common as commands."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from benchmarks.command import add_json, begin


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.example")
    parser.add_argument("--title")
    add_json(parser)
    return parser


def test_figures_have_a_heading_with_machine_and_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "numbers.json"
    given, heading = begin(parser(), ["--title", "two words", "--json", str(out)], engine="1.2")
    heading.write(given.json, lines=[1, 2])
    report = json.loads(out.read_text())
    assert given.title == "two words"
    assert report["command"] == f"python -m benchmarks.example --title 'two words' --json {out}"
    assert report["machine"]["engine"] == "1.2" and report["lines"] == [1, 2]
    printed = capsys.readouterr().out
    assert report["command"] in printed and report["machine"]["cpu"] in printed


def test_without_a_file_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["example"])
    given, heading = begin(parser(), None)
    heading.write(given.json, lines=[])
    assert heading.command == "python -m benchmarks.example" and not list(tmp_path.iterdir())
