"""Checks which episodes of a group with surplus make the group."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from playing import play_script

from ray_gym import Environment, Episode, Opening, Task
from ray_gym.config.sections import GroupsSection
from ray_gym.errors import Failure, FailureKind
from ray_gym.play.play import Played
from ray_gym.run.worker.gathering import Gathering, cut_off
from ray_gym.run.worker.group import settle, to_play_again


class Talk(Environment[Task, None]):
    def setup(self, task: Task, episode: Episode) -> None: ...

    def opening(self, task: Task, state: None) -> Opening:
        return Opening(messages={"policy": "Well?"})

    def finished(self, state: None, episode: Episode) -> str | None:
        return "said"

    def score(self, state: None, episode: Episode) -> float:
        return 1.0


@pytest.fixture
def played() -> Any:
    def make(status: str = "completed") -> Played:
        one = asyncio.run(play_script(Talk(), ["It is."])).played
        one.status = status
        if status == "failed":
            one.failure = Failure(FailureKind.INFRA, "model", "gone")
        return one

    return make


def statuses(gathering: Gathering) -> list[str]:
    return [one.status for one in gathering.played]


def test_without_surplus_a_group_waits_for_all(played: Any) -> None:
    gathering = Gathering(2)
    gathering.add(played())
    gathering.add(played())
    assert not gathering.is_complete and statuses(gathering) == ["completed", "completed"]


def test_failed_ones_don_t_count_and_late_ones_are_surplus(played: Any) -> None:
    gathering = Gathering(5, extra=3)
    for status in ("failed", "completed", "completed", "completed", "failed"):
        gathering.add(played(status))
    assert gathering.is_complete
    assert statuses(gathering) == ["failed", "completed", "completed", "cancelled", "failed"]
    late = gathering.played[3]
    assert late.score is None and late.episode.stop.reason == "finished", "it was played to its end"
    rule = GroupsSection(extra=3, incomplete="drop")
    settle(gathering.played, rule)
    assert statuses(gathering).count("completed") == 2, "the group is whole, whatever failed"
    assert {(one.group_size, one.group_completed) for one in gathering.played} == {(2, 2)}
    assert not to_play_again(gathering.played, GroupsSection(extra=3, incomplete="wait"))


def test_a_group_that_misses_one_is_incomplete_as_ever(played: Any) -> None:
    gathering = Gathering(3, extra=1)
    for status in ("failed", "failed", "completed"):
        gathering.add(played(status))
    assert not gathering.is_complete
    assert len(to_play_again(gathering.played, GroupsSection(extra=1, incomplete="wait"))) == 2
    settle(gathering.played, GroupsSection(extra=1, incomplete="drop"))
    assert statuses(gathering) == ["failed", "failed", "dropped"]


def test_what_was_said_in_a_cut_off_episode_is_kept(played: Any) -> None:
    episode = played().episode
    episode.stop = None
    cut = cut_off(episode)
    assert cut.status == "cancelled" and cut.score is None and cut.episode.stop.reason == "surplus"
    assert [event.content for event in cut.episode.events] == ["Well?", "said"], "the opening, and the note of its end"
