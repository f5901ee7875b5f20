"""Checks that nothing gets into a command's stdout but what the command prints: others' prints go to stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from ray_gym.cli.app import main
from ray_gym.cli.output import keep_stdout, make_console, paged, say, write

CODE = """
import sys
from ray_gym import Environment, Task

print("PRINTED at import")
sys.stdout.write("PRINTED by write\\n")

class Loud(Task):
    n: int = 0

class LoudShop(Environment):
    task_type = Loud
    participants = ("policy",)

    def __init__(self, options=None):
        super().__init__(options)
        print("PRINTED by init")

    def generate(self, rng, index):
        print("PRINTED by generate")
        return Loud(n=index)

    def check(self, task):
        print("PRINTED by check")

    def setup(self, task, episode):
        return {}

    def score(self, state, episode):
        return 1.0

def play(request, rng):
    return ""
"""
CONFIG = """
environment: {id: "loud_shop:LoudShop"}
models: {m: {engine: scripted, player: "loud_shop:play"}}
participants: {policy: {model: m}}
tasks: {generate: 2}
"""
Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    (tmp_path / "loud_shop.py").write_text(CODE)
    (tmp_path / "loud.yaml").write_text(CONFIG)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "loud_shop", raising=False)

    def called(*words: str) -> str:
        monkeypatch.setattr(sys, "argv", ["ray-gym", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        shown = capsys.readouterr()
        assert not ended.value.code, shown.err
        assert "PRINTED at import" in shown.err and "PRINTED by write" in shown.err and "PRINTED" not in shown.out
        return shown.out

    return called


def test_generated_tasks_are_json_lines(run: Run) -> None:
    written = run("data", "generate", "--env", "loud_shop:LoudShop", "--n", "2")
    assert [json.loads(line)["n"] for line in written.splitlines()] == [0, 1]


def test_a_printed_config_is_yaml(run: Run) -> None:
    assert yaml.safe_load(run("config", "loud.yaml"))["environment"] == {"id": "loud_shop:LoudShop"}


def test_reports_have_only_their_lines(run: Run, tmp_path: Path) -> None:
    (tmp_path / "tasks.jsonl").write_text('{"n": 3}\n')
    assert "1 good" in run("data", "validate", "tasks.jsonl", "--env", "loud_shop:LoudShop")


def test_what_a_command_prints_itself_is_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    @keep_stdout
    def command(word: str) -> None:
        print("others")
        say(word)
        write(b"bytes\n")
        make_console().print("table")
        with paged(make_console()):
            pass
        say("told", err=True)

    command("said")
    shown = capsys.readouterr()
    assert (shown.out.split(), shown.err.split()) == (["said", "bytes", "table"], ["others", "told"])
    say("later")
    print("still")
    assert capsys.readouterr().out == "later\nstill\n"
