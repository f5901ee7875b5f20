"""verl's own functions and its own trainer take our groups: with the real package, in the venv of
`make trainer NAME=verl`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from trainer_venvs import TrainerVenv

pytestmark = [pytest.mark.trainers, pytest.mark.timeout(1200)]
HERE = "verl_scripts"
BATCH_S = 400
"""Seconds that a script may take without a stream: the machine is shared."""


@pytest.fixture
def verl(in_venv_of: Callable[[str], TrainerVenv]) -> TrainerVenv:
    return in_venv_of("verl")


@pytest.fixture(scope="module")
def batches() -> dict[str, Any]:
    """Holds what the script found, which several tests look at."""
    return {}


@pytest.fixture
def batch(verl: TrainerVenv, batches: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    if not batches:
        batches.update(verl.run(f"{HERE}/batch.py", within_s=BATCH_S, cwd=tmp_path_factory.mktemp("verl")))
    return batches


def ours(batch: Any) -> list[dict[str, Any]]:
    return [one for one in batch["trajectories"] if not one["padding"]]


def test_its_replay_buffer_gives_all_trajectories_back_as_they_were(batch: Any) -> None:
    assert [one["fork"] for one in ours(batch)].count(1) == 2 and len(ours(batch)) == 9, "a fork in each group"
    for one in ours(batch):
        assert one["same_ids"] and one["same_mask"] and one["same_logprobs"]
        assert one["score"] == one["reward"] and one["trained"] > 0
        assert one["tag"]["min_global_steps"] == one["tag"]["max_global_steps"] == 3


def test_its_advantages_are_ours_for_every_token_and_fork(batch: Any) -> None:
    for one in ours(batch):
        assert one["advantage"] == pytest.approx([one["ours"]] * one["trained"], abs=1e-5)
    assert len({round(one["ours"], 3) for one in ours(batch)}) >= 3, "the groups have other advantages"


def test_rows_that_it_pads_with_train_nothing(batch: Any) -> None:
    padding = [one for one in batch["trajectories"] if one["padding"]]
    assert len(padding) == 16 - 9 and {one["trained"] for one in padding} == {0}


@pytest.mark.parametrize("model", ["same", "other"])
def test_its_policy_loss_is_ours(batch: Any, model: str) -> None:
    found = batch["losses"][model]
    assert found["verl"] == pytest.approx(found["ours"], abs=1e-5) and found["ours"] != 0
    assert found["metrics"]["actor/pg_loss"] == pytest.approx(found["ours"], abs=1e-5)
    if model == "same":
        assert found["ratio"] == pytest.approx(1, abs=1e-5)
        assert found["metrics"]["actor/ppo_kl"] == pytest.approx(0, abs=1e-5)
    else:
        assert abs(found["ratio"] - 1) > 0.01, "else the loss would not depend on which token is where"
