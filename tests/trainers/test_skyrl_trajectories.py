"""Rows of SkyRL's step-wise batches hold the baseline of a group whatever became of its episodes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
from handmade import END, handmade_rows, handmade_table, tiny_model

from ray_gym.advantages import group_normalised, leave_one_out
from ray_gym.errors import UserError
from ray_gym.stream import Group
from ray_gym.trainers.rows import rows_of
from ray_gym.trainers.skyrl.trajectories import TrajectoryRow, trajectory_rows


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    return handmade_rows(tiny_model(), version=3)


def group_of(rows: list[dict[str, Any]], number: int = 0) -> Group:
    return Group(number, f"g{number}", f"t{number}", 3, handmade_table(rows[4 * number : 4 * number + 4]))


def failed(row: dict[str, Any]) -> dict[str, Any]:
    samples = [{**sample, "trainable": False} for sample in row["samples"]]
    return {**row, "status": "failed", "reward": None, "rewards": [], "samples": samples}


def last_rows(made: list[TrajectoryRow]) -> list[TrajectoryRow]:
    return [row for row in made if row.is_last]


def grpo_of_skyrl(made: list[TrajectoryRow]) -> dict[int, float]:
    """Returns the advantage of each trajectory as SkyRL 0.4.0 computes it of their last rows: a trajectory that is
    alone has its reward.
    """
    scores = np.array([row.reward for row in last_rows(made)])
    mean, spread = (0.0, 1.0) if len(scores) == 1 else (scores.mean(), scores.std(ddof=1))
    return {row.repetition_id: (row.reward - mean) / (spread + 1e-6) for row in last_rows(made)}


def test_all_samples_of_an_episode_are_rows_of_its_trajectory(rows: list[dict[str, Any]]) -> None:
    group = group_of(rows)
    made, counts = trajectory_rows(group, "p", None, END)
    assert [(row.repetition_id, row.is_last) for row in made] == [
        (0, True),
        (1, False),
        (1, True),
        (2, True),
        (3, True),
    ]
    assert counts == {"groups": 1, "episodes": 4, "rows": 5, "forks": 1, "failed": 0, "barren": 0}
    for row, expected in zip(made, rows_of(group), strict=True):
        assert row.prompt_token_ids + row.response_ids == expected.token_ids.tolist()
        assert [0] * len(row.prompt_token_ids) + row.loss_mask == expected.loss_mask.tolist()
        assert [0.0] * len(row.prompt_token_ids) + row.logprobs == expected.logprobs.tolist()
        assert row.loss_mask[0] == 1 and row.prompt_token_ids and row.reward == expected.reward and row.version == 3
        assert (row.instance_id, row.stop_reason) == ("p", "stop")


def test_a_failed_episode_is_left_out_of_the_baseline(rows: list[dict[str, Any]]) -> None:
    group = group_of(rows, 1)
    made, counts = trajectory_rows(group, "p", None, END)
    assert counts["failed"] == 1 and {row.repetition_id for row in made} == {0, 1, 2}
    ours = group_normalised(np.array([1.0, 0.0, 1.0, np.nan]))
    assert grpo_of_skyrl(made) == pytest.approx(dict(enumerate(ours[:3])))


@pytest.mark.parametrize("longest", [0, None])
def test_an_episode_without_a_sample_keeps_its_place_in_the_baseline(
    rows: list[dict[str, Any]], longest: int | None
) -> None:
    silent = {**rows[0], "samples": []} if longest is None else rows[0]
    made, counts = trajectory_rows(group_of([silent, *rows[1:4]]), "p", longest, END)
    [first] = [row for row in made if row.repetition_id == 0]
    assert (first.prompt_token_ids, first.response_ids, first.loss_mask, first.logprobs) == ([END], [END], [0], [0.0])
    assert first.reward == 0.0 and first.version is None
    assert len(last_rows(made)) == 4, "its reward counts"
    expected = {"silent": 1} if longest is None else {"too_long": 5, "barren": 1}
    assert {name: counts[name] for name in expected} == expected


def test_an_episode_that_is_left_alone_has_no_advantage(rows: list[dict[str, Any]]) -> None:
    group = group_of([failed(rows[0]), rows[1], failed(rows[2]), failed(rows[3])])
    made, counts = trajectory_rows(group, "p", None, END)
    assert counts["alone"] == 1 and counts["failed"] == 3 and rows[1]["reward"] == 1.0
    assert len({row.repetition_id for row in made}) == 2
    assert set(grpo_of_skyrl(made).values()) == {0.0}
    evaluated, _ = trajectory_rows(group, "p", None, END, trains=False)
    assert [row.repetition_id for row in last_rows(evaluated)] == [1]


def test_a_group_of_failed_episodes_has_a_row_that_trains_nothing(rows: list[dict[str, Any]]) -> None:
    made, counts = trajectory_rows(group_of([failed(row) for row in rows[:4]]), "p", None, END)
    assert [(row.loss_mask, row.reward, row.is_last) for row in made] == [([0], 0.0, True)]
    assert counts["failed"] == 4 and counts["barren"] == 1 and counts["rows"] == 0


def test_baselines_of_others_are_kept_too(rows: list[dict[str, Any]]) -> None:
    """SkyRL's RLOO takes n/(n-1) of the distance from the mean, of the trajectories that are there."""
    made, _ = trajectory_rows(group_of(rows, 1), "p", None, END)
    scores = np.array([row.reward for row in last_rows(made)])
    theirs = (scores - scores.mean()) * len(scores) / (len(scores) - 1)
    assert theirs == pytest.approx(leave_one_out(np.array([1.0, 0.0, 1.0, np.nan]))[:3])


def test_a_second_trained_participant_is_refused(rows: list[dict[str, Any]]) -> None:
    other = {**rows[0]["samples"][0], "participant": "user"}
    with pytest.raises(UserError, match=r"participants\.user\.trainable: false"):
        trajectory_rows(group_of([{**rows[0], "samples": [other]}, *rows[1:4]]), "p", None, END)


def test_an_answer_that_was_cut_says_so(rows: list[dict[str, Any]]) -> None:
    made, _ = trajectory_rows(group_of([{**rows[0], "stop_reason": "max_tokens"}, *rows[1:4]]), "p", None, END)
    assert [row.stop_reason for row in made] == ["length", "stop", "stop", "stop", "stop"]
