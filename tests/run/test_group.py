"""Checks what becomes of groups that lost members."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from ray_gym import Environment, Episode, Message, Opening, Task
from ray_gym.config.sections import GroupsSection, LimitsSection, ParticipantSection
from ray_gym.episode.participant import Participant
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.episode.stage import Stage
from ray_gym.errors import Failure, FailureKind
from ray_gym.models.base import Completion, CompletionRequest
from ray_gym.play.play import Played, bare_episode
from ray_gym.record.rows import row_of
from ray_gym.run.lease import Lease
from ray_gym.run.worker.group import settle, to_play_again
from ray_gym.run.worker.player import LeasePlayer
from ray_gym.score import Score


class Dice(Environment[Task, int]):
    """An episode's score is how far its state is above the group's mean."""

    participants = ("policy", "user")

    def setup(self, task: Task, episode: Episode) -> int:
        return episode.rng("dice").randrange(6)

    def opening(self, task: Task, state: int) -> Opening:
        return Opening(messages={"policy": f"I rolled {state}"})

    async def score_group(self, episodes: Sequence[Episode]) -> list[float]:
        return [one.state - sum(other.state for other in episodes) / len(episodes) for one in episodes]


@dataclass
class Moody:
    """The model says nothing the first `silences` times that it is asked as the user."""

    silences: int
    asked: list[str] = field(default_factory=list)

    async def complete(self, request: CompletionRequest) -> Completion:
        self.asked.append(request.thread)
        if request.thread == "user" and self.silences > 0:
            self.silences -= 1
            return Completion(Message("assistant", ""))
        return Completion(Message("assistant", "hm"))

    async def close(self) -> None:
        return None


def player(silences: int = 0, **rule: Any) -> LeasePlayer:
    limits = LimitsSection(max_turns=2, retries={"user": 0})  # type: ignore[arg-type]
    cast = {name: Participant.from_config(name, ParticipantSection(model="m"), limits) for name in Dice.participants}
    return LeasePlayer(Stage(Dice(), cast, {"m": Moody(silences)}, limits), GroupsSection(**rule), None, None)


SPECS = [EpisodeSpec(f"e{n}", "g", "t", n, n, "{}") for n in range(4)]


def group(*kinds: FailureKind | None) -> list[Played]:
    """Returns episodes that completed (None) or failed by somebody's fault."""
    stage = player().stage
    return [
        Played(bare_episode(spec, stage), "failed", None, Failure(kind, f"{kind} {spec.repeat}", "broken"))
        if kind
        else Played(bare_episode(spec, stage), "completed", Score(1.0), None)
        for spec, kind in zip(SPECS, kinds, strict=False)
    ]


INFRA, USER, JUDGE, OWN, DATA = (FailureKind(kind) for kind in ("infra", "user", "judge", "environment", "data"))


def test_only_who_waits_plays_again_and_only_what_may_come_out_otherwise() -> None:
    members = group(None, INFRA, OWN, USER), group(JUDGE, DATA)
    wait = GroupsSection(incomplete="wait")
    assert [one.episode.spec.repeat for one in to_play_again(members[0], wait)] == [1, 3]
    assert [one.episode.spec.repeat for one in to_play_again(members[1], wait)] == [0]
    for rule in (GroupsSection(incomplete="release"), GroupsSection(incomplete="drop")):
        assert to_play_again(members[0], rule) == []


def test_a_policys_own_fault_is_no_loss() -> None:
    members = group(None, None)
    members[0].failure = Failure(FailureKind.POLICY, "rules", "it cheated")
    settle(members, GroupsSection(incomplete="drop"))
    assert [one.status for one in members] == ["completed"] * 2
    assert to_play_again(members, GroupsSection(incomplete="wait")) == []


@pytest.mark.parametrize("rule", ["wait", "release"])
@pytest.mark.parametrize(("minimum", "statuses"), [(2, ["completed", "completed"]), (3, ["dropped", "dropped"])])
def test_a_smaller_group_is_released_down_to_the_minimum(rule: Any, minimum: int, statuses: list[str]) -> None:
    members = group(None, INFRA, None, OWN)
    settle(members, GroupsSection(incomplete=rule, minimum=minimum))
    assert [members[0].status, members[2].status] == statuses and members[1].status == "failed"
    assert {(one.group_size, one.group_completed) for one in members} == {(4, 2)}


def test_drop_leaves_the_whole_group_out_and_says_why() -> None:
    members = group(None, INFRA, None, OWN)
    settle(members, GroupsSection(incomplete="drop"))
    assert [one.status for one in members] == ["dropped", "failed", "dropped", "failed"]
    why = "2 of 4 episodes failed, the first in infra 1: broken"
    assert members[0].failure == members[2].failure == Failure(INFRA, "group", why)
    assert members[1].failure is not None and members[1].failure.where == "infra 1", "its own is kept"


def test_a_whole_group_and_a_lost_one_are_left_as_they_are() -> None:
    for kinds in ([None] * 4, [OWN] * 4, [None], [OWN]):
        members = group(*kinds)
        settle(members, GroupsSection(minimum=1))
        assert [one.status for one in members] == ["failed" if kind else "completed" for kind in kinds]


async def played(with_player: LeasePlayer) -> dict[int, dict[str, Any]]:
    """Plays a group, and returns its rows by repeat."""
    over = [await with_player.play(Lease(replace(spec))) for spec in SPECS]
    rows = [row_of(one, "run", "env") for one in await with_player.close_group(over)]
    assert len(rows) == len(SPECS)
    return {row["repeat"]: row for row in rows}


async def test_who_waits_gets_whole_groups_compared_with_each_other() -> None:
    rows = await played(player(silences=2, incomplete="wait"))
    assert [rows[n]["status"] for n in range(4)] == ["completed"] * 4
    assert [rows[n]["try"] for n in range(4)] == [1, 1, 0, 0]
    assert sum(row["reward"] for row in rows.values()) == pytest.approx(0)
    note = next(event["content"][0]["text"] for event in rows[0]["events"] if event["kind"] == "note")
    assert note == "try 1: group: user: it said nothing"


async def test_a_wait_has_its_end() -> None:
    rows = await played(player(silences=1000, incomplete="wait", extra_tries=1))
    assert [(rows[n]["status"], rows[n]["try"]) for n in range(4)] == [("failed", 1)] * 4


async def test_a_group_that_goes_on_without_a_member_is_compared_without_it() -> None:
    rows = await played(player(silences=1))
    assert [rows[n]["status"] for n in range(4)] == ["failed", *["completed"] * 3] and rows[0]["reward"] is None
    assert sum(rows[n]["reward"] for n in (1, 2, 3)) == pytest.approx(0)
    assert all((row["group_size"], row["group_completed"]) == (4, 3) for row in rows.values())


async def test_a_dropped_group_has_no_member_that_counts() -> None:
    rows = await played(player(silences=1, incomplete="drop"))
    assert [rows[n]["status"] for n in range(4)] == ["failed", *["dropped"] * 3]
    assert {rows[n]["failure"]["where"] for n in (1, 2, 3)} == {"group"}
