"""Checks what `ray-gym export` prints and writes, and its exit codes."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from conftest import kept_variables
from small_runs import GAMES, as_version_1, lines_of, played_run

from ray_gym.cli import main
from ray_gym.export.finished import whole_groups

Shell = Callable[..., tuple[int, str]]


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    """The command in a folder; gives its exit code and all that it said."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str]:
        with kept_variables() as patch:
            patch.setattr(sys, "argv", ["ray-gym", "export", *arguments])
            patch.setattr(sys, "path", list(sys.path))
            with pytest.raises(SystemExit) as ended:
                main()
        shown = capsys.readouterr()
        said = shown.out + shown.err
        assert "Traceback" not in said
        return int(ended.value.code or 0), said

    return run


@pytest.fixture
def games(tmp_path: Path) -> Path:
    return asyncio.run(played_run(tmp_path, GAMES))


def test_each_form_is_written(shell: Shell, games: Path) -> None:
    for form, options, lines in (("sft", ("--min-reward", "0"), 24), ("rollouts", (), 6)):
        code, said = shell("run", "--to", "nemo-rl", "--form", form, *options, "--out", f"new/{form}.jsonl")
        assert code == 0 and f"new/{form}.jsonl: {lines} lines, of 24 episodes" in said
        assert len(lines_of(Path(f"new/{form}.jsonl"))) == lines


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("nowhere", "--form", "rollouts"), "nowhere is no run directory"),
        (("run", "--form", "sft"), "--min-reward"),
        (("run", "--form", "sft", "--min-reward", "2"), "nothing was written: episodes with a reward below 2: 24"),
        (("run", "--form", "sft", "--min-reward", "nan"), "--min-reward: Input should be a finite number"),
        (("run", "--form", "rollouts", "--min-reward", "2"), "episodes whose reward is not >=2: 24"),
        (("run", "--form", "rollouts", "--min-reward", "nan"), "--min-reward: '>=nan' is no comparison with a number"),
        (("run", "--form", "rollouts", "--reward", "half"), "--reward: 'half' is no comparison with a number"),
        (("run", "--form", "rollouts", "--status", "fine"), "--status: there is no status 'fine'; known: completed,"),
        (("run", "--form", "rollouts", "--label", "odd"), "--label: no episode of"),
        (("run", "--form", "rollouts", "--redact", "("), "--redact: '(' is no regular expression"),
        (("run", "--form", "rollouts", "--redact", "a*"), "--redact: 'a*' matches the empty text"),
        (("run", "--form", "rollouts", "--redact", "event=a"), "--redact: 'event=a': there is no column 'event'"),
        (("run",), "--form: nemo-rl has several; say which: preference, rollouts, sft"),
        (("run", "--form", "sft", "--min-reward", "1", "--min-gap", "1"), "trl-preference, not of sft"),
        (("run", "--form", "verl"), "--form: there is no form 'verl'; did you mean 'verl-sft'? known: "),
        (
            ("run", "--form", "ray_gym.run.directory.reading:Run"),
            "--form: ray_gym.run.directory.reading:Run is not a subclass of",
        ),
        (("run", "min_gap=far", "--form", "preference"), "min_gap: Input should be a valid number"),
        (("run", "gap=1", "--form", "preference"), "gap: --form preference has no such option; known: min_gap"),
        (("run", "gap", "--form", "preference"), "gap: options of a form are given as KEY=VALUE"),
        (("run", "--form", "rollouts", "--out", "run"), "run is a folder"),
        (("run", "--form", "rollouts", "--out", "run/run.yaml"), "there is a file run/run.yaml already"),
    ],
)
def test_bad_input_exits_with_2_and_writes_nothing(
    shell: Shell, games: Path, arguments: tuple[str, ...], told: str
) -> None:
    before = everything(games.parent)
    code, said = shell(*arguments, "--to", "nemo-rl", *(() if "--out" in arguments else ("--out", "out.jsonl")))
    assert code == 2 and told in said
    assert everything(games.parent) == before


def test_a_misspelt_participant_is_told_with_those_that_there_are(shell: Shell, games: Path) -> None:
    code, said = shell("run", "--to", "trl", "--form", "sft", "--participant", "polcy", "--out", "out.parquet")
    assert code == 2 and "--participant: 'polcy' has no conversation in" in said and "there are: policy, user" in said


def test_whose_form_it_is(shell: Shell, games: Path) -> None:
    code, said = shell("run", "--to", "verl", "--form", "rollouts", "--out", "out.jsonl")
    assert code == 2 and "--to: --form rollouts is nemo-rl's, not verl's" in said
    for form in (("--form", "sft"), ()):
        code, said = shell("run", "--to", "trll", *form, "--out", "out.jsonl")
        assert code == 2 and "--to: there is none for 'trll'; did you mean 'trl'?" in " ".join(said.split())
    assert shell("run", "min_gap=0.5", "--form", "preference", "--out", "out.jsonl")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--to", "trl", "--form", "sft", "--out", "sft.jsonl"), "--out: Parquet would be written to sft.jsonl"),
        (("--to", "messages", "--out", "m.parquet"), "--out: JSON lines would be written to m.parquet"),
    ],
)
def test_a_file_whose_name_ends_as_of_another_format_is_not_written(
    shell: Shell, games: Path, arguments: tuple[str, ...], told: str
) -> None:
    code, said = shell("run", *arguments)
    assert code == 2 and told in said and not Path(arguments[-1]).exists()


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_file_is_replaced_with_overwrite(shell: Shell, games: Path) -> None:
    Path("out.jsonl").write_text("old")
    code, _ = shell("run", "--to", "nemo-rl", "--form", "rollouts", "--out", "out.jsonl", "--overwrite")
    assert code == 0 and len(lines_of(Path("out.jsonl"))) == 6


def test_an_unfinished_run_is_refused_unless_that_is_said(shell: Shell, tmp_path: Path) -> None:
    asyncio.run(played_run(tmp_path, GAMES, episodes=8))
    arguments = ("run", "--to", "nemo-rl", "--form", "rollouts", "--out", "out.jsonl")
    code, said = shell(*arguments)
    assert code == 2 and "8 of 24 episodes are there" in said and f"--resume {tmp_path / 'run'}`" in said
    assert shell(*arguments, "--partial")[0] == 0 and len(lines_of(Path("out.jsonl"))) == 2


def test_a_run_without_episodes_is_refused(shell: Shell, tmp_path: Path) -> None:
    asyncio.run(played_run(tmp_path, GAMES, episodes=0))
    for partial, told in (((), "it has no episodes yet"), (("--partial",), "there are no episodes in")):
        code, said = shell("run", "--to", "nemo-rl", "--form", "rollouts", "--out", "out.jsonl", *partial)
        assert code == 2 and told in said


def test_a_broken_file_is_told(shell: Shell, games: Path) -> None:
    part = sorted((games / "episodes").glob("*.parquet"))[1]
    part.write_bytes(part.read_bytes()[:1000])
    words = ("run", "--to", "nemo-rl", "--form", "rollouts", "--out", "out.jsonl")
    code, said = shell(*words)
    assert code == 2 and f"{part.name}: this file of rows is damaged" in said
    assert not Path("out.jsonl").exists()
    code, said = shell(*words, "--partial")
    assert code == 0 and f"{part.name}: this file of rows is damaged" in said and Path("out.jsonl").exists()


def test_a_run_whose_environment_is_gone_can_be_exported_and_of_before_without_tools(shell: Shell, games: Path) -> None:
    config = games / "run.yaml"
    config.write_text(config.read_text().replace("tic_tac_toe", "chess_on_mars"))
    arguments = ("run", "--to", "nemo-rl", "--form", "sft", "--min-reward", "1", "--out", "out.jsonl")
    assert shell(*arguments)[0] == 0 and all(line["tools"] for line in lines_of(Path("out.jsonl")))
    as_version_1(games)
    code, said = shell(*arguments, "--overwrite")
    assert code == 2 and "chess_on_mars" in said and "--no-tools" in said
    assert shell(*arguments, "--overwrite", "--no-tools")[0] == 0


def test_failed_episodes_are_left_out_and_counted(shell: Shell, games: Path) -> None:
    part = sorted((games / "episodes").glob("*.parquet"))[0]
    table = pq.read_table(part)
    rows = table.to_pylist()
    rows[0] |= {"status": "failed", "reward": None}
    rows[1] |= {"status": "dropped"}
    pq.write_table(table.from_pylist(rows, schema=table.schema), part)
    code, said = shell("run", "--to", "nemo-rl", "--form", "rollouts", "--out", "out.jsonl")
    assert code == 0 and "episodes that failed: 1" in said and "episodes that were dropped with their group: 1" in said
    assert sum(len(line["completions"]) for line in lines_of(Path("out.jsonl"))) == 22


def test_a_group_is_held_no_longer_than_until_it_is_whole() -> None:
    given = [("a", 2), ("b", 3), ("a", 2), ("c", None), ("b", 3), ("b", None), ("d", 2)]
    rows = iter([{"group_id": group, "group_size": size, "number": n} for n, (group, size) in enumerate(given)])
    found = whole_groups(rows)
    assert [row["number"] for row in next(found)] == [0, 2]
    assert next(rows)["number"] == 3, "nothing was read ahead"
    assert [[row["number"] for row in group] for group in found] == [[1, 4, 5], [6]]


def test_filters_and_redaction_of_the_command(shell: Shell, games: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (games / "run.yaml").open("a") as file:
        file.write("x: ${oc.env:KEY_THAT_IS_NOT_SET}\n")
    monkeypatch.delenv("KEY_THAT_IS_NOT_SET", raising=False)
    arguments = (
        "--to",
        "messages",
        "--status",
        "completed",
        "--trainable",
        "--participant",
        "user",
        "--out",
        "out.jsonl",
    )
    code, said = shell("run", *arguments, "--reward", ">=0", "--reward", "<1", "--redact", "Your turn")
    assert code == 0 and "left out: episodes whose reward is not <1: " in said
    assert "note: episodes in which text was redacted: " in said
    assert "note: KEY_THAT_IS_NOT_SET is not set here: its value, if an episode has it, was not looked for" in said
    lines = lines_of(Path("out.jsonl"))
    assert lines and all(line["participant"] == "user" for line in lines)
    assert "[redacted]" in Path("out.jsonl").read_text() and "Your turn" not in Path("out.jsonl").read_text()
