"""Checks a run's directory: a glob sees complete rows only, and one driver writes it."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ray_gym.config.file import read_config
from ray_gym.config.sections import OutputSection, RunConfig
from ray_gym.errors import RunFailed, UserError, why_unwritten
from ray_gym.record.schema import SCHEMA
from ray_gym.run.directory.commit_order import name_when_staged, number_of
from ray_gym.run.directory.directory import (
    RunDirectory,
    begin,
    create,
    find_run,
    output_root,
    plan_directory,
    reopen,
)
from ray_gym.run.directory.owner import FileOwner
from ray_gym.run.directory.posix_storage import PosixStorage
from ray_gym.run.fingerprint import Fingerprint

CONFIG = Path("configs/mine.yaml")
BEGAN = Fingerprint("envs.a:A", 1, "x")


def config(folder: Path, **run: Any) -> RunConfig:
    return RunConfig.model_validate(
        {
            "run": run,
            "environment": {"id": "tic_tac_toe", "legal_moves_only": True},
            "tasks": {"generate": 1},
            "models": {"small": {"engine": "scripted", "player": "a:b"}},
            "participants": {"policy": {"model": "small", "sampling": {"stop": ["x"]}}},
            "output": {"dir": str(folder)},
        }
    )


def new(config: RunConfig) -> RunDirectory:
    directory = plan_directory(config, CONFIG)
    create(directory)
    return directory


@pytest.fixture
def directory(tmp_path: Path) -> RunDirectory:
    made = new(config(tmp_path, name="mine"))
    made.write_config(config(tmp_path, name="mine"))
    return made


def globbed(directory: RunDirectory) -> list[str]:
    return sorted(file.name for file in directory.path.glob("episodes/*.parquet"))


def staged(directory: RunDirectory) -> list[str]:
    return sorted(file.name for file in directory.path.glob(".staging/*/*"))


def rows(*ids: str) -> pa.Table:
    played = {"attempt": 0, "status": "completed", "stop_reason": "finished", "stop_text": "", "turns": 1}
    return pa.Table.from_pylist([{"episode_id": episode_id, **played} for episode_id in ids], schema=SCHEMA)


def committed_ids(directory: RunDirectory) -> set[str]:
    return {receipt.episode.episode_id for receipt in directory.committed()}


def test_staged_files_are_seen_when_they_are_committed_and_not_before(directory: RunDirectory) -> None:
    directory.storage.stage("part-0.parquet", rows("a", "b"))
    directory.storage.stage("part-1.parquet", rows("c"))
    assert globbed(directory) == [] and committed_ids(directory) == set()
    directory.commit("part-0.parquet")
    directory.refuse("part-1.parquet")
    directory.refuse("part-1.parquet")
    assert globbed(directory) == ["part-00000001-0.parquet"] and committed_ids(directory) == {"a", "b"}
    (committed,) = directory.path.glob("episodes/*.parquet")
    assert pq.read_table(committed).column("episode_id").to_pylist() == ["a", "b"]
    assert staged(directory) == []


def test_a_name_is_taken_once_and_a_run_without_one_gets_its_own(directory: RunDirectory, tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        new(config(tmp_path, name="mine"))
    assert str(caught.value).startswith(f"run.name: there is a run 'mine' in {tmp_path} already")
    assert f"--resume {tmp_path / 'mine'}" in str(caught.value) and "another name" in str(caught.value)
    unnamed = new(config(tmp_path))
    assert unnamed.name.startswith("mine-") and unnamed.path.parent == tmp_path


def test_a_directory_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"output\.dir: can't write in .*file"):
        new(config(tmp_path / "file"))


@pytest.mark.parametrize("folder", ["gone", "gone/below", "below/gone/it"])
def test_a_link_that_leads_nowhere_is_no_run(tmp_path: Path, folder: str) -> None:
    (tmp_path / "below").mkdir()
    for link in (tmp_path / "gone", tmp_path / "below" / "gone"):
        link.symlink_to("nowhere")
    with pytest.raises(UserError, match=r"output\.dir: can't write in .*gone is a link to nowhere, which is not there"):
        new(config(tmp_path / folder, name="mine"))
    output = OutputSection(dir=str(tmp_path / "runs"), journal_dir=str(tmp_path / folder))
    with pytest.raises(UserError, match=r"output\.journal_dir: can't make .*gone is a link to nowhere"):
        new(config(tmp_path, name="mine").model_copy(update={"output": output}))
    assert (tmp_path / "gone").is_symlink() and not (tmp_path / "nowhere").exists()


def test_a_path_that_cannot_be_looked_into_is_told_as_the_system_does(tmp_path: Path) -> None:
    for number in (errno.ENAMETOOLONG, errno.EACCES, errno.ENOENT):
        assert why_unwritten(tmp_path / ("a" * 300) / "it", OSError(number, "no")) == "no"


def test_the_config_that_is_kept_reads_back_the_same(directory: RunDirectory, tmp_path: Path) -> None:
    assert read_config(directory.config_file) == config(tmp_path, name="mine")


TRY = "import sys; from pathlib import Path; from ray_gym.run.directory.directory import reopen; reopen(Path(sys.argv[1]))"


def another_driver(path: Path) -> subprocess.CompletedProcess[str]:
    repository = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": repository}
    command = [sys.executable, "-c", TRY, str(path)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.runs
def test_a_second_driver_is_refused_as_long_as_the_first_lives(directory: RunDirectory) -> None:
    directory.storage.stage("part-0.parquet", rows("a"))
    refused = another_driver(directory.path)
    assert refused.returncode == 1 and "RunIsTaken" in refused.stderr
    assert "another driver is writing this run" in refused.stderr
    assert staged(directory) == ["part-0.parquet"], "and it has touched nothing"
    directory.close()
    assert another_driver(directory.path).returncode == 0


def test_going_on_keeps_what_was_committed_and_drops_what_was_staged(directory: RunDirectory) -> None:
    for name, ids in (("part-0.parquet", "a"), ("part-1.parquet", "b")):
        directory.storage.stage(name, rows(ids))
    directory.commit("part-0.parquet")
    assert isinstance(directory.owner, FileOwner)
    directory.owner.lock.close()  # as when the driver was killed
    again = reopen(directory.path)
    assert committed_ids(again) == {"a"} and staged(again) == [] and again.epoch == 2


def test_only_a_run_can_be_resumed(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"--resume: .* is no run directory"):
        reopen(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_closed_run_has_a_summary_and_no_scratch(directory: RunDirectory) -> None:
    directory.write_summary({"episodes": 3})
    directory.close()
    assert sorted(p.name for p in directory.path.iterdir() if p.name != ".lock") == [
        "episodes",
        "epoch",
        "journal",
        "run.yaml",
        "summary.json",
    ]


def test_a_relative_directory_is_refused_under_a_submitted_job(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("RAY_JOB_CONFIG_JSON_ENV_VAR", raising=False)
    monkeypatch.chdir(tmp_path)
    assert output_root(config(Path("runs"))) == str(tmp_path / "runs")
    monkeypatch.setenv("RAY_JOB_CONFIG_JSON_ENV_VAR", "{}")
    with pytest.raises(UserError, match=r"output\.dir: runs is relative, and this is a submitted job"):
        output_root(config(Path("runs")))
    assert output_root(config(tmp_path)) == str(tmp_path)
    assert output_root(config(Path("~/runs"))) == str(Path.home() / "runs")


def test_a_driver_that_was_taken_over_commits_nothing_more(directory: RunDirectory) -> None:
    """The filesystem takes a lock that doesn't hold, as some network filesystems do."""
    directory.storage.stage("part-0.parquet", rows("a"))
    (directory.path / ".lock").unlink()
    newer = reopen(directory.path)
    assert (directory.epoch, newer.epoch) == (1, 2)
    for act in (lambda: directory.commit("part-0.parquet"), lambda: directory.write_summary({})):
        with pytest.raises(RunFailed, match=r"another driver took over .*mine \(epoch 2\)"):
            act()
    newer.storage.stage("part-1.parquet", rows("b"))
    directory.close()
    newer.commit("part-1.parquet")
    assert committed_ids(newer) == {"b"}, "its close took nothing of the newer driver's"


def test_every_driver_takes_the_next_epoch(directory: RunDirectory) -> None:
    for epoch in (2, 3):
        directory.close()
        directory = reopen(directory.path)
        assert directory.epoch == epoch
    assert json.loads((directory.path / "epoch").read_text())["epoch"] == 3


def test_journals_are_in_the_run_or_where_the_config_says(directory: RunDirectory, tmp_path: Path) -> None:
    assert directory.journal == directory.path / "journal" and directory.journal.is_dir()
    elsewhere = {"dir": str(tmp_path), "journal_dir": str(tmp_path / "journals")}
    named = config(tmp_path, name="other").model_copy(update={"output": OutputSection(**elsewhere)})
    other = new(named)
    assert other.journal == tmp_path / "journals" / "other" and other.journal.is_dir()
    other.remove()
    other.close()
    assert not other.path.exists() and not other.journal.exists()
    (tmp_path / "journals" / "other").mkdir()
    with pytest.raises(UserError, match=r"output\.journal_dir: .*other is another run's"):
        new(named)
    off = new(
        config(tmp_path, name="off").model_copy(update={"output": OutputSection(dir=str(tmp_path), durability="off")})
    )
    assert not off.journal.exists()


def test_a_relative_journal_directory_is_refused_under_a_submitted_job(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("RAY_JOB_CONFIG_JSON_ENV_VAR", "{}")
    output = OutputSection(dir=str(tmp_path), journal_dir="journals")
    with pytest.raises(UserError, match=r"output\.journal_dir: journals is relative"):
        new(config(tmp_path, name="mine").model_copy(update={"output": output}))
    assert list(tmp_path.iterdir()) == []


def test_a_journal_that_cannot_be_made_leaves_no_run_behind(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    output = OutputSection(dir=str(tmp_path / "runs"), journal_dir=str(tmp_path / "file"))
    with pytest.raises(UserError, match=r"output\.journal_dir: can't make .*file/mine: Not a directory"):
        new(config(tmp_path, name="mine").model_copy(update={"output": output}))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("name", ["epoch", "plan.json", "run.yaml"])
def test_a_run_that_cannot_begin_on_a_full_disk_leaves_nothing_and_begins_later(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_until_full(storage: PosixStorage, file: str, data: bytes) -> None:
        if file == name:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(storage, file, data)

    write, mine = PosixStorage.write, config(tmp_path / "runs", name="mine")
    monkeypatch.setattr(PosixStorage, "write", write_until_full)
    with pytest.raises((UserError, RunFailed), match=r"No space left on device: free some space, and start again$"):
        begin(plan_directory(mine, CONFIG), mine, BEGAN)
    assert list(tmp_path.iterdir()) == []
    monkeypatch.undo()
    begin(plan_directory(mine, CONFIG), mine, BEGAN)
    assert find_run(tmp_path / "runs" / "mine").read_fingerprint() == BEGAN


def test_names_are_in_the_order_of_the_commits_also_over_drivers(directory: RunDirectory) -> None:
    """Files of older versions have no number, and stay part of the run."""
    (directory.path / "episodes" / "part-7-0-00000.parquet").write_bytes(b"")
    for name in ("part-1-1-00000.parquet", "part-1-0-00000.parquet"):
        directory.storage.stage(name, rows(name))
        directory.commit(name)
    with pytest.raises(RunFailed):
        directory.commit("part-1-1-00000.parquet")
    directory.close()
    again = reopen(directory.path)
    assert again.order.last == 2
    again.storage.stage("part-2-0-00000.parquet", rows("c"))
    again.commit("part-2-0-00000.parquet")
    assert globbed(again) == [
        "part-00000001-1-1-00000.parquet",
        "part-00000002-1-0-00000.parquet",
        "part-00000003-2-0-00000.parquet",
        "part-7-0-00000.parquet",
    ]
    assert [number_of(name) for name in globbed(again)] == [1, 2, 3, None]
    assert name_when_staged(globbed(again)[0]) == "part-1-1-00000.parquet"


def test_commits_at_the_same_time_show_up_one_after_the_other(directory: RunDirectory) -> None:
    names = [f"part-1-{worker}-00000.parquet" for worker in range(16)]
    for name in names:
        directory.storage.stage(name, rows(name))
    with ThreadPoolExecutor(len(names)) as threads:
        committing = [threads.submit(directory.commit, name) for name in names]
        while not all(one.done() for one in committing):
            seen = [number_of(name) for name in globbed(directory)]
            assert seen == list(range(1, len(seen) + 1)), "no hole, not even for a moment"
    assert all(one.exception() is None for one in committing)
    assert [number_of(name) for name in globbed(directory)] == list(range(1, 17))
    assert {name_when_staged(name) for name in globbed(directory)} == set(names)


def test_a_relative_journal_directory_is_kept_as_an_absolute_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("RAY_JOB_CONFIG_JSON_ENV_VAR", raising=False)
    monkeypatch.chdir(tmp_path)
    given = config(tmp_path, name="mine").model_copy(
        update={"output": OutputSection(dir="runs", journal_dir="journals")}
    )
    directory = new(given)
    directory.write_config(given)
    directory.close()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert reopen(directory.location).journal == tmp_path / "journals" / "mine"


def test_a_write_that_fails_leaves_no_file_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(file: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    storage = PosixStorage.of(tmp_path)
    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match="No space left"):
        storage.write("summary.json", b"{}")
    assert list(tmp_path.iterdir()) == []
