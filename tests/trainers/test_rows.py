"""Rows are the trainable samples, with the advantages of their episodes; longer ones are left out whole."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
from handmade import FAILED, handmade_groups, tiny_model

from ray_gym.trainers.rows import Row, rows_of, why_nothing_trains, without_longer


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return [row for group in handmade_groups(tiny_model(), version=3) for row in rows_of(group)]


def test_every_trainable_sample_is_a_row(rows: list[Row]) -> None:
    assert len(rows) == 4 + 1 + 3 + 1, "four episodes and three, and a fork in each group"
    assert FAILED not in {row.episode_id for row in rows}
    assert [(row.episode_id, row.fork_reason) for row in rows if row.fork] == [
        ("0-1", "reasoning_stripped"),
        ("1-1", "reasoning_stripped"),
    ]


def test_arrays_have_an_entry_a_token_and_speak_of_generated_ones(rows: list[Row]) -> None:
    for row in rows:
        drawn = row.loss_mask == 1
        assert len(row.token_ids) == len(row.loss_mask) == len(row.logprobs) == len(row.versions)
        assert row.generated == drawn.sum() and drawn[row.begins_at] and not drawn[: row.begins_at].any()
        assert (row.logprobs[drawn] < 0).all() and (row.logprobs[~drawn] == 0).all()
        assert (row.versions[drawn] == 3).all() and (row.versions[~drawn] == -1).all() and row.version == 3


def test_forks_have_the_advantage_of_their_episode(rows: list[Row]) -> None:
    of = {(row.episode_id, row.fork): row.advantage for row in rows}
    assert of["0-1", 0] == of["0-1", 1] == pytest.approx(0.866, abs=1e-3)
    assert sum(row.advantage for row in rows if row.group == 1 and not row.fork) == pytest.approx(0)


def test_longer_rows_are_left_out_whole_and_counted(rows: list[Row]) -> None:
    lengths = sorted(len(row.token_ids) for row in rows)
    kept, left_out = without_longer(rows, lengths[-3])
    assert left_out == sum(length > lengths[-3] for length in lengths) > 0
    assert [row for row in rows if row in kept] == kept and max(len(row.token_ids) for row in kept) == lengths[-3]
    assert without_longer(rows, None) == (rows, 0)


def test_samples_that_are_too_long_are_not_said_to_have_no_tokens() -> None:
    said = why_nothing_trains(handmade_groups(tiny_model()))
    assert said.startswith("1 of 8 episodes failed")
    assert said.endswith("; 7 were completed with samples that are longer than the trainer takes")
