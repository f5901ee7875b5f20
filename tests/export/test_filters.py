"""Checks which episodes an export takes, that all others are counted by reason, and who reads which form."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from small_runs import GAMES, lines_of, played_run, rows_of

from ray_gym.errors import UserError
from ray_gym.export.filters import NOT_LABELLED, NOT_TRAINABLE, Filters, labelled
from ray_gym.export.form import choose_form
from ray_gym.export.noted import NO_NOTE, Noted
from ray_gym.export.rollouts import Rollouts
from ray_gym.export.selection import Counts
from ray_gym.export.writing import export
from ray_gym.load import load
from ray_gym.record.bounds import read_bound
from ray_gym.run.directory.notes import Note, Notes


@pytest.fixture
def games(tmp_path: Path) -> Path:
    return asyncio.run(played_run(tmp_path, GAMES))


def row(number: int, **changes: Any) -> dict[str, Any]:
    samples = [{"trainable": True}]
    return {"episode_id": f"e{number}", "status": "completed", "reward": number / 10, "samples": samples, **changes}


def test_each_row_that_is_left_out_is_counted_once_with_its_first_reason() -> None:
    failed = row(3, status="failed", reward=None)
    groups = [
        [row(0), row(5), row(9), failed],
        [row(6, samples=[])],
        [row(7), row(8, reward=None), row(6, samples=[{"trainable": False}])],
    ]
    bounds = (read_bound(">=0.5", "--reward"), read_bound("<0.9", "--reward"))
    filters, counts = Filters(["completed"], bounds, True, {"e5", "e6"}), Counts()
    assert list(filters.kept(groups, counts)) == [[row(5)]], "a group without rows is gone"
    assert counts.episodes == 8 and counts.left_out == {
        "episodes whose reward is not >=0.5": 1,
        "episodes whose reward is not <0.9": 1,
        "episodes with the status failed": 1,
        "episodes that have no reward": 1,
        NOT_LABELLED: 1,
        NOT_TRAINABLE: 2,
    }


def test_filters_read_only_the_columns_they_need_beside_those_of_the_form() -> None:
    assert Filters().columns(["events"]) == ["events"]
    every = Filters(["failed"], (read_bound("=1", "--reward"),), True, frozenset())
    assert every.columns(["reward"]) == ["reward", "status", "episode_id", "samples.list.element.trainable"]
    assert every.columns(["samples", "status"]) == ["samples", "status", "reward", "episode_id"]


@pytest.mark.parametrize("tokens", [True, False])
def test_the_trainable_flag_is_read_without_the_tokens(tmp_path: Path, tokens: bool) -> None:
    run = load(asyncio.run(played_run(tmp_path, GAMES, tokens=tokens)))
    row = next(rows_of(Path(run.location)))
    notes = {row["episode_id"]: Note(labels=("odd",))}
    write = lambda: export(run, Noted(notes), tmp_path / "out.jsonl", filters=Filters(trainable=True))  # noqa: E731
    if tokens:
        assert write().left_out == {NO_NOTE: 23}
    else:
        with pytest.raises(UserError, match=f"{NOT_TRAINABLE}: 24"):
            write()


def test_labels_of_notes_select_episodes_and_notes_are_exported(games: Path, tmp_path: Path) -> None:
    run = load(games)
    ids = [row["episode_id"] for row in rows_of(games)]
    notes = Notes(run.storage)
    notes.write(ids[0], Note(labels=("odd", "long"), remark="why?\n"))
    notes.write(ids[5], Note(labels=("long",)))
    notes.write(ids[9], Note(remark="fine"))
    assert labelled(run, ["odd"]) == {ids[0]} and labelled(run, ["odd", "long"]) == {ids[0], ids[5]}
    assert labelled(run, []) is None
    with pytest.raises(UserError, match=r"no episode of .* has the label 'old'; labels there: long, odd"):
        labelled(run, ["old"])
    long = Filters(labelled=labelled(run, ["long"]))
    counts = export(run, Rollouts(), tmp_path / "rollouts.jsonl", filters=long)
    completions = [one["env_extras"] for line in lines_of(tmp_path / "rollouts.jsonl") for one in line["completions"]]
    assert {one["episode_id"] for one in completions} == {ids[0], ids[5]} and counts.left_out[NOT_LABELLED] == 22
    with Noted.open_form(Noted.Options(), run) as form:
        counts = export(run, form, tmp_path / "notes.jsonl")
    lines = {line["episode_id"]: line for line in lines_of(tmp_path / "notes.jsonl")}
    assert list(lines) == [ids[0], ids[5], ids[9]] and +counts.left_out == Counter({NO_NOTE: 21})
    assert lines[ids[0]]["labels"] == ["odd", "long"] and lines[ids[0]]["remark"] == "why?\n"
    assert lines[ids[9]]["remark"] == "fine" and lines[ids[9]]["changed_at"] > 0


def test_a_consumer_with_one_form_needs_no_name_of_it() -> None:
    assert choose_form(None, "notes") == ("notes", Noted)
    assert choose_form("rollouts", None) == choose_form("rollouts", "nemo-rl") == ("rollouts", Rollouts)
    with pytest.raises(UserError, match="--form: nemo-rl has several; say which: preference, rollouts, sft"):
        choose_form(None, "nemo-rl")
    with pytest.raises(
        UserError, match=r"--to: there is none for 'nemo'; did you mean 'nemo-rl'\? known: .*nemo-rl, notes"
    ):
        choose_form(None, "nemo")
    with pytest.raises(UserError, match="--to: say for whom, or give a --form; known: "):
        choose_form(None, None)
