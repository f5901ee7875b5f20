"""Checks what a trainer may ask for, and what is refused before anything starts."""

from __future__ import annotations

from typing import Any

import pytest

from ray_gym.config.sections import RunConfig
from ray_gym.errors import UserError
from ray_gym.models.versions import Versions
from ray_gym.stream.group import FinishedGroup
from ray_gym.stream.options import StreamOptions


def config_of(**changes: Any) -> RunConfig:
    return RunConfig.model_validate(
        {
            "run": {"name": "s"},
            "environment": {"id": "tic_tac_toe"},
            "tasks": {"generate": 8, "repeats": 4},
            "models": {"m": {"engine": "scripted"}},
            "participants": {"policy": {"model": "m"}},
            "fanout": {"concurrency": 10},
            **changes,
        }
    )


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"max_staleness": -1}, "max_staleness: -1"),
        ({"epochs": 0}, "epochs: 0"),
        ({"wait_s": -1}, "wait_s: -1"),
        ({"min_group_size": 5}, r"min_group_size: 5, but a group has tasks\.repeats \(4\)"),
        ({"stale": "keep", "max_staleness": 1}, "stale: 'keep', but it is drop or withhold"),
        ({"stale": "withhold"}, "stale: tokens are withheld beyond max_staleness"),
        ({"max_barren_groups": 0}, "max_barren_groups: 0"),
        ({"max_staleness": 1.5}, r"max_staleness: 1\.5, but it is a whole number"),
        ({"max_staleness": True}, "max_staleness: True, but it is a whole number"),
        ({"max_staleness": "1"}, "max_staleness: '1', but it is a whole number"),
        ({"world_size": 2.5}, r"world_size: 2\.5, but it is a whole number"),
        ({"wait_s": float("nan")}, "wait_s: nan, but it is at least 0"),
        ({"groups_per_version": 4}, "groups_per_version: it bounds staleness, so max_staleness"),
        ({"max_staleness": 0, "groups_per_version": 4, "max_open_groups": 3}, "max_open_groups: 3, but a trainer"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, Any], told: str) -> None:
    with pytest.raises(UserError, match=told):
        StreamOptions(**options).check(config_of())


def test_configs_that_no_stream_can_play() -> None:
    with pytest.raises(UserError, match=r"run\.name: a stream needs one"):
        StreamOptions().check(config_of(run={}))
    with pytest.raises(UserError, match=r"limits\.max_failed: a stream has no last episode"):
        StreamOptions().check(config_of(limits={"max_failed": 0.1}))
    with pytest.raises(UserError, match=r"limits\.max_cost: only a run"):
        StreamOptions().check(config_of(limits={"max_cost": 5}))


def test_bounds() -> None:
    assert StreamOptions().window(config_of()).max_open == 6, "twice ten episodes in groups of four"
    bounded = StreamOptions(max_staleness=2, groups_per_version=8).window(config_of())
    assert bounded.max_open == 16 and bounded.max_ahead == 24


@pytest.mark.parametrize("spread", ["drop", "replace"])
def test_groups_of_one_that_all_would_be_left_out(spread: str) -> None:
    alone = {"tasks": {"generate": 8, "repeats": 1}}
    with pytest.raises(UserError, match=r"tasks\.repeats: 1, and a group of one episode has no spread"):
        StreamOptions().check(config_of(**alone, groups={"spread": spread}))
    StreamOptions().check(config_of(**alone))


@pytest.mark.parametrize(
    ("stale", "newest", "too_old"),
    [("withhold", 4, False), ("withhold", 2, True), ("drop", 4, True), ("drop", 2, True)],
)
def test_groups_without_a_token_that_may_train(stale: Any, newest: int, too_old: bool) -> None:
    """Its oldest token is of version 2, and the weights are at 5, of which tokens may be one behind."""
    group = FinishedGroup(0, "0-x", "t", 1, "part-1", 0, 2, 2, 2, 2, versions={"m": 2}, newest={"m": newest})
    options = StreamOptions(max_staleness=1, stale=stale)
    assert options.is_too_old(group, Versions(5)) is too_old
    assert not options.is_too_old(group, Versions(3)) and not StreamOptions().is_too_old(group, Versions(5))
