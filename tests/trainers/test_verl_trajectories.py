"""Checks the trajectories that verl gets of a group, its settings and checkpoints: all that needs nothing of verl."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
from handmade import END, FAILED, REPEATS, handmade_groups, handmade_rows, handmade_table, tiny_model

from ray_gym.advantages import group_normalised
from ray_gym.errors import UserError
from ray_gym.stream import Group
from ray_gym.trainers.rows import rows_of
from ray_gym.trainers.verl import TESTED
from ray_gym.trainers.verl.checkpoint import CURSOR, WEIGHTS, opening, save_cursor
from ray_gym.trainers.verl.settings import settings_of
from ray_gym.trainers.verl.trajectories import Trajectory, trajectories_of


def made_of(group: Group, longest: int | None = None, **options: Any) -> tuple[list[Trajectory], dict[str, int]]:
    made, counts = trajectories_of(group, "uid", longest=longest, end=END, **options)
    return made, {name: count for name, count in counts.items() if count}


def changed(**fields: Any) -> Group:
    """Returns the first group by hand, with fields of its first episode changed."""
    rows = [row for row in handmade_rows(tiny_model()) if row["group_id"] == "g0"]
    rows[0] = {**rows[0], **fields}
    return Group(0, "g0", "t0", 0, handmade_table(rows))


def test_episodes_are_sessions_and_their_samples_outputs() -> None:
    group = handmade_groups(tiny_model(), version=5)[0]
    made, counts = made_of(group)
    assert [one.key for one in made] == ["uid_0_0", "uid_1_0", "uid_1_1", "uid_2_0", "uid_3_0"]
    assert counts == {"episodes": REPEATS, "forks": 1}
    for one, row in zip(made, rows_of(group), strict=True):
        assert one.prompt_ids + one.response_ids == row.token_ids.tolist()
        assert [0] * len(one.prompt_ids) + one.response_mask == row.loss_mask.tolist() and one.response_mask[0] == 1
        assert [0.0] * len(one.prompt_ids) + one.logprobs == row.logprobs.tolist()
        assert (one.uid, one.reward, one.oldest, one.newest) == ("uid", row.reward, 5, 5)
        assert one.generated == row.generated and one.turns >= 1


def test_turns_are_runs_of_generated_tokens_and_versions_a_range() -> None:
    rows = [row for row in handmade_rows(tiny_model()) if row["group_id"] == "g0"]
    sample = next(sample for row in rows for sample in row["samples"] if len(sample["versions"]) == 3)
    for number, span in enumerate(sample["versions"]):
        span["version"] = 4 + number
    made, _ = made_of(Group(0, "g0", "t0", 4, handmade_table(rows)))
    [one] = [one for one in made if one.newest == 6]
    assert (one.turns, one.oldest) == (3, 4)


def test_a_failed_episode_is_no_session() -> None:
    made, counts = made_of(handmade_groups(tiny_model())[1])
    assert counts == {"episodes": REPEATS, "failed": 1, "forks": 1}
    assert FAILED not in {one.episode_id for one in made} and "uid_3_0" not in {one.key for one in made}


def test_a_silent_episode_counts_in_the_baseline_by_a_masked_token() -> None:
    made, counts = made_of(changed(samples=[]))
    assert counts == {"episodes": REPEATS, "forks": 1, "silent": 1}
    [one] = [one for one in made if not one.generated]
    assert (one.key, one.prompt_ids, one.response_ids, one.response_mask) == ("uid_0_0", [END], [END], [0])
    assert one.reward == 0.0


def test_samples_that_are_too_long_are_left_out_whole_and_counted() -> None:
    group = handmade_groups(tiny_model())[0]
    lengths = sorted(len(row.token_ids) for row in rows_of(group))
    made, counts = made_of(group, longest=lengths[-1] - 1)
    assert counts["too_long"] == lengths.count(lengths[-1]) and "silent" not in counts
    assert sum(one.generated == 0 for one in made) <= counts["too_long"]
    assert {one.key.split("_")[1] for one in made} == {"0", "1", "2", "3"}, "each episode still counts in the baseline"


def test_an_episode_that_is_alone_with_its_reward_trains_nothing() -> None:
    """verl takes the reward itself as the advantage of a session that is alone; ours is 0."""
    rows = [row for row in handmade_rows(tiny_model()) if row["group_id"] == "g0"]
    failed = {"status": "failed", "reward": None, "rewards": []}
    table = handmade_table([rows[0], *({**row, **failed} for row in rows[1:])])
    made, counts = made_of(Group(0, "g0", "t0", 0, table))
    assert counts == {"episodes": REPEATS, "failed": 3, "alone": 1}
    assert [one.generated for one in made] == [0]


def test_a_group_without_any_reward_is_one_masked_token() -> None:
    rows = [row for row in handmade_rows(tiny_model()) if row["group_id"] == "g0"]
    failed = {"status": "failed", "reward": None, "rewards": []}
    made, counts = made_of(Group(0, "g0", "t0", None, handmade_table([{**row, **failed} for row in rows])))
    assert counts == {"episodes": REPEATS, "failed": REPEATS} and [one.key for one in made] == ["uid_0_0"]
    assert made[0].response_mask == [0]


def test_each_trained_participant_is_compared_with_itself() -> None:
    rows = [row for row in handmade_rows(tiny_model()) if row["group_id"] == "g0"]
    for row, worth in zip(rows, (5.0, 6.0, 7.0, 9.0), strict=True):
        row["samples"] = row["samples"][:1]
        row["samples"].append({**row["samples"][0], "participant": "user", "thread": "user", "reward": worth})
        row["rewards"].append({"participant": "user", "name": "reward", "value": worth})
    group = Group(0, "g0", "t0", 0, handmade_table(rows))
    made, _ = made_of(group)
    assert {one.uid for one in made} == {"uid.policy", "uid.user"} and len({one.key for one in made}) == 8
    rewards = [one.reward for one in made if one.uid == "uid.user"]
    assert rewards == [5, 6, 7, 9]
    theirs = [row.advantage for row in rows_of(group) if row.participant == "user"]
    assert theirs == pytest.approx(group_normalised(np.array(rewards)).tolist())


def test_uids_with_an_underscore_and_forks_without_grpo_are_refused() -> None:
    group = handmade_groups(tiny_model())[0]
    with pytest.raises(UserError, match="first underscore"):
        trajectories_of(group, "a_b", longest=None, end=END)
    with pytest.raises(UserError, match="group 0: 1 samples are forks"):
        made_of(group, forks=False)


def verl_config(**changes: Any) -> dict[str, Any]:
    """Returns what the bridge reads of verl's config. `changes`: values by paths with `__` for dots."""
    config: dict[str, Any] = {
        "actor_rollout_ref": {
            "model": {"lora": {"rank": 0, "merge": False}},
            "actor": {"checkpoint": {"save_contents": ["model", "optimizer", "extra"]}},
            "rollout": {"nnodes": 1, "checkpoint_engine": {"backend": "ray_gym"}},
        },
        "reward": {"reward_model": {"enable": False}},
        "trainer": {
            "val_before_train": False,
            "test_freq": -1,
            "save_freq": -1,
            "v1": {"ray_gym": {"config": "letters.yaml", "any_version": True}},
        },
    }
    for path, value in changes.items():
        *folders, name = path.split("__")
        section = config
        for folder in folders:
            section = section[folder]
        section[name] = value
    return config


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has the check of verl's version find the one that was tested, since verl is not installed here."""
    monkeypatch.setattr("ray_gym.trainers.compatibility.version", lambda package: TESTED[-1])


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"trainer__v1__ray_gym": None}, "trainer.v1.ray_gym.config: Field required"),
        ({"trainer__v1__ray_gym": {"config": "a", "stale": 1}}, "trainer.v1.ray_gym.stale: Extra inputs"),
        ({"trainer__val_before_train": True}, "validation: .*trainer.val_before_train=false"),
        ({"trainer__test_freq": 5}, "trainer.test_freq=-1"),
        ({"actor_rollout_ref__rollout__checkpoint_engine__backend": "naive"}, "checkpoint_engine.backend: naive"),
        ({"actor_rollout_ref__rollout__nnodes": 0}, "rollout.nnodes"),
        ({"actor_rollout_ref__model__lora_rank": 8}, "lora: adapters are not pushed"),
        ({"trainer__save_freq": 5}, "save_contents: .*add hf_model"),
        ({"reward__reward_model__enable": True}, "reward_model.enable"),
    ],
)
def test_configs_that_do_not_fit_are_refused(change: dict[str, Any], said: str) -> None:
    assert settings_of(verl_config()).max_staleness == 1
    with pytest.raises(UserError, match=said):
        settings_of(verl_config(**change))


def test_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ray_gym.trainers.compatibility.version", lambda package: "0.8.0")
    with pytest.raises(UserError, match=r"verl: version 0\.8\.0 is installed, .* 0\.9\.1"):
        settings_of(verl_config(trainer__v1__ray_gym={"config": "letters.yaml"}))


def test_a_stream_continues_from_a_checkpoint_with_its_weights(tmp_path: Path) -> None:
    assert opening(None, "policy", 0) == ([], None)
    folder = tmp_path / "global_step_4"
    with pytest.raises(UserError, match="no readable ray_gym_cursor"):
        opening(folder, "policy", 4)
    save_cursor(folder, {"next": 12})
    assert json.loads((folder / CURSOR).read_text()) == {"next": 12}
    with pytest.raises(UserError, match=r"hf_model in .*save_contents"):
        opening(folder, "policy", 4)
    (folder / WEIGHTS).mkdir(parents=True)
    (folder / WEIGHTS / "model.safetensors").touch()
    overrides, cursor = opening(folder, "policy", 4)
    assert overrides == [f"models.policy.model={folder / WEIGHTS}", "models.policy.weights_version=4"]
    assert cursor == {"next": 12}
