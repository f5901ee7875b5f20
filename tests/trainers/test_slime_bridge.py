"""slime's own rollout manager and loss run on the bridge's groups, and weigh them as ray_gym does.

slime is no package of a registry: RAY_GYM_SLIME names a checkout of the commit that the bridge was tested with.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("ray")
from checkouts import checkout as find_checkout
from trainer_venvs import TrainerVenv

from ray_gym.errors import UserError
from ray_gym.trainers.checkout import check_commit
from ray_gym.trainers.slime import TESTED

pytestmark = pytest.mark.trainers


@pytest.fixture
def checkout() -> Path:
    """Gives the checkout, whose commit is a tested one."""
    return find_checkout("RAY_GYM_SLIME", TESTED[-1])


@pytest.fixture
def here() -> TrainerVenv:
    """Gives this Python: of what slime asks for, only torch, Ray and transformers are needed here."""
    return TrainerVenv("slime", Path(sys.executable))


def test_slime_takes_our_batch_and_has_our_advantages_and_our_loss(
    checkout: Path, here: TrainerVenv, tmp_path: Path
) -> None:
    """slime's conversion, schedule, advantages and loss, on groups that came in another order than was asked."""
    said = here.run("slime_scripts/batch.py", str(checkout), within_s=600, cwd=tmp_path)
    assert said["rollout_ids"] == [0, 1, 1, 2, 3, 4, 5, 5, 6, 7], "forks share their episode's"
    assert said["raw_rewards"] == pytest.approx([1, 0, 0, 1, 2 / 3, 0, 1, 1, 0, 1])
    assert [number for number, status in enumerate(said["statuses"]) if status == "failed"] == [4]
    assert said["versions"] == [["5"]] * 4 + [[]] + [["5"]] * 5
    assert said["labels"] == ['{"task_id": "t1"}'] * 5 + ['{"board": 3}'] * 5
    [request] = said["requests"]
    assert request["tasks"] == [{"task_id": "t1"}, {"board": 3, "task_id": "prompt-1"}] and request["repeats"] == 4
    assert said["updates"] == [[8, "model"]], "the weights that slime begins with"
    counts = {"groups": 2, "episodes": 8, "rows": 9, "forks": 2, "failed": 1}
    assert said["metrics"] == {f"ray_gym/{name}": count for name, count in counts.items()}
    assert said["counts"] == {"ray_gym": counts}
    assert said["advantages"] < 1e-5 and said["ratio"] < 1e-5
    (theirs, ours), (moved, our_moved) = said["losses"]
    assert abs(theirs - ours) < 1e-5 and abs(moved - our_moved) < 1e-5 and abs(moved) > 1e-2


def test_mistakes_are_named_before_the_first_step(checkout: Path, here: TrainerVenv, tmp_path: Path) -> None:
    said = here.run("slime_scripts/refusals.py", str(checkout), within_s=600, cwd=tmp_path)
    assert said["fits"] is None and said["any"] is None
    for name, expected in {
        "alone": "--n-samples-per-prompt: 1",
        "critic": "--advantage-estimator: ppo",
        "rewards": "--custom-reward-post-process-path: None",
        "nucleus": "--rollout-top-p: 0.9",
        "engines": "--rollout-num-gpus: 8",
        "unsaved": "--save-interval 20",
        "temperature": "were drawn at 1.0, but the trainer's temperature is 0.7",
        "tokenizer": "models.policy: its tokenizer differs from the trainer's: 259 tokens",
        "short": "rollout 0: the batch has no trainable token",
        "app": "ray_gym_app is missing",
        "misspelt": "ray_gym_address is unknown",
        "source": "ray_gym_eval_source",
        "later": "has no checkpoint of the rollout before",
        "commit": "is at commit 624b824a8, and the bridge was tested with 012345678",
    }.items():
        assert said[name] is not None and expected in said[name], (name, said[name])


def test_a_folder_without_a_commit_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is no checkout of git, and the bridge was tested with 624b824a8"):
        check_commit("slime", tmp_path, TESTED)
    assert check_commit("slime", tmp_path, TESTED, any_version=True) == "unknown"
