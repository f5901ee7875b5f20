"""NeMo Gym, harbor and OpenEnv read what is exported for them, by their own classes and commands."""

from __future__ import annotations

import asyncio
import json
from asyncio.subprocess import DEVNULL
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from reader_venvs import nemo_python, read_by, readers_python
from small_runs import GAMES, LIBRARY, QUESTIONS, played_run
from written_forms import written

pytestmark = [pytest.mark.trainers, pytest.mark.timeout(600)]


def held(given: Any, read: Any) -> bool:
    """Says whether what was read has all that was given. A reader may add fields that were not given."""
    if isinstance(given, dict):
        return isinstance(read, dict) and all(name in read and held(value, read[name]) for name, value in given.items())
    if isinstance(given, list):
        return len(given) == len(read) and all(map(held, given, read))
    return bool(given == read)


async def test_harbor_reads_each_line_as_a_trajectory(tmp_path: Path) -> None:
    python = readers_python()
    for name, config, tokens in (("games", GAMES, True), ("library", LIBRARY, True), ("text", QUESTIONS, False)):
        run = await played_run(tmp_path, config, name=name, tokens=tokens)
        lines, _ = written(run, tmp_path / f"{name}.jsonl", "atif")
        found = read_by(python, "read_by_harbor.py", tmp_path / f"{name}.jsonl")
        assert [one["trajectory_id"] for one in found] == [line["trajectory_id"] for line in lines]
        for line, read in zip(lines, found, strict=True):
            for step, as_read in zip(line["steps"], read["steps"], strict=True):
                assert held(step, as_read)


async def test_openenv_reads_each_line_as_a_trace(tmp_path: Path) -> None:
    python = readers_python()
    run = await played_run(tmp_path, GAMES, forks_at=2)
    lines, _ = written(run, tmp_path / "traces.jsonl", "openenv")
    found = read_by(python, "read_by_openenv.py", tmp_path / "traces.jsonl")
    for line, entries in zip(lines, found, strict=True):
        for turn, entry in zip(line["turns"], entries, strict=True):
            told = {key: value for key, value in turn.items() if key != "node_id"}
            assert entry == {**told, "metadata": {**turn["metadata"], "node_id": turn["node_id"]}}


async def test_nemo_gym_reads_rollouts_and_profiles_them(tmp_path: Path) -> None:
    python = nemo_python()
    run = await played_run(tmp_path, GAMES, name="games")
    files = {name: tmp_path / f"{name}.jsonl" for name in ("inputs", "rollouts")}
    (inputs, _), (lines, _) = (written(run, file, f"nemo-gym-{name}") for name, file in files.items())
    trajectories, _ = written(run, tmp_path / "atif.jsonl", "atif")
    found = read_by(python, "read_by_nemo_gym.py", files["rollouts"], tmp_path / "atif.jsonl")
    for line, read in zip(lines, found["rollouts"], strict=True):
        for item, as_read in zip(line["response"]["output"], read["response"]["output"], strict=True):
            assert held(item, as_read)
        assert read["reward"] == line["reward"] and read["response"]["usage"] == line["response"]["usage"]
    assert found["metrics"]["mean/reward"] == pytest.approx(fmean(line["reward"] for line in lines))
    assert "pass@4/accuracy" in found["metrics"]
    assert found["steps"] == [len(line["steps"]) for line in trajectories]
    words = ["eval", "profile", "--inputs", str(files["inputs"]), "--rollouts", str(files["rollouts"])]
    profile = tmp_path / "rollouts_reward_profiling.jsonl"
    profiling = await asyncio.create_subprocess_exec(python.with_name("gym"), *words, cwd=tmp_path, stdout=DEVNULL)
    assert await profiling.wait() == 0
    tasks = [json.loads(line) for line in profile.read_text().splitlines()]
    assert [task["num_rollouts"] for task in tasks] == [4] * 6 and len(inputs) == 24
    for number, task in enumerate(tasks):
        rewards = [line["reward"] for line in lines if line["_ng_task_index"] == number]
        assert task["mean/reward"] == pytest.approx(fmean(rewards))
