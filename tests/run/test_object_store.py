"""Runs on an object store. S3 is moto's server here (see s3_double), a real process that workers and drivers reach over HTTP."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from conftest import REPOSITORY, eventually, ray_gym
from s3_double import BUCKET, KEYS, serving

from ray_gym.config.sections import OutputSection, RunConfig
from ray_gym.errors import RunFailed, UserError
from ray_gym.load import load
from ray_gym.record.schema import SCHEMA, without_volatile
from ray_gym.run.directory import owner
from ray_gym.run.directory.directory import RunDirectory, create, plan_directory, reopen
from ray_gym.run.directory.listing import remove_run, runs_in
from ray_gym.run.directory.location import child_of, storage_at
from ray_gym.run.directory.object_storage import ObjectStorage
from ray_gym.run.directory.owner import ObjectOwner
from ray_gym.run.directory.ownership import RunIsTaken

SCRIPTED = "configs/tic_tac_toe_scripted.yaml"
Environment = dict[str, str]


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("s3") / "moto.log") as address:
        yield address


@pytest.fixture
def store(address: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A place of this test's own for runs; its keys are in the environment, and nowhere else."""
    for key, value in KEYS.items():
        monkeypatch.setenv(key, value)
    return f"s3://{BUCKET}/{request.node.name}?endpoint_override={address}&scheme=http"


def config(store: str, **output: Any) -> RunConfig:
    return RunConfig.model_validate(
        {
            "run": {"name": "mine"},
            "environment": {"id": "tic_tac_toe"},
            "tasks": {"generate": 1},
            "models": {"small": {"engine": "scripted", "player": "a:b"}},
            "participants": {"policy": {"model": "small"}},
            "output": OutputSection(dir=store, durability="off", **output),
        }
    )


@pytest.fixture
def directory(store: str) -> Iterator[RunDirectory]:
    made = plan_directory(config(store), Path("mine.yaml"))
    create(made)
    made.write_config(config(store))
    yield made
    made.close()


def table(*ids: str) -> pa.Table:
    played = {"attempt": 0, "status": "completed", "stop_reason": "finished", "stop_text": "", "turns": 1}
    return pa.Table.from_pylist([{"episode_id": episode_id, **played} for episode_id in ids], schema=SCHEMA)


def committed_ids(directory: RunDirectory) -> set[str]:
    return {receipt.episode.episode_id for receipt in directory.committed()}


def taken_over(directory: RunDirectory) -> ObjectOwner:
    """Claims the run for another driver, without the wait until the first one counts as gone."""
    return ObjectOwner.claim(directory.storage, alive_s=0)


# ---- the directory ----


def test_staged_files_are_seen_when_they_are_committed_and_not_before(directory: RunDirectory) -> None:
    storage = directory.storage
    for number, ids in enumerate((("a", "b"), ("c",))):
        storage.stage(f"part-{number}.parquet", table(*ids))
    assert storage.names("episodes") == [] and load(directory.location).episodes.num_rows == 0
    directory.commit("part-0.parquet")
    directory.refuse("part-1.parquet")
    directory.refuse("part-1.parquet")
    assert storage.names("episodes") == ["part-00000001-0.parquet"] and storage.names(storage.staging) == []
    assert committed_ids(directory) == {"a", "b"}
    assert load(directory.location).episodes.column("episode_id").to_pylist() == ["a", "b"]
    with pytest.raises(RunFailed, match=r"part-1\.parquet can't be made part of the run"):
        directory.commit("part-1.parquet")


def test_a_worker_s_probe(directory: RunDirectory) -> None:
    directory.storage.write(f"{directory.storage.staging}/hello-0", b"")
    assert (
        directory.take_greeting("hello-0")
        and not directory.take_greeting("hello-0")
        and not directory.take_greeting("hello-1")
    )


def test_what_a_worker_is_given_writes_without_the_driver_s_environment(
    directory: RunDirectory, tmp_path: Path
) -> None:
    (tmp_path / "storage").write_bytes(pickle.dumps(directory.storage))
    write = "import pickle, pathlib; pickle.loads(pathlib.Path('storage').read_bytes()).write('seen', b'yes')"
    environment = {key: value for key, value in os.environ.items() if not key.startswith("AWS_")}
    command = [sys.executable, "-c", write]
    subprocess.run(command, cwd=tmp_path, env={**environment, "PYTHONPATH": str(REPOSITORY)}, check=True, timeout=60)
    assert directory.storage.read("seen") == b"yes"


def test_a_name_is_taken_once(directory: RunDirectory, store: str) -> None:
    with pytest.raises(UserError) as caught:
        plan_directory(config(store), Path("mine.yaml"))
    assert str(caught.value).startswith(f"run.name: there is a run 'mine' in {store} already")
    assert f"--resume '{directory.location}'" in str(caught.value)


def test_a_run_in_which_nothing_was_played_is_taken_back(directory: RunDirectory, store: str) -> None:
    directory.remove()
    directory.close()
    assert not directory.storage.exists()
    plan_directory(config(store), Path("mine.yaml"))


def test_a_bucket_that_is_not_there_and_a_run_that_is_none(store: str) -> None:
    with pytest.raises(UserError, match=r"output\.dir: can't write in s3://no-such-bucket\S*: .*NO_SUCH_BUCKET"):
        create(plan_directory(config(store.replace(BUCKET, "no-such-bucket")), Path("mine.yaml")))
    with pytest.raises(UserError, match=r"--resume: s3://\S* is no run directory"):
        reopen(store)
    with pytest.raises(UserError, match=r"s3://\S* is no run directory"):
        load(store)


def test_the_endpoint_can_be_the_environment_s(
    directory: RunDirectory, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{address}")
    assert load(directory.location.partition("?")[0]).episodes.num_rows == 0


def test_an_object_that_goes_while_it_is_read_is_told_as_none(directory: RunDirectory) -> None:
    storage = directory.storage
    storage.write("seen", b"yes")
    opened = storage.filesystem.open_input_stream(storage.at("seen"))
    storage.delete("seen")
    filesystem = SimpleNamespace(open_input_stream=lambda path: opened, get_file_info=storage.filesystem.get_file_info)
    with pytest.raises(FileNotFoundError, match="mine/seen"):
        replace(storage, filesystem=filesystem).read("seen")


# ---- one writer ----


def test_a_second_driver_is_refused_while_the_first_lives(directory: RunDirectory) -> None:
    directory.storage.stage("part-0.parquet", table("a"))
    with pytest.raises(UserError, match="another driver is writing this run; wait for it, or stop it first") as caught:
        reopen(directory.location)
    assert f"process {os.getpid()}" in str(caught.value)
    directory.commit("part-0.parquet")
    directory.close()
    again = reopen(directory.location)
    assert (directory.epoch, again.epoch) == (1, 2) and committed_ids(again) == {"a"}
    again.close()


def test_runs_of_a_store_are_listed_and_whether_a_driver_has_them(directory: RunDirectory, store: str) -> None:
    directory.storage.stage("part-0.parquet", table("a", "b"))
    directory.commit("part-0.parquet")
    [live] = runs_in(store)
    assert (live.name, live.state, live.episodes, live.location) == ("mine", "live", 2, directory.location)
    directory.write_summary(
        {"interrupted": False, "episodes": 2, "of": 2, "status": {"completed": 2}, "mean_reward": None}
    )
    directory.close()
    [ended] = runs_in(store)
    assert ended.state == "finished" and ended.size > 0
    remove_run(ended.location)
    assert not list(runs_in(store))


def test_a_driver_that_was_taken_over_commits_nothing_more(directory: RunDirectory) -> None:
    for number, name in enumerate("ab"):
        directory.storage.stage(f"part-{number}.parquet", table(name))
    directory.commit("part-0.parquet")
    newer = taken_over(directory)
    for act in (lambda: directory.commit("part-1.parquet"), lambda: directory.write_summary({})):
        with pytest.raises(RunFailed, match=r"another driver took over s3://.*mine\S* \(epoch 2\)"):
            act()
    directory.close()
    newer.check()
    assert committed_ids(directory) == {"a"} and not directory.storage.exists("summary.json")
    assert directory.storage.exists(f"{directory.storage.staging}/part-1.parquet"), (
        "what it closes is not its own any more"
    )
    newer.release()


def test_a_commit_that_was_under_way_at_a_takeover_has_nothing_to_copy(directory: RunDirectory) -> None:
    """The old driver has looked at the epoch; then another opens the run; then the old one goes on."""
    directory.storage.stage("part-0.parquet", table("a"))
    newer = taken_over(directory)
    directory.storage.begin_epoch(newer.epoch)
    with pytest.raises(OSError, match="NO_SUCH_KEY"):
        directory.storage.publish("part-0.parquet", "part-00000001-0.parquet")
    assert directory.storage.names("episodes") == []
    newer.release()


def test_a_driver_shows_that_it_lives_until_it_is_closed(store: str) -> None:
    storage = storage_at(child_of(store, "mine"))
    driver = ObjectOwner.claim(storage, beat_s=0.05)
    said = f"epoch/{driver.name}"
    first = json.loads(storage.read(said))
    assert (first["epoch"], first["pid"], first["released"]) == (1, os.getpid(), False)
    length = len(storage.read(said))
    eventually(lambda: json.loads(storage.read(said))["heartbeat"] > first["heartbeat"], 20)
    driver.release()
    driver.release()
    assert json.loads(storage.read(said))["released"] is True
    assert len(storage.read(said)) == length, "or who reads it meanwhile would get a part"
    assert not [thread for thread in threading.enumerate() if thread is driver._thread]


def test_of_drivers_that_meet_one_goes_on_at_most(store: str) -> None:
    storage = storage_at(child_of(store, "mine"))
    won: list[ObjectOwner] = []
    refused: list[None] = []
    together = threading.Barrier(6)

    def claim() -> None:
        together.wait()
        try:
            won.append(ObjectOwner.claim(storage))
        except RunIsTaken:
            refused.append(None)

    threads = [threading.Thread(target=claim) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) + len(refused) == 6, "one ended with another error"
    assert len(won) <= 1 and storage.names("epoch") == [driver.name for driver in won], "the others left nothing"
    for driver in won:
        driver.release()
    ObjectOwner.claim(storage).release()


@pytest.mark.parametrize("before", ["_server_time", "_refuse_if_alive", "_written_at"])
def test_who_meets_a_driver_that_steps_back_steps_back_too(
    before: str, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A third driver comes after the claim has listed the drivers, makes another step back, and keeps the run."""
    storage = storage_at(child_of(store, "mine"))
    beside, third = (ObjectOwner(storage, {"epoch": 1, "nonce": nonce, "host": "h", "pid": 1}, 3600) for nonce in "bt")
    beside._write(released=False)
    real = getattr(owner, before)
    called = 0

    def meanwhile(*arguments: Any) -> Any:
        nonlocal called
        called += 1
        if before != "_written_at" or called == 2:  # the first is of the store's own clock
            third._write(released=False)
            storage.delete(f"epoch/{beside.name}")
        return real(*arguments)

    monkeypatch.setattr(owner, before, meanwhile)
    with pytest.raises(RunIsTaken, match="another driver opened this run at the same moment"):
        ObjectOwner.claim(storage)
    assert storage.names("epoch") == [third.name]
    third.check()


def test_who_was_so_slow_that_another_may_have_come_and_gone_steps_back(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = storage_at(child_of(store, "mine"))
    monkeypatch.setattr(owner, "ALIVE_S", 0.0)
    with pytest.raises(RunIsTaken, match="at the same moment"):
        ObjectOwner.claim(storage)
    assert storage.names("epoch") == []


def test_a_run_that_is_taken_back_is_nobody_else_s_until_nothing_of_it_is_left(
    directory: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    deleted: list[str] = []
    real = ObjectStorage.delete

    def delete(self: ObjectStorage, name: str) -> None:
        real(self, name)
        if name == "run.yaml":
            deleted.append(name)
            with pytest.raises(RunIsTaken, match="another driver is writing this run"):
                ObjectOwner.claim(self)

    monkeypatch.setattr(ObjectStorage, "delete", delete)
    directory.remove()
    assert deleted == ["run.yaml"] and not directory.storage.exists()


def test_a_driver_whose_run_was_deleted_writes_nothing_more(directory: RunDirectory) -> None:
    directory.storage.delete_folder("epoch")
    beginning_again = ObjectOwner.claim(directory.storage)
    with pytest.raises(RunFailed, match="was deleted under its driver"):
        directory.write_summary({})
    beginning_again.check()
    beginning_again.release()


# ---- whole runs, by the command line ----


def rows(run: str) -> dict[str, dict[str, Any]]:
    episodes = load(run).episodes
    found = {row["episode_id"]: without_volatile(row) for row in episodes.to_pylist()}
    assert len(found) == episodes.num_rows, "an episode is there twice"
    return found


def arguments(output: str, journals: Path, *overrides: str) -> list[str]:
    given = [f"output.dir={output}", f"output.journal_dir={journals}", "run.name=mine", "tasks.generate=20"]
    return ["rollout", SCRIPTED, *given, *overrides]


def start_slow(environment: Environment, store: str, journals: Path) -> subprocess.Popen[str]:
    """Starts a run whose games take a while, and waits until it has committed its first file."""
    slow = ["models.random.delay_s=0.2", "fanout.concurrency=4", "tasks.generate=200", "output.roll_s=0.3"]
    run = subprocess.Popen(
        [sys.executable, "-m", "ray_gym", *arguments(store, journals, *slow)],
        env=environment,
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    storage = storage_at(child_of(store, "mine"))
    eventually(lambda: run.poll() is not None or storage.names("episodes"), 90)
    assert run.poll() is None, run.communicate()[0]
    return run


@pytest.mark.ray
@pytest.mark.runs
def test_a_run_is_written_shown_and_resumed(cluster: Environment, store: str, tmp_path: Path) -> None:
    """The cluster's processes know no keys: the driver's go to the workers with the storage."""
    environment = {**cluster, **KEYS}
    run = child_of(store, "mine")
    done = ray_gym(*arguments(store, tmp_path / "journals"), environment=environment)
    assert done.returncode == 0, done.stderr + done.stdout
    assert f"ray-gym show '{run}'" in done.stdout
    played = rows(run)
    assert len(played) == 80 and load(run).samples.num_rows == 0
    assert not (tmp_path / "journals" / "mine").exists(), "all is committed"
    storage = storage_at(run)
    assert json.loads(storage.read("summary.json"))["status"] == {"completed": 80}
    kept = storage.read("run.yaml").decode()
    assert not any(key in kept for key in KEYS.values()) and storage.names(".staging/1") == []

    on_disk = ray_gym(*arguments(str(tmp_path / "runs"), tmp_path / "other"), environment=environment)
    assert on_disk.returncode == 0 and rows(str(tmp_path / "runs" / "mine")) == played, "the same as on a filesystem"

    shown = ray_gym("show", run, next(iter(played))[:12], environment=environment)
    assert shown.returncode == 0 and "reward" in shown.stdout, shown.stderr
    again = ray_gym("rollout", "--resume", run, "fanout.workers=1", environment=environment)
    assert again.returncode == 0, again.stderr + again.stdout
    assert rows(run) == played and json.loads(storage.read("summary.json"))["already_done"] == 80


@pytest.mark.ray
@pytest.mark.chaos
def test_interrupted_refused_and_resumed(cluster: Environment, store: str, tmp_path: Path) -> None:
    environment, run = {**cluster, **KEYS}, child_of(store, "mine")
    driver = start_slow(environment, store, tmp_path)
    storage = storage_at(run)
    try:
        second = ray_gym("rollout", "--resume", run, environment=environment)
        assert second.returncode == 2 and "another driver is writing this run" in second.stderr, second.stderr
        storage.write(".staging/1/part-9-9-00000.parquet", b"of a worker that nobody knows")
    finally:
        os.killpg(driver.pid, signal.SIGINT)
        told, _ = driver.communicate(timeout=60)
    assert driver.returncode == 1 and "interrupted" in told and "Traceback" not in told, told
    kept = rows(run)
    assert 0 < len(kept) < 800 and not storage.names(".staging/1")
    resumed = ray_gym("rollout", "--resume", run, "fanout.concurrency=400", environment=environment)
    assert resumed.returncode == 0, resumed.stderr + resumed.stdout
    whole = rows(run)
    assert len(whole) == 800 and all(whole[episode_id] == row for episode_id, row in kept.items())
    assert not any("-9-9-" in name for name in storage.names("episodes"))
    assert {name.split("-")[2] for name in storage.names("episodes")} == {"1", "2"}, "each driver's under its epoch"


@pytest.mark.ray
@pytest.mark.chaos
def test_a_driver_that_is_taken_over_stops(cluster: Environment, store: str, tmp_path: Path) -> None:
    driver = start_slow({**cluster, **KEYS}, store, tmp_path)
    storage = storage_at(child_of(store, "mine"))
    try:
        newer = ObjectOwner.claim(storage, alive_s=0)
        storage.begin_epoch(newer.epoch)
        there = storage.names("episodes")
        told, _ = driver.communicate(timeout=60)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(driver.pid, signal.SIGKILL)
    assert driver.returncode == 1 and "another driver took over" in told and "Traceback" not in told, told
    assert storage.names("episodes") == there and not storage.exists("summary.json")
    newer.release()
