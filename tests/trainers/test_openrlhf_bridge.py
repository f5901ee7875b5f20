"""OpenRLHF's own classes take our groups: the real package, on a CPU, in the venv of `make trainer NAME=openrlhf`."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest
from trainer_venvs import TrainerVenv

pytestmark = [pytest.mark.trainers, pytest.mark.timeout(1300)]
LIMIT_S = 600


@pytest.fixture
def openrlhf(in_venv_of: Callable[[str], TrainerVenv]) -> TrainerVenv:
    return in_venv_of("openrlhf")


def test_its_experiences_advantages_and_loss_take_what_a_service_played(openrlhf: TrainerVenv, tmp_path: Path) -> None:
    found = openrlhf.run("openrlhf_scripts/batch.py", within_s=LIMIT_S, cwd=tmp_path)
    assert found["first"] == [8, None, 2, False] and found["second"] == [4, 2], (
        "the rest of the dataset, then from anew"
    )
    assert found["counts"] | {"fork_tokens": 0} == {
        "groups": 2,
        "episodes": 8,
        "failed": 1,
        "forked": 2,
        "fork_samples": 2,
        "fork_tokens": 0,
    }
    expected = advantages_of(found["rewards"])
    assert [given[0] if given else None for given in found["advantages"]] == [
        None if one is None else pytest.approx(one, abs=1e-4) for one in expected
    ]
    assert found["token"]["losses"] == pytest.approx(token_losses(expected, found["generated"]), abs=1e-5)
    for level in ("token", "sequence"):
        assert found[level]["mismatch"] < 1e-4 and found[level]["filtered"] == [0, 0, 0], "every ratio is 1"
        assert all(math.isfinite(loss) for loss in found[level]["losses"]), "also with a row that trains nothing"
    assert found["gradient"] > 0


def test_what_does_not_fit_is_named_before_anything_is_trained(openrlhf: TrainerVenv, tmp_path: Path) -> None:
    found = openrlhf.run("openrlhf_scripts/batch.py", within_s=LIMIT_S, cwd=tmp_path)
    assert "it has 2 samples (reasoning_stripped)" in found["fork"]
    assert "drawn at 1.0, but the trainer's temperature is 0.7" in found["temperature"]
    assert "no trainable token" in found["too_long"] and "'too_long': 7" in found["too_long"]
    assert "give all items a task, or none" in found["mixed"]


def test_its_trainer_has_the_service_load_each_steps_weights(openrlhf: TrainerVenv, tmp_path: Path) -> None:
    found = openrlhf.run("openrlhf_scripts/trainer.py", str(tmp_path), within_s=LIMIT_S, cwd=tmp_path)
    assert found["bases"][:2] == ["GroupTrainer", "PPOTrainer"] and found["installed"] == "GroupTrainer"
    assert found["told"] == ["small-policy 8 trained 1 times", "small-policy 9 trained 2 times"], "the model served 7"
    assert found["counts"] == {}
    assert "models.policy: its tokenizer differs from the trainer's: 259 tokens" in found["tokenizer"]
    assert found["kept"] == ["9"] and found["step"] == 2
    assert found["status"] == {"kl": 0.0, "ray_gym/failed_total": 2.0}


def advantages_of(rewards: list[float | None]) -> list[float | None]:
    """Returns the advantages of two groups of four, in which a failed episode has the mean of the others."""
    made: list[float | None] = []
    for start in (0, 4):
        group = rewards[start : start + 4]
        mean = fmean([reward for reward in group if reward is not None])
        spread = stdev([mean if reward is None else reward for reward in group])
        made += [None if reward is None else (reward - mean) / spread for reward in group]
    return made


def token_losses(advantages: list[Any], generated: list[int]) -> list[float]:
    """Returns the loss at ratio 1 of micro-batches of three rows: minus the mean advantage of their tokens."""
    rows = list(zip(advantages, generated, strict=True))
    return [
        -sum(advantage * tokens for advantage, tokens in part if tokens) / sum(tokens for _, tokens in part)
        for part in (rows[0:3], rows[3:6], rows[6:8])
    ]
