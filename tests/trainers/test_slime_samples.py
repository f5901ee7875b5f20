"""Samples of slime hold all forks of an episode, and a place for each that failed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch")
from handmade import END, handmade_groups, handmade_rows, handmade_table, tiny_model

from ray_gym.stream import Group
from ray_gym.trainers.rows import rows_of
from ray_gym.trainers.slime.samples import advantages_of, samples_of


@pytest.fixture(scope="module")
def groups() -> list[Any]:
    return handmade_groups(tiny_model(), version=3)


def test_an_episode_has_all_of_its_samples_and_their_advantages(groups: list[Any]) -> None:
    made, counts = samples_of(groups[0], None, END)
    assert [len(samples) for samples in made] == [1, 2, 1, 1]
    assert counts == {"groups": 1, "episodes": 4, "rows": 5, "forks": 1, "barren": 0}
    flat, rows = [sample for samples in made for sample in samples], rows_of(groups[0])
    assert advantages_of([SimpleNamespace(**sample) for sample in flat]) == [row.advantage for row in rows]
    for sample, row in zip(flat, rows, strict=True):
        prompt = len(sample["tokens"]) - sample["response_length"]
        assert prompt > 0 and sample["tokens"] == row.token_ids.tolist()
        assert [0] * prompt + sample["loss_mask"] == row.loss_mask.tolist() and sample["loss_mask"][0] == 1
        assert [0.0] * prompt + sample["rollout_log_probs"] == row.logprobs.tolist()
        assert (sample["reward"], sample["weight_versions"], sample["status"]) == (row.reward, ["3"], "completed")


def test_a_failed_episode_has_a_sample_that_trains_nothing(groups: list[Any]) -> None:
    made, counts = samples_of(groups[1], None, END)
    [sample] = made[3]
    assert counts["failed"] == 1 and sample["status"] == "failed" and sample["remove_sample"]
    assert (sample["tokens"], sample["response_length"], sample["loss_mask"]) == ([END, END], 1, [0])
    assert sample["reward"] == pytest.approx(2 / 3), "the mean of the others"
    assert advantages_of([SimpleNamespace(**sample)]) == [0.0]


def test_samples_that_are_too_long_are_left_out_whole(groups: list[Any]) -> None:
    longest = max(len(row.token_ids) for row in rows_of(groups[0]))
    made, counts = samples_of(groups[0], longest - 1, END)
    assert counts["too_long"] == 1 and counts["rows"] == 4
    assert all(len(sample["tokens"]) < longest for samples in made for sample in samples)
    assert all(made), "each episode keeps its place in the step"
    _, counts = samples_of(groups[0], 0, END)
    assert counts["too_long"] == 5 and counts["barren"] == 1


def test_ends_of_episodes_are_told(groups: list[Any]) -> None:
    rows = handmade_rows(tiny_model())[:4]
    rows[0]["stop_reason"] = "max_tokens"
    rows[2]["samples"] = []
    made, counts = samples_of(Group(0, "g0", "t0", 0, handmade_table(rows)), None, END)
    assert [samples[0]["status"] for samples in made] == ["truncated", "completed", "completed", "completed"]
    assert counts["silent"] == 1 and made[2][0]["loss_mask"] == [0] and made[2][0]["reward"] == rows[2]["reward"]
