"""SkyRL's own functions and its own trainer run on the bridge's groups, and weigh them as ray_gym does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from trainer_venvs import TrainerVenv

pytestmark = pytest.mark.trainers


@pytest.fixture
def venv(in_venv_of: Callable[[str], TrainerVenv]) -> TrainerVenv:
    return in_venv_of("skyrl")


def test_skyrl_takes_our_batch_and_has_our_advantages_and_our_loss(venv: TrainerVenv, tmp_path: Path) -> None:
    """SkyRL's validation, conversion, advantages and loss, on groups that came in another order than was asked."""
    said = venv.run("skyrl_scripts/loss.py", within_s=600, cwd=tmp_path)
    counts = {"groups": 2, "episodes": 8, "rows": 9, "forks": 2, "failed": 1, "stale": 0}
    assert said["counts"] == {f"ray_gym/{name}": count for name, count in counts.items()}
    assert (said["rows"], said["last"]) == (9, 7)
    [request] = said["requests"]
    assert request["tasks"] == [{"task_id": "t1"}, {"task_id": "t0"}] and request["repeats"] == 4
    assert said["advantages"] < 1e-5
    assert said["ratio"] < 1e-5 and said["tokens"] > 80
    assert max(said["losses"]) < 1e-5 and abs(said["loss"]) > 1e-2


def test_two_steps_of_skyrls_trainer(venv: TrainerVenv, tmp_path: Path) -> None:
    """The trainer publishes its weights: the next groups are of them, so that their ratios are 1."""
    said = venv.run("skyrl_scripts/steps.py", within_s=600, cwd=tmp_path)
    assert said["updates"] == [[5, "5"], [6, "6"], [7, "7"]], "before the first step, and after each"
    assert said["folders"] == ["7"], "older weights are removed"
    assert len(said["ratios"]) == 2 and max(said["ratios"]) < 1e-5
    assert said["saved"] == 0 and said["moved"] > 1e-3
    assert said["counts"]["rows"] == 18 and said["counts"]["failed"] == 2 and said["counts"]["stale"] == 0
    assert len(set(said["seeds"])) == 2, "no step plays with the chances of another"
    assert [step["ray_gym/failed"] for step in said["logged"]] == [1, 1]
    assert all(abs(step["policy/policy_loss"]) > 1e-3 and step["policy/grad_norm"] > 0 for step in said["logged"])


def test_mistakes_are_named_before_the_first_step(venv: TrainerVenv, tmp_path: Path) -> None:
    said = venv.run("skyrl_scripts/refusals.py", within_s=600, cwd=tmp_path)
    assert said["fits"] is None and said["stale"] == 9
    for name, expected in {
        "plain": "generator.step_wise_trajectories: false",
        "merged": "generator.merge_stepwise_output: true",
        "alone": "generator.n_samples_per_prompt: 1",
        "critic": "trainer.algorithm.advantage_estimator: reinforce++",
        "filtered": "trainer.algorithm.dynamic_sampling.type: filter",
        "colocated": "trainer.placement.colocate_all: true",
        "asynchronous": "trainer.fully_async.enabled: true",
        "scraped": "generator.inference_engine.enable_ray_prometheus_stats: true",
        "tokenizer": "its tokenizer differs from the trainer's",
        "temperature": "tokens of 1-0 were drawn at 1.0, but the trainer's temperature is 0.7",
        "nothing": "step 1: the batch has no trainable token: 8 of 8 episodes failed",
        "short": "step 1: the batch has no trainable token",
        "json": "row 0 of the dataset: task: it is no JSON",
        "some": "row 1 of the dataset: task: it is no object",
    }.items():
        assert said[name] is not None and expected in said[name], (name, said[name])
    assert "'too_long': 9" in said["short"]
