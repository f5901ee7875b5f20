"""Trains for a few steps with a real engine, while a worker, the replica and the trainer are killed."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pyarrow.parquet as pq
import pytest
from conftest import REPOSITORY, eventually, raylet_children

import ray_gym
from examples.grpo.annotations import FOLDER
from examples.grpo.checkpoint import load_state, newest
from ray_gym.stream.source import number_of

pytestmark = [pytest.mark.chaos, pytest.mark.ray]

GROUPS, STEPS = 2, 9
STEP_S = 600
"""The longest that a training may take to its next step, starts and restarts of the engine included."""
SETTINGS = (
    f"groups={GROUPS}",
    f"steps={STEPS}",
    f"evaluate_every={STEPS}",
    "evaluation.episodes=8",
    "warmup.steps=20",
)


@contextmanager
def training(folder: Path, cluster: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """Runs `make train`'s command, and kills it at the end of the block if it has not ended."""
    command = [sys.executable, "-m", "examples.grpo", "guess", *SETTINGS, "--out", str(folder)]
    with (folder.parent / "training.log").open("ab") as log:
        process = subprocess.Popen(command, cwd=REPOSITORY, env=cluster, stdout=log, stderr=log)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def step_of(folder: Path) -> int:
    """Returns the number of the newest checkpoint's step; -1 before the first."""
    found = newest(folder / "checkpoints")
    return -1 if found is None else int(found.name.removeprefix("step-"))


def wait_for_step(folder: Path, process: subprocess.Popen[bytes], step: int) -> None:
    def reached() -> bool:
        assert process.poll() is None or step_of(folder) >= step, (folder.parent / "training.log").read_text()[-5000:]
        return step_of(folder) >= step

    eventually(reached, STEP_S)


def kill(processes: list[psutil.Process]) -> None:
    assert processes, "there is nothing to kill"
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()


@pytest.mark.timeout(1500)
def test_whatever_is_killed_each_group_is_in_one_step(cluster: dict[str, str], tmp_path: Path) -> None:
    pytest.importorskip("vllm")
    folder = tmp_path / "guess"
    before = {process.pid for process in raylet_children(cluster, "Worker", "ServeReplica")}

    def ours(title: str) -> list[psutil.Process]:
        return [process for process in raylet_children(cluster, title) if process.pid not in before]

    with training(folder, cluster) as process:
        wait_for_step(folder, process, 2)
        kill(ours("Worker"))
        wait_for_step(folder, process, 4)
        kill([one for one in ours("ServeReplica") if "policy" in " ".join(one.cmdline())])
        wait_for_step(folder, process, 6)
    with training(folder, cluster) as process:
        assert process.wait(STEP_S) == 0, (folder.parent / "training.log").read_text()[-5000:]
    check_groups(folder)
    check_files(folder)


def check_groups(folder: Path) -> None:
    """Checks that each group is in one step, that of its number, with all of its episodes, as the record has them."""
    found = newest(folder / "checkpoints")
    assert found is not None
    history = load_state(found).history
    assert [row["step"] for row in history] == list(range(1, STEPS + 1))
    assert [row["groups"] for row in history] == [list(range(k * GROUPS, (k + 1) * GROUPS)) for k in range(STEPS)]
    assert [row["episodes"] for row in history] == [8 * GROUPS] * STEPS
    assert max(row["ratio_error"] for row in history) < 1e-2
    episodes = ray_gym.load(folder / f"grpo-{folder.name}").episodes
    assert len(set(episodes.column("episode_id").to_pylist())) == episodes.num_rows
    rows = episodes.select(["group_id", "task_id"]).to_pylist()
    task_of = {number_of(row["group_id"]): row["task_id"] for row in rows}
    trained = {number: task for row in history for number, task in zip(row["groups"], row["task_ids"], strict=True)}
    assert trained == {number: task_of[number] for number in range(GROUPS * STEPS)}


def check_files(folder: Path) -> None:
    """Checks curves, annotations and the report that the training has left."""
    run = folder / f"grpo-{folder.name}"
    curves: Any = pq.read_table(folder / "curves.parquet")
    assert curves.column("step").to_pylist() == list(range(1, STEPS + 1))
    files = sorted((run / FOLDER).iterdir())
    assert [file.stem for file in files] == [f"step-{step:06d}" for step in range(1, STEPS + 1)]
    loaded = ray_gym.load(run)
    step_of = {
        row["episode_id"]: number_of(row["group_id"]) // GROUPS
        for row in loaded.episodes.select(["episode_id", "group_id"]).to_pylist()
    }
    generated, drawn = dict.fromkeys(step_of, 0), [0] * STEPS
    for row in loaded.samples.select(["episode_id", "loss_mask"]).to_pylist():
        generated[row["episode_id"]] += sum(row["loss_mask"])
    for episode, tokens in generated.items():
        if step_of[episode] < STEPS:
            drawn[step_of[episode]] += tokens
    for step, (file, withheld) in enumerate(zip(files, curves.column("withheld_tokens").to_pylist(), strict=True)):
        table = pq.read_table(file)
        counts = table.group_by("episode_id").aggregate([("position", "count")]).to_pylist()
        assert all(row["position_count"] <= generated[row["episode_id"]] for row in counts)
        missing = drawn[step] - table.num_rows
        assert 0 <= missing <= withheld, (
            "only what the stream withheld has no annotation; the trainer may leave out more"
        )
    report = json.loads((folder / "report.json").read_text())
    assert report["steps"] == STEPS and report["episodes"] == 8
