"""TRL's own trainers train on our groups: with the real package, on a CPU, in the venv of `make trainer NAME=trl`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from trainer_venvs import TrainerVenv

pytestmark = [pytest.mark.trainers, pytest.mark.timeout(1200)]
HERE, STREAM_S, HANDMADE_S = "trl_scripts", 1200, 300
"""Folder of the scripts, and seconds that those with and without a stream may take: the machine is shared."""


@pytest.fixture
def trl(in_venv_of: Callable[[str], TrainerVenv]) -> TrainerVenv:
    return in_venv_of("trl")


def handmade(trl: TrainerVenv, tmp_path: Path, script: str, *arguments: str) -> Any:
    return trl.run(f"{HERE}/{script}.py", str(tmp_path), *arguments, within_s=HANDMADE_S, cwd=tmp_path)


def column(log: list[dict[str, Any]], name: str) -> list[float]:
    return [entry[name] for entry in log]


def test_the_synchronous_trainer_takes_forks_masks_and_failures(trl: TrainerVenv, tmp_path: Path) -> None:
    found = handmade(trl, tmp_path, "sync_handmade", "3", "longest")
    log = found["log"]
    assert len(log) == 3 and log[0]["loss"] == pytest.approx(found["expected"], abs=1e-5)
    for end in ("min", "max"):
        assert column(log, f"sampling/importance_sampling_ratio/{end}") == pytest.approx([1] * 3, abs=1e-4)
    assert found["acknowledged"] == [0, 1, 2, 3, 4, 5] and found["version"] == 2, (
        "pushed before each rollout but the first"
    )
    assert found["counts"]["failed"] == 3 and found["counts"]["forked"] == 6
    assert column(log, "ray_gym/fork_samples") == [2, 2, 2], "and the log says so"


def test_a_fork_ends_the_synchronous_trainer_unless_a_choice_is_made(trl: TrainerVenv, tmp_path: Path) -> None:
    found = handmade(trl, tmp_path, "sync_handmade", "3", "refuse")
    assert "0-1: it has 2 samples" in found["refused"] and found["step"] == 0


def test_another_model_is_noticed_before_the_first_step(trl: TrainerVenv, tmp_path: Path) -> None:
    found = handmade(trl, tmp_path, "sync_handmade", "3", "longest", "other")
    assert "other logprobs than were recorded" in found["refused"] and found["step"] == 0


def test_two_ranks_share_what_rank_0_takes(trl: TrainerVenv, tmp_path: Path) -> None:
    alone = handmade(trl, tmp_path / "alone", "sync_handmade", "2", "longest")
    script, folder = str(trl.script(f"{HERE}/sync_handmade.py")), str(tmp_path / "two")
    launch = ("-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2", script, folder, "2", "longest")
    out, _ = trl.execute(*launch, within_s=HANDMADE_S, cwd=tmp_path)
    both = json.loads(next(line for line in out.splitlines() if line.startswith('{"log"')))
    assert column(both["log"], "loss") == pytest.approx(column(alone["log"], "loss"), abs=1e-4)
    assert both["acknowledged"] == [0, 1, 2, 3]


def test_the_asynchronous_trainer_takes_forks_as_rows_of_their_group(trl: TrainerVenv, tmp_path: Path) -> None:
    found = handmade(trl, tmp_path, "async_handmade", "3")
    log = found["log"]
    assert len(log) == 3 and log[0]["loss"] == pytest.approx(found["expected"], abs=1e-5)
    assert log[0]["ratio"] == pytest.approx(1, abs=1e-5) and found["version"] == 4, "one push at the start, one a step"
    assert found["counts"]["forks"] == len(found["rows"]), "one in each group"


def test_a_checkpoint_of_the_asynchronous_trainer_has_the_groups_of_its_steps(trl: TrainerVenv, tmp_path: Path) -> None:
    found = handmade(trl, tmp_path, "async_handmade", "3")
    for step, saved in enumerate(found["saved"], 1):
        trained, whole = 12 * step, 0
        while sum(found["rows"][: whole + 1]) <= trained:
            whole += 1
        assert saved["cursor"]["acknowledged"] == list(range(whole)), "those of which every row was in a step"
        assert saved["version"] == step + 1
    assert len(found["collated"]) > len(found["saved"][-1]["cursor"]["acknowledged"]), (
        "TRL has taken more than it trained on"
    )


def test_rows_over_the_token_budget_are_left_out_and_counted(trl: TrainerVenv, tmp_path: Path) -> None:
    found = handmade(trl, tmp_path, "async_handmade", "2", "token_budget=32")
    assert found["counts"]["too_long"] > 0 and found["log"][0]["ratio"] == pytest.approx(1, abs=1e-5)
    assert all("batch/dropped_oversize_total" not in entry for entry in found["log"]), "TRL has none to drop"


def test_rows_that_are_too_old_are_left_out_and_their_groups_acknowledged(trl: TrainerVenv, tmp_path: Path) -> None:
    found = handmade(trl, tmp_path, "async_handmade", "4", "max_staleness=0")
    assert found["counts"]["stale"] > 0 and found["open"] <= 3, "those of the step and the micro-batch ahead"
    assert all("sample/dropped_stale_total" not in entry for entry in found["log"]), "TRL has none to drop"
    settled = sum(found["rows"][number] for number in found["acknowledged"])
    assert settled <= 12 * 4 + found["counts"]["stale"], "each row was in a step, or left out"


def test_the_stream_is_told_of_weights_that_trl_moves_itself(trl: TrainerVenv, tmp_path: Path) -> None:
    found = handmade(trl, tmp_path, "async_handmade", "3", "pushes=0")
    assert found["told"] == [1, 2, 3, 4] and found["version"] == 4
    assert found["log"][0]["loss"] == pytest.approx(found["expected"], abs=1e-5)


def test_weights_of_other_shapes_are_refused_before_the_first_step(trl: TrainerVenv, tmp_path: Path) -> None:
    found = handmade(trl, tmp_path, "async_handmade", "0")
    assert "(300, 64) instead of (320, 64)" in found["refused"] and found["version"] == 0


def steps(trl: TrainerVenv, tmp_path: Path, script: str, count: int) -> Any:
    return trl.run(f"{HERE}/{script}.py", str(tmp_path), str(count), within_s=STREAM_S, cwd=tmp_path)


@pytest.mark.timeout(2600)
def test_the_synchronous_trainer_learns_on_a_stream_and_goes_on_from_a_checkpoint(
    trl: TrainerVenv, tmp_path: Path
) -> None:
    found = steps(trl, tmp_path, "sync_steps", 30)
    log = [entry for entry in found["log"] if "reward" in entry]
    rewards = column(log, "reward")
    assert sum(rewards[-5:]) / 5 > sum(rewards[:5]) / 5 + 0.3
    for end in ("min", "max"):
        assert column(log, f"sampling/importance_sampling_ratio/{end}") == pytest.approx([1] * 30, abs=1e-2)
    assert found["served"] == 29, "pushed before each rollout but the first"
    assert found["counts"]["groups"] == 120 == found["status"]["acknowledged"] and found["counts"]["failed"] > 0
    assert found["status"]["stale"] == 0 == found["status"]["stalest"], "each batch is of the weights that it trains"

    again = steps(trl, tmp_path, "sync_steps", 32)
    log = [entry for entry in again["log"] if "reward" in entry]
    assert column(log, "step")[-2:] == [31, 32] and again["served"] == 31
    assert column(log, "reward")[-1] > sum(rewards[:5]) / 5 + 0.3, "with the weights of the checkpoint"
    assert again["counts"]["groups"] == 8 and again["cursor"]["next"] == 128, "the groups after those of 30 steps"


@pytest.mark.timeout(2600)
def test_the_asynchronous_trainer_makes_steps_on_a_stream_and_goes_on_from_a_checkpoint(
    trl: TrainerVenv, tmp_path: Path
) -> None:
    found = steps(trl, tmp_path, "async_steps", 5)
    log = [entry for entry in found["log"] if "ratio" in entry]
    assert column(log, "step") == [1, 2, 3, 4, 5] and found["served"] == 6
    assert log[0]["ratio"] == pytest.approx(1, abs=1e-3), "tokens of the first push"
    assert max(column(log, "sample/staleness_max")) <= 3

    last = max((tmp_path / "trainer").glob("checkpoint-*"), key=lambda folder: int(folder.name.partition("-")[2]))
    saved = json.loads((last / "ray_gym_cursor.json").read_text())
    again = steps(trl, tmp_path, "async_steps", 7)
    made = 7 - int(last.name.partition("-")[2])
    assert again["served"] == saved["version"] + 1 + made, "pushed at the start, and after each step"
    assert again["cursor"]["next"] > saved["cursor"]["next"]
