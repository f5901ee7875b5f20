"""AReaL's own classes take our groups: with the real package, on a CPU, in the venv of `make trainer NAME=areal`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from trainer_venvs import REPOSITORY, TrainerVenv

pytestmark = [pytest.mark.trainers, pytest.mark.timeout(1300)]
LIMIT_S = 600


@pytest.fixture
def areal(in_venv_of: Callable[[str], TrainerVenv]) -> TrainerVenv:
    return in_venv_of("areal")


def test_its_check_advantages_and_loss_take_the_trajectories(areal: TrainerVenv, tmp_path: Path) -> None:
    found = areal.run("areal_scripts/loss.py", within_s=LIMIT_S, cwd=tmp_path)
    assert found["complaints"] == []
    for advantages, own in zip(found["advantages"], found["own"], strict=True):
        assert len(advantages) == len(own) and all(len(row) == 1 for row in advantages), "each token has its row's"
        assert [row[0] for row in advantages] == pytest.approx([row[0] for row in own], abs=1e-5)
    assert found["tokens"] == found["generated"]
    assert found["losses"] == pytest.approx(found["expected"], abs=1e-5) and found["gradient"] > 0
    stats = found["stats"]
    ratios = [stats[f"importance_weight/{end}"] for end in ("min", "max")]
    assert ratios == pytest.approx([1, 1], abs=1e-4), "the recorded logprobs are those of the tokens"
    staleness = [stats[f"version_stats/sample_staleness_theta_{end}"] for end in ("min", "max")]
    assert staleness == [1, 1], "tokens of version 3, weights of version 4"


def test_its_engine_plays_by_the_workflow_and_updates_the_weights(areal: TrainerVenv, tmp_path: Path) -> None:
    found = areal.run("areal_scripts/rollouts.py", str(tmp_path), within_s=LIMIT_S, cwd=tmp_path)
    assert sorted(found["requests"][:2], key=lambda request: int(request["seed"])) == [
        {"generate": 1, "repeats": 4, "seed": 7},
        {"tasks": [{"secret": 5}], "repeats": 4, "seed": 8},
    ]
    assert sorted(shape["rewards"][0] for shape in found["shapes"]) == [[4], [5]], "a fork, and a failed episode"
    counts = found["counts"]
    assert (counts["groups"], counts["episodes"], counts["failed"], counts["forks"]) == (2, 8, 1, 2)
    assert found["stats"]["rollout/ray_gym/failed"] > 0 and "rollout/reward" in found["stats"]
    assert found["rejected"] and found["too_long"] >= 4, "nothing is cut"
    assert "drawn at 1.0, but the trainer's temperature is 0.7" in found["refused"]
    assert "models.policy: its tokenizer differs from the trainer's: 259 tokens" in found["tokenizer"]
    for name in ("repeats", "temperature", "forks", "environment"):
        assert found[name].startswith(f"{name}: "), found[name]
    assert "neither `seed`" in found["neither"] and "it has number" in found["neither"]
    assert found["loaded"] == [[1, '{"step": 1}']]


def test_it_reads_the_config_of_the_recipe(areal: TrainerVenv, tmp_path: Path) -> None:
    recipe = REPOSITORY / "examples" / "trainers" / "areal" / "train.yaml"
    found = areal.run("areal_scripts/recipe.py", str(recipe), str(tmp_path), within_s=LIMIT_S, cwd=tmp_path)
    assert found == {"temperature": 1.0, "batch": 32, "longest": 16384}
