"""Checks that a stream of groups that nobody can train on ends, and says why."""

from __future__ import annotations

from typing import Any

import pytest

from ray_gym.errors import RunFailed
from ray_gym.stream.group import FinishedGroup
from ray_gym.stream.streaks import Streaks


def group(**fields: Any) -> FinishedGroup:
    made = {"completed": 2, "version": 0, "trainable": 2, "mean_reward": 0.25, **fields}
    return FinishedGroup(0, "0-x", "t", 1, "part-1", 0, 2, **made)


BARREN = group(completed=0, trainable=0, failure="environment in score: it broke")


def test_groups_without_a_trainable_sample_in_a_row_end_it() -> None:
    streaks = Streaks(max_barren=2, max_flat=None, gives_tokens=True)
    for one in (BARREN, BARREN, group(), BARREN, BARREN):
        streaks.note(one, is_left_out=False)
    with pytest.raises(
        RunFailed, match=r"3 groups in a row .*max_barren_groups.*most often: environment in score: it broke"
    ):
        streaks.note(BARREN, is_left_out=False)


def test_without_failures_it_says_that_nothing_was_generated() -> None:
    streaks = Streaks(max_barren=1, max_flat=None, gives_tokens=True)
    streaks.note(group(trainable=0), is_left_out=False)
    with pytest.raises(RunFailed, match="completed without a generated token"):
        streaks.note(group(trainable=0), is_left_out=False)


def test_models_without_token_ids_have_no_samples_and_are_not_barren() -> None:
    streaks = Streaks(max_barren=1, max_flat=None, gives_tokens=False)
    for _ in range(5):
        streaks.note(group(trainable=0), is_left_out=False)
    streaks.note(BARREN, is_left_out=False)
    with pytest.raises(RunFailed):
        streaks.note(BARREN, is_left_out=False)


def test_groups_without_spread_in_a_row_end_it() -> None:
    streaks = Streaks(max_barren=None, max_flat=1, gives_tokens=True)
    streaks.note(group(), is_left_out=True)
    streaks.note(BARREN, is_left_out=False)
    with pytest.raises(RunFailed, match=r"2 groups in a row had no spread .*in the last one 0\.25"):
        streaks.note(group(), is_left_out=True)
    streaks = Streaks(max_barren=None, max_flat=1, gives_tokens=True)
    for _ in range(5):
        streaks.note(group(), is_left_out=True)
        streaks.note(group(), is_left_out=False)


def test_groups_that_are_all_too_old_end_it_once_no_open_one_is_left() -> None:
    streaks = Streaks(max_barren=2, max_flat=None, gives_tokens=True, max_open=3)
    for is_too_old in (True, True, False, *[True] * 5):
        streaks.note(group(), is_left_out=False, is_too_old=is_too_old)
    with pytest.raises(RunFailed, match=r"6 groups in a row had no token .*max_staleness.*version 4 \(policy\)"):
        streaks.note(group(newest={"policy": 4}), is_left_out=False, is_too_old=True)
