"""Checks how runs of a folder are listed, and which of them may be removed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from made_runs import end, new_run

from ray_gym.errors import UserError
from ray_gym.run.directory.directory import STREAM, reopen
from ray_gym.run.directory.listing import DAY_S, ListedRun, age_of, remove_run, runs_in
from ray_gym.run.directory.ownership import RunIsTaken


def listed(folder: Path) -> dict[str, ListedRun]:
    return {run.name: run for run in runs_in(str(folder))}


def test_runs_have_their_states_and_figures(tmp_path: Path) -> None:
    live = new_run(tmp_path, "live", 1.0, 0.0, None)
    end(new_run(tmp_path, "done", 1.0, 0.0, 1.0, 0.0))
    end(new_run(tmp_path, "stopped"), interrupted=True, episodes=1, status={"failed": 1}, mean_reward=None)
    new_run(tmp_path, "died", 0.25).close()
    stream = new_run(tmp_path, "stream", 1.0)
    stream.storage.write(STREAM, b"{}")
    end(stream, interrupted=True, of=0)
    (tmp_path / "other").mkdir()
    (tmp_path / "notes.txt").write_text("")
    found = listed(tmp_path)
    live.close()
    told = {name: (run.state, run.episodes, run.planned, run.failed, run.mean_reward) for name, run in found.items()}
    assert told == {
        "died": ("unfinished", 1, 4, 0, 0.25),
        "done": ("finished", 4, 4, 0, 0.5),
        "live": ("live", 3, 4, 1, 0.5),
        "stopped": ("interrupted", 1, 4, 1, None),
        "stream": ("stream", 1, None, 0, 0.5),
    }
    size = sum(file.stat().st_size for file in (tmp_path / "done").rglob("*") if file.is_file())
    assert found["done"].size == size and found["done"].changed > 0
    assert listed(tmp_path)["live"].state == "unfinished", "its driver has let it go"


@pytest.mark.parametrize("damage", ["summary.json", "episodes"])
def test_a_damaged_run_is_listed_with_its_damage(tmp_path: Path, damage: str) -> None:
    directory = new_run(tmp_path, "bad", 1.0)
    if damage == "summary.json":
        end(directory)
        (directory.path / damage).write_text("{")
    else:
        directory.close()
        for file in directory.path.glob("episodes/*.parquet"):
            file.write_bytes(file.read_bytes()[:100])
    end(new_run(tmp_path, "good"))
    found = listed(tmp_path)
    assert found["bad"].state == "damaged" and found["bad"].problem and found["good"].state == "finished"
    assert not found["bad"].may_be_removed(0, found["bad"].changed + DAY_S)


def test_only_finished_runs_that_are_old_may_be_removed(tmp_path: Path) -> None:
    states = ("live", "finished", "interrupted", "unfinished", "stream", "damaged")
    runs = [ListedRun("r", "r", state, changed=1000.0, size=1) for state in states]
    assert [run.state for run in runs if run.may_be_removed(500, 1501)] == ["finished"]
    assert not any(run.may_be_removed(500, 1500) for run in runs)


def test_a_run_that_was_opened_meanwhile_is_not_removed(tmp_path: Path) -> None:
    directory = new_run(tmp_path, "mine")
    end(directory)
    again = reopen(directory.location)
    with pytest.raises(RunIsTaken):
        remove_run(directory.location)
    assert directory.path.exists()
    again.close()
    remove_run(directory.location)
    assert not directory.path.exists() and tmp_path.exists()


@pytest.mark.parametrize(("what", "told"), [("nothing", "no such folder"), ("file", "a file"), ("run", "a run itself")])
def test_what_is_no_folder_of_runs(tmp_path: Path, what: str, told: str) -> None:
    if what == "file":
        (tmp_path / what).write_text("")
    elif what == "run":
        end(new_run(tmp_path, what))
    with pytest.raises(UserError, match=told):
        list(runs_in(os.fspath(tmp_path / what)))


def test_ages_in_words() -> None:
    told = [age_of(0, passed) for passed in (0, 119, 120, 7199, 7200, 2 * DAY_S - 1, 2 * DAY_S)]
    assert told == ["0 s", "119 s", "2 min", "119 min", "2 h", "47 h", "2 days"]
