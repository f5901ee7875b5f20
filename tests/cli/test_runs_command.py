"""Checks `ray-gym runs`: what it lists, and what it removes only if it is told to."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from conftest import REPOSITORY, ray_gym_here
from made_runs import end, new_run
from shown_runs import damage as spoil

from ray_gym.cli.runs import size_of
from ray_gym.errors import UserError
from ray_gym.record.bounds import read_bound
from ray_gym.record.schema import VERSION_KEY

PRICED = REPOSITORY / "tests/record/versions/5/finished"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    end(new_run(tmp_path, "old", 1.0))
    end(new_run(tmp_path, "new", 1.0))
    end(new_run(tmp_path, "cut", 1.0), interrupted=True, episodes=1)
    for name, days in (("old", 40), ("cut", 50)):
        long_ago = time.time() - days * 24 * 3600
        for file in (tmp_path / name).rglob("*"):
            os.utime(file, (long_ago, long_ago))
    return tmp_path


def test_runs_are_listed_the_newest_last(folder: Path) -> None:
    done = ray_gym_here("runs", "--dir", str(folder))
    lines = [line.split() for line in done.stdout.splitlines()]
    assert done.returncode == 0 and [line[0] for line in lines[1:]] == ["cut", "old", "new"]
    assert lines[1][:5] == ["cut", "interrupted", "1", "of", "4"] and "40 days ago" in done.stdout


def test_the_cost_is_listed_where_a_run_has_one(folder: Path) -> None:
    assert "cost" not in ray_gym_here("runs", "--dir", str(folder)).stdout
    shutil.copytree(PRICED, folder / "priced")
    head, *lines = ray_gym_here("runs", "--dir", str(folder)).stdout.splitlines()
    assert head.split()[5:7] == ["reward", "cost"] and ["0.008677" in line for line in lines].count(True) == 1


def test_runs_for_other_programs(folder: Path) -> None:
    done = ray_gym_here("runs", "--dir", str(folder), "--json")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["name"], row["state"]) for row in rows] == [
        ("cut", "interrupted"),
        ("old", "finished"),
        ("new", "finished"),
    ]


def test_prune_removes_old_finished_runs_only_when_told_to(folder: Path) -> None:
    for place in (["runs", "--dir", str(folder), "prune"], ["runs", "prune", "--dir", str(folder)]):
        done = ray_gym_here(*place)
        assert done.returncode == 0 and f"would remove {folder / 'old'}" in done.stdout
        assert "1 runs with" in done.stdout and "2 are kept; --yes removes them" in done.stdout
    assert (folder / "old").exists()
    done = ray_gym_here("runs", "prune", "--dir", str(folder), "--yes", "--older-than", "30.5")
    assert done.returncode == 0 and f"removed {folder / 'old'}" in done.stdout
    assert sorted(path.name for path in folder.iterdir()) == ["cut", "new"]


@pytest.mark.parametrize("damage", ["cut", "empty", "later version", "row group", "a row less", "config"])
def test_prune_keeps_a_run_that_is_not_whole(tmp_path: Path, damage: str) -> None:
    end(new_run(tmp_path, "old", 1.0, 0.0))
    [part] = (tmp_path / "old" / "episodes").iterdir()
    if damage in ("cut", "empty"):
        part.write_bytes(part.read_bytes()[: 100 if damage == "cut" else 0])
    elif damage == "later version":
        table = pq.read_table(part)
        pq.write_table(table.replace_schema_metadata({**table.schema.metadata, VERSION_KEY.encode(): b"99"}), part)
    elif damage == "row group":
        spoil(part, 0)
    elif damage == "a row less":
        pq.write_table(pq.read_table(part).slice(1), part)
    else:
        (tmp_path / "old" / "run.yaml").write_text(": : [")
    done = ray_gym_here("runs", "prune", "--dir", str(tmp_path), "--yes", "--older-than", "0")
    assert done.returncode == 0 and f"kept {tmp_path / 'old'}" in done.stdout and part.exists(), done.stdout


def test_a_folder_whose_name_is_not_utf8_is_named_and_the_others_are_listed(tmp_path: Path) -> None:
    end(new_run(tmp_path, "good", 1.0))
    odd = os.fsencode(tmp_path) + b"/bad\xff"
    shutil.copytree(os.fsencode(tmp_path / "good"), odd)
    done = ray_gym_here("runs", "--dir", str(tmp_path))
    assert done.returncode == 0 and "good" in done.stdout and "its name is not UTF-8: rename it" in done.stdout
    done = ray_gym_here("runs", "--dir", str(tmp_path), "--json")
    assert {json.loads(line)["name"] for line in done.stdout.splitlines()} >= {"good"}, done.stderr
    done = ray_gym_here("stats", os.fsdecode(odd))
    assert done.returncode == 2 and "this path is not UTF-8" in done.stderr and "Traceback" not in done.stderr


def test_prune_goes_on_after_a_run_that_it_cannot_remove(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "kept"
    (folder / "old").rename(elsewhere)
    (folder / "a-link").symlink_to(elsewhere)
    shutil.copytree(elsewhere, folder / "old")
    done = ray_gym_here("runs", "prune", "--dir", str(folder), "--yes", "--older-than", "30.5")
    assert done.returncode == 1 and f"kept {folder / 'a-link'}: it can't be removed" in done.stdout
    assert "1 of them can't be removed" in done.stderr and "Traceback" not in done.stderr
    assert not (folder / "old").exists() and any((elsewhere / "episodes").iterdir())


def test_one_odd_summary_is_named_and_the_other_runs_are_listed(folder: Path) -> None:
    (folder / "new" / "summary.json").write_text('{"interrupted": false, "episodes": 1, "of": 1, "status": []}')
    done = ray_gym_here("runs", "--dir", str(folder))
    assert done.returncode == 0 and "damaged" in done.stdout and "old" in done.stdout


def test_a_folder_that_is_not_there_or_empty(tmp_path: Path) -> None:
    done = ray_gym_here("runs", "--dir", str(tmp_path))
    assert done.returncode == 0 and done.stdout == f"no runs in {tmp_path}\n"
    done = ray_gym_here("runs", "--dir", str(tmp_path / "none"))
    assert done.returncode == 2 and "there is no such folder" in done.stderr and "Traceback" not in done.stderr


def test_a_name_that_commands_the_terminal_is_shown_with_escapes(tmp_path: Path) -> None:
    end(new_run(tmp_path, "plain"))
    (tmp_path / "plain").rename(tmp_path / "a\x1b]0;x\x07[red]")
    done = ray_gym_here("runs", "--dir", str(tmp_path))
    assert done.returncode == 0 and "\x1b" not in done.stdout and "[red]" in done.stdout
    (tmp_path / "b").mkdir()
    (tmp_path / "a\x1b]0;x\x07[red]").rename(tmp_path / "b" / "c\x9b2J\u202e")
    done = ray_gym_here("runs", "--dir", str(tmp_path / "b"), "--json")
    assert done.stdout.isascii() and json.loads(done.stdout)["name"] == "c\x9b2J\u202e"


def test_show_without_a_name_takes_the_newest_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "runs").mkdir()
    monkeypatch.setattr("conftest.REPOSITORY", folder)
    done = ray_gym_here("show")
    assert done.returncode == 2 and "no runs in runs; give RUN" in done.stderr
    end(new_run(folder / "runs", "first", 1.0))
    end(new_run(folder / "runs", "second", 0.25, 1.0, None))
    done = ray_gym_here("show", "--reward", "<0.5")
    assert done.returncode == 0 and f"the newest run: {folder / 'runs' / 'second'}" in done.stdout
    assert "1 of 3 episodes:" in done.stdout and "second-0" in done.stdout and "second-1" not in done.stdout


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("<0.5", [0.0, 0.25]),
        ("<= 0.5", [0.0, 0.25, 0.5]),
        (">0.5", [1.0]),
        (">=0.5", [0.5, 1.0]),
        ("=0.5", [0.5]),
        ("== 0.5", [0.5]),
        ("!=0.5", [0.0, 0.25, 1.0]),
    ],
)
def test_bounds_of_rewards(text: str, allowed: list[float]) -> None:
    bound = read_bound(text, "--reward")
    assert [value for value in (0.0, 0.25, 0.5, 1.0, None) if bound.allows(value)] == allowed


@pytest.mark.parametrize("text", ["", "0.5", "<", "<x", "<nan", "<0.5 1", "=>1", "reward<0.5"])
def test_what_is_no_bound(text: str) -> None:
    with pytest.raises(UserError, match=r"--reward: .* is no comparison with a number; write it as '<0.5'"):
        read_bound(text, "--reward")


def test_sizes_in_words() -> None:
    assert [size_of(size) for size in (0, 1023, 1024, 3 * 2**19, 5 * 2**30)] == [
        "0 B",
        "1023 B",
        "1.0 KiB",
        "1.5 MiB",
        "5.0 GiB",
    ]
