"""verl's own functions and its own trainer take our groups: with the real package, in the venv of
`make trainer NAME=verl`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from trainer_venvs import TrainerVenv

pytestmark = [pytest.mark.trainers, pytest.mark.timeout(2000)]
HERE = "verl_scripts"
BATCH_S, STEPS_S = 500, 900
"""Seconds that scripts of functions and of the trainer may take: the machine is shared."""


@pytest.fixture
def verl(in_venv_of: Callable[[str], TrainerVenv]) -> TrainerVenv:
    return in_venv_of("verl")


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """Holds what each script printed, which several tests look at."""
    return {}


def printed(script: str, verl: TrainerVenv, found: dict[str, Any], folder: Path) -> Any:
    if script not in found:
        found[script] = verl.run(f"{HERE}/{script}.py", within_s=BATCH_S, cwd=folder)
    return found[script]


@pytest.fixture
def batch(verl: TrainerVenv, found: dict[str, Any], tmp_path: Path) -> Any:
    return printed("batch", verl, found, tmp_path)


@pytest.fixture
def refusals(verl: TrainerVenv, found: dict[str, Any], tmp_path: Path) -> Any:
    return printed("refusals", verl, found, tmp_path)


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


def column(found: Any, name: str) -> list[float]:
    return [entry["data"][name] for entry in found["log"]]


def test_its_own_trainer_trains_on_the_weights_that_it_pushed_and_resumes(verl: TrainerVenv, tmp_path: Path) -> None:
    """The second step has ratios of 1 only if its groups were played by the weights that the first one pushed."""
    arguments = (f"{HERE}/steps.py", str(tmp_path))
    found = verl.run(*arguments, "2", "2", within_s=STEPS_S, cwd=tmp_path)
    assert column(found, "actor/pg_loss")[0] == pytest.approx(found["expected"], abs=1e-5)
    assert column(found, "actor/ppo_kl") == pytest.approx([0, 0], abs=1e-5)
    assert column(found, "training/off_policy/trajectory_staleness_worst/max") == [0, 0]
    assert found["version"] == 2 and found["acknowledged"] == [0, 1, 2, 3]
    assert found["began_with"] == {"version": 0, "cursor": None}
    assert column(found, "ray_gym/rows") == [9, 9] and column(found, "ray_gym/padded_rows") == [7, 7]
    assert column(found, "ray_gym/failed") == column(found, "ray_gym/optimizer_steps") == [1, 1]
    assert column(found, "ray_gym/forks") == [2, 2]

    again = verl.run(*arguments, "3", "2", within_s=STEPS_S, cwd=tmp_path)
    assert again["began_with"] == {"version": 2, "cursor": {"acknowledged": [0, 1, 2, 3], "version": 1}}
    assert [entry["step"] for entry in again["log"]] == [3] and again["version"] == 3
    assert column(again, "actor/ppo_kl") == pytest.approx([0], abs=1e-5), "the checkpoint's weights play and train"
    assert again["acknowledged"] == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("barren", "step 1: the batch has no trainable token: 8 of 8 episodes failed"),
        ("ended", "the stream ended after 1 groups"),
        ("underscore", "uid 'a_b'"),
        ("validation", "evaluate with ray_gym's stream.evaluate"),
        ("manager", "agent_loop_manager_class: it has to be ray_gym.trainers.verl.manager.Manager"),
        ("client", "needs the trainer of its bridge"),
    ],
)
def test_what_it_can_not_train_on_is_refused(refusals: Any, case: str, said: str) -> None:
    assert said in refusals[case]
