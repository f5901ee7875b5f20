"""Checks that commands show what can be read of a damaged run, and name the rest."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from shown_runs import damage, episode, write
from typer.testing import CliRunner, Result

from ray_gym.cli.app import app
from ray_gym.errors import UserError
from ray_gym.record.schema import VERSION_KEY

DAMAGED = ("part-00000002-a", "part-00000003-a", "part-00000004-a")


def ray_gym(*words: str | Path) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def damaged_run(folder: Path) -> Path:
    """Writes ten good episodes (e0 to e9), a file that is cut, one of a later version, and one with a damaged row group
    before two good episodes (e50, e51).
    """
    run = folder / "run"
    write(run, *(episode(number, number / 10) for number in range(10)))
    cut = write(run, episode(20), episode(21), number=2)
    cut.write_bytes(cut.read_bytes()[:-20])
    later = write(run, episode(30), number=3)
    table = pq.read_table(later)
    pq.write_table(table.replace_schema_metadata({**table.schema.metadata, VERSION_KEY.encode(): b"99"}), later)
    damage(write(run, episode(40), episode(41), episode(50), episode(51), number=4, rows_a_group=2), 0)
    return run


@pytest.mark.parametrize(
    ("words", "there"),
    [
        (("show",), "e51"),
        (("show", "--all"), "e51"),
        (("show", "--reward", "<0.25"), "3 of 12 episodes"),
        (("show", "--follow"), "e51"),
        (("stats",), "12"),
        (("health",), "12 episodes"),
    ],
    ids=" ".join,
)
def test_the_rest_is_shown_and_the_damage_named(tmp_path: Path, words: tuple[str, ...], there: str) -> None:
    done = ray_gym(words[0], damaged_run(tmp_path), *words[1:])
    assert done.exit_code == 0, done.output
    assert there in done.output
    assert all(name in done.output for name in DAMAGED) and "it has version 99 of the record" in done.output


@pytest.mark.parametrize("name", ["e3", "e50"])
def test_an_episode_beside_the_damage_is_shown(tmp_path: Path, name: str) -> None:
    done = ray_gym("show", damaged_run(tmp_path), name)
    assert done.exit_code == 0 and f"On shelf {name[1:]}." in done.output


def test_an_episode_that_can_not_be_read_is_told_with_the_damage(tmp_path: Path) -> None:
    done = ray_gym("show", damaged_run(tmp_path), "e40")
    assert isinstance(done.exception, UserError)
    assert "no episode begins with 'e40'" in str(done.exception) and "part-00000004-a" in str(done.exception)


def test_a_name_that_begins_another_one_is_that_episode(tmp_path: Path) -> None:
    write(tmp_path / "run", episode(1), episode(10), episode(11))
    done = ray_gym("show", tmp_path / "run", "e1")
    assert done.exit_code == 0 and "On shelf 1." in done.output


def test_an_export_says_how_to_take_what_is_there_and_takes_it(tmp_path: Path) -> None:
    run, out = damaged_run(tmp_path), tmp_path / "out.jsonl"
    refused = ray_gym("export", run, "--to", "jsonl", "--out", out)
    assert isinstance(refused.exception, UserError) and not out.exists()
    assert "part-00000002-a" in str(refused.exception) and "--partial" in str(refused.exception)
    done = ray_gym("export", run, "--to", "jsonl", "--out", out, "--partial")
    assert done.exit_code == 0 and len(out.read_text().splitlines()) == 12
    assert all(name in done.output for name in DAMAGED)


def test_a_report_names_the_damage(tmp_path: Path) -> None:
    done = ray_gym("report", damaged_run(tmp_path), "--out", tmp_path / "report.html")
    assert done.exit_code == 0, done.output
    text = (tmp_path / "report.html").read_text()
    assert all(name in text and name in done.output for name in DAMAGED)


def test_a_run_of_nothing_but_damage_is_refused_with_the_reason(tmp_path: Path) -> None:
    file = write(tmp_path / "run", episode(0))
    file.write_bytes(file.read_bytes()[:-20])
    for words in (("show",), ("stats",), ("report", "--out", tmp_path / "report.html")):
        done = ray_gym(words[0], tmp_path / "run", *words[1:])
        assert isinstance(done.exception, UserError) and file.name in str(done.exception)
