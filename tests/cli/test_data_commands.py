"""Checks what `ray-gym data` prints and writes, and its exit codes."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from ray_gym.cli import main
from ray_gym.config.sections import TasksSection
from ray_gym.data.tasks import read_tasks
from ray_gym.plugins import find_environment


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str


class Shell:
    """Runs the command in a folder of its own."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self._capsys = capsys
        self._monkeypatch = monkeypatch

    def write(self, name: str, *rows: object) -> None:
        (self.folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))

    def files(self) -> dict[str, bytes]:
        return {
            str(path.relative_to(self.folder)): path.read_bytes() for path in self.folder.rglob("*") if path.is_file()
        }

    def data(self, *arguments: str) -> Ended:
        with self._monkeypatch.context() as patch:
            patch.chdir(self.folder)
            patch.setattr(sys, "argv", ["ray-gym", "data", *arguments])
            patch.setattr(sys, "path", list(sys.path))
            self._capsys.readouterr()
            with pytest.raises(SystemExit) as ended:
                main()
        shown = self._capsys.readouterr()
        assert "Traceback" not in shown.err + shown.out
        return Ended(int(ended.value.code or 0), shown.out, shown.err)

    def refuses(self, *arguments: str, told: str) -> Ended:
        """Exit code 2, and nothing written."""
        before = self.files()
        ended = self.data(*arguments)
        assert ended.code == 2 and told in ended.err and self.files() == before, ended
        return ended


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    return Shell(tmp_path, capsys, monkeypatch)


GOOD = {"question": "Which?", "options": ["a", "b"], "expected_answer": "A"}
COUNTER = ["--env", "session_counter"]


def test_a_good_file_is_described(shell: Shell) -> None:
    shell.write("tasks.jsonl", GOOD, {**GOOD, "question": "Who?"})
    ended = shell.data("validate", "tasks.jsonl", "--env", "mcqa")
    assert ended.code == 0 and ended.err == ""
    first, second, third = ended.out.splitlines()
    assert first == "tasks.jsonl: 2 rows, 2 good, none bad" and second == "duplicate contents: none"
    assert third.startswith("first prompt of the policy, in characters: min ")


def test_bad_rows_exit_with_2(shell: Shell) -> None:
    shell.write("tasks.jsonl", GOOD, *[{**GOOD, "expected_answer": "Z"}] * 30)
    ended = shell.refuses("validate", "tasks.jsonl", "--env", "mcqa", told="ray-gym: tasks.jsonl: bad rows: 30 of 31")
    assert "tasks.jsonl:21: (top level): expected_answer: Z is none of" in ended.out
    assert "tasks.jsonl:22: " not in ended.out and "... and 10 more bad rows" in ended.out
    assert "tasks.jsonl:31: " in shell.data("validate", "tasks.jsonl", "--env", "mcqa", "--all").out


def test_options_are_those_of_the_environment(shell: Shell) -> None:
    """In its written form, the calendar's opening has all requests; live, the policy is shown its rules alone."""
    event = {"event_id": 1, "event_name": "Lunch", "duration": 30}
    shell.write("tasks.jsonl", {"expected_state": [event]})
    written, live = (
        shell.data("validate", "tasks.jsonl", "--env", "calendar", "--option", f"mode={mode}")
        for mode in ("written", "live")
    )
    assert written.code == live.code == 0 and written.out != live.out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["validate", "tasks.jsonl", "--env", "mcqaa"], "--env: there is no environment 'mcqaa'; did you mean 'mcqa'?"),
        (["validate", "tasks.jsonl", "--env", "mcqa", "--option", "gradin=x"], "--option: gradin: unknown key; did you mean"),
        (["validate", "tasks.jsonl", "--env", "mcqa", "--option", "grading=x"], "--option: grading: Input should be"),
        (["validate", "tasks.jsonl", "--env", "mcqa", "--option", "grading"], "--option 'grading': write KEY=VALUE"),
        (["validate", "tasks.jsonl", "--env", "mcqa", "--tokenizer", "./nowhere"], "nowhere is no checkpoint"),
        (["validate", "absent.jsonl", "--env", "mcqa"], "there is no file absent.jsonl"),
        (["validate", "empty.jsonl", "--env", "mcqa"], "empty.jsonl: there are no rows in it"),
        (["validate", "tasks.txt", "--env", "mcqa"], "tasks.txt is neither .jsonl nor .parquet"),
        (["prepare", "tasks.jsonl", "--env", "mcqa", "--out", "tasks.txt"], "--out: tasks.txt is no directory"),
        (["prepare", "tasks.jsonl", "absent.jsonl", "--env", "mcqa", "--out", "out"], "there is no file absent.jsonl"),
        (["prepare", "empty.jsonl", "--env", "mcqa", "--out", "out"], "nothing was written: there are no rows"),
        (["prepare", "tasks.jsonl", "bad.jsonl", "--env", "mcqa", "--out", "out"], "nothing was written: bad rows: 1"),
        (["prepare", "tasks.jsonl", "--env", "mcqa", "--out", "out", "--validation", "2"], "less than or equal to 1"),
        (["generate", "--env", "mcqa", "--n", "2", "--out", "tasks.csv"], "--out: tasks.csv is neither .jsonl nor .parquet"),
        (["generate", *COUNTER, "--n", "2", "--out", "/proc/x.jsonl"], "--out: can't write /proc/x.jsonl: "),
        (["generate", "--env", "mcqa", "--n", "0"], "greater than or equal to 1"),
    ],
)  # fmt: skip
def test_wrong_input(shell: Shell, arguments: list[str], told: str) -> None:
    shell.write("tasks.jsonl", GOOD)
    shell.write("bad.jsonl", {**GOOD, "expected_answer": "Z"})
    shell.write("empty.jsonl")
    shell.write("tasks.txt", GOOD)
    ended = shell.data(*arguments)
    assert ended.code == 2 and told in " ".join(ended.err.split()), ended
    assert not (shell.folder / "out").exists()


def test_an_id_is_given_once_in_all_files(shell: Shell) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        shell.write(name, {**GOOD, "task_id": "one"})
    told = "nothing was written: bad rows: 1"
    ended = shell.refuses("prepare", "a.jsonl", "b.jsonl", "--env", "mcqa", "--out", "out", told=told)
    assert "b.jsonl:1: task_id: 'one' is given already at a.jsonl:1" in ended.out


def test_what_is_generated_is_what_a_run_generates(shell: Shell) -> None:
    environment = find_environment("session_counter")()
    played = read_tasks(TasksSection(generate=20), environment, 7, Path())
    command = ["generate", *COUNTER, "--n", "20", "--seed", "7"]
    shown = shell.data(*command)
    assert shown.code == 0 and shown.err == ""
    (shell.folder / "shown.jsonl").write_text(shown.out)
    for name in ("written.jsonl", "written.parquet"):
        assert shell.data(*command, "--out", name).code == 0
    for name in ("shown.jsonl", "written.jsonl", "written.parquet"):
        read = read_tasks(TasksSection(path=str(shell.folder / name)), environment, 0, Path())
        assert [row.task_id for row in read] == [row.task_id for row in played]
        assert [json.loads(row.task) | {"task_id": None} for row in read] == [json.loads(row.task) for row in played]


@pytest.mark.parametrize("written", ["~/tasks.jsonl", "file://{home}/tasks.jsonl", "{home}/tasks.jsonl"])
def test_out_is_read_as_other_places_are(shell: Shell, monkeypatch: pytest.MonkeyPatch, written: str) -> None:
    home = shell.folder / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    ended = shell.data("generate", *COUNTER, "--n", "2", f"--out={written.format(home=home)}")
    assert ended.out == f"{home}/tasks.jsonl: 2 tasks\n", ended
    assert [path.name for path in shell.folder.iterdir()] == ["home"] and (home / "tasks.jsonl").is_file()


def test_out_names_no_object_store_and_no_link_that_leads_nowhere(shell: Shell) -> None:
    (shell.folder / "gone").symlink_to("nowhere")
    (shell.folder / "loop").symlink_to("loop")
    for written, told in (
        ("s3://bucket/tasks.jsonl", "--out: s3://bucket/tasks.jsonl: only files of this machine are written"),
        ("file:/tasks.jsonl", "--out: file:/tasks.jsonl: did you mean file:///tasks.jsonl?"),
        ("~nobody-here/tasks.jsonl", "--out: ~nobody-here/tasks.jsonl: there is no user 'nobody-here'"),
        ("gone/tasks.jsonl", "--out: can't write gone/tasks.jsonl: gone is a link to nowhere, which is not there"),
        ("loop/tasks.jsonl", "--out: can't write loop/tasks.jsonl: File exists"),
    ):
        shell.refuses("generate", *COUNTER, "--n", "2", "--out", written, told=told)


def test_preparing_again_changes_nothing_unasked(shell: Shell) -> None:
    shell.data("generate", *COUNTER, "--n", "40", "--out", "tasks.jsonl")
    prepare = ["prepare", "tasks.jsonl", *COUNTER, "--out", "out", "--validation", "0.25"]
    first = shell.data(*prepare)
    assert first.code == 0 and "out: train " in first.out
    written = shell.files()
    assert {name for name in written if name.startswith("out/")} == {
        "out/train.parquet",
        "out/validation.parquet",
        "out/statistics.json",
    }
    assert shell.data(*prepare).code == 0 and shell.files() == written
    again = ["generate", *COUNTER, "--n", "39", "--seed", "0", "--out", "tasks.jsonl"]
    shell.refuses(*again, told="--out: there is a file tasks.jsonl already (--overwrite replaces it)")
    assert shell.data(*again, "--overwrite").out == "tasks.jsonl: 39 tasks\n"
    ended = shell.refuses(*prepare, told="nothing was written: out has other rows already (--overwrite replaces them)")
    assert "  removed: 1 (" in ended.err and "added" not in ended.err
    exchanged = shell.data(*prepare, "--overwrite")
    assert exchanged.code == 0 and "replaced in out:\n  removed: 1 (" in exchanged.out
    assert shell.data(*prepare[:-2], "--overwrite").code == 0
    assert not (shell.folder / "out" / "validation.parquet").exists(), "no row is for validation any more"


def test_files_of_all_kinds_are_prepared_together(shell: Shell) -> None:
    shell.data("generate", *COUNTER, "--n", "3", "--out", "a.jsonl")
    shell.data("generate", *COUNTER, "--n", "3", "--seed", "1", "--out", "b.parquet")
    shell.write("c.jsonl", {"responses_create_params": {"input": "add 1"}, "expected_count": 1})
    ended = shell.data("prepare", "a.jsonl", "b.parquet", "c.jsonl", *COUNTER, "--out", "deep/er/out")
    assert ended.code == 0 and "deep/er/out: train 7, validation 0" in ended.out
    statistics = json.loads((shell.folder / "deep/er/out/statistics.json").read_text())
    assert [source["rows"] for source in statistics["sources"]] == [3, 3, 1]
