"""Checks what the commands of all benchmarks have in common."""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path

import pytest

from benchmarks.command import add_json, begin, not_negative, positive


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.example")
    parser.add_argument("--title")
    parser.add_argument("--episodes", type=positive)
    parser.add_argument("--delay-ms", type=not_negative)
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


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (["--episodes", "0"], "argument --episodes: '0' is not a positive whole number"),
        (["--episodes", "-1"], "'-1' is not a positive whole number"),
        (["--delay-ms", "-5"], "argument --delay-ms: '-5' is not a number from 0 on"),
        (["--delay-ms", "nan"], "'nan' is not a number from 0 on"),
        (["--delay-ms", "soon"], "'soon' is not a number from 0 on"),
        (["--json", "nowhere/numbers.json"], "argument --json: nowhere/numbers.json can't be written: No such file"),
    ],
)
def test_wrong_options_are_told_before_anything_is_measured(
    given: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        begin(parser(), given)
    said = capsys.readouterr()
    assert problem in said.err and not said.out


def test_what_could_not_be_measured_is_null(tmp_path: Path) -> None:
    out = tmp_path / "numbers.json"
    given, heading = begin(parser(), ["--json", str(out)])
    heading.write(given.json, lines=[{"growth": math.nan, "of": (1.5, math.nan)}])
    assert json.loads(out.read_text())["lines"] == [{"growth": None, "of": [1.5, None]}]


def test_without_a_file_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["example"])
    given, heading = begin(parser(), None)
    heading.write(given.json, lines=[])
    assert heading.command == "python -m benchmarks.example" and not list(tmp_path.iterdir())
