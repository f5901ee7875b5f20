"""Scores a group together: what is done again when a judge fails, or the replay of one of its episodes diverges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from ray_gym import Environment, Episode, Message, Opening, Task
from ray_gym.config.sections import GroupsSection, LimitsSection, ParticipantSection
from ray_gym.episode.participant import Participant
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.episode.stage import Stage
from ray_gym.graders import Judge
from ray_gym.journal.history import History
from ray_gym.journal.records import Called
from ray_gym.models import stored as answers
from ray_gym.models.base import Completion, CompletionRequest
from ray_gym.play.play import Played
from ray_gym.run.worker.player import LeasePlayer


class Judged(Environment[Task, None]):
    """Scores each episode by its judge, one after the other, with a verdict; and has one that was found in the play."""

    auxiliary = ("judge",)

    def setup(self, task: Task, episode: Episode) -> None:
        return None

    def opening(self, task: Task, state: None) -> Opening:
        return Opening()

    async def run(self, episode: Episode) -> None:
        episode.record_verdict("opening", 0.5, "in the play")

    async def score_group(self, episodes: Sequence[Episode]) -> list[float]:
        judge = Judge("Is it?", {"yes": 1.0, "no": 0.0}, retries=0)
        return [(await judge.verdict(episode)).value for episode in episodes]


@dataclass
class Says:
    """Gives its answers in order, and then yes."""

    answers: list[str]
    asked: int = 0

    async def complete(self, request: CompletionRequest) -> Completion:
        self.asked += 1
        return Completion(Message("assistant", self.answers.pop(0) if self.answers else "yes"))

    async def close(self) -> None:
        return None


def player(*said: str, **retries: int) -> LeasePlayer:
    limits = LimitsSection(retries=retries, episode_deadline_s=0.5)  # type: ignore[arg-type]
    names = (*Judged.participants, *Judged.auxiliary)
    cast = {name: Participant.from_config(name, ParticipantSection(model="m"), limits) for name in names}
    return LeasePlayer(Stage(Judged(), cast, {"m": Says(list(said))}, limits), GroupsSection(minimum=1), None, None)


def recorded(thread: str, request: bytes = b"another") -> History:
    """Returns the history of an episode that asked something else when it was played first."""
    answer = answers.store(Completion(Message("assistant", "no")))
    return History(started_at=1.0, calls=[Called("e", 0, 0, 0, 0, thread, 0, request, 0.0, 0.0, 0.0, answer)])


async def scored(one: LeasePlayer, size: int, **histories: History) -> list[Played]:
    specs = [EpisodeSpec(f"e{number}", "g", "t", number, number, "{}") for number in range(size)]
    played = [await one._tries(spec, histories.get(spec.episode_id, History())) for spec in specs]
    return await one.close_group(played)


def found(played: Played) -> list[tuple[float | None, str]]:
    return [(event.reward, event.content) for event in played.episode.events if event.kind in ("verdict", "note")]


IN_PLAY = (0.5, "opening: in the play")
YES = (1.0, "Judge: judge said yes")


async def test_only_the_verdicts_of_the_last_scoring_count() -> None:
    first, second = await scored(player("no", "hm", judge=1), 2)
    assert [one.score.reward for one in (first, second) if one.score] == [1, 1]
    why = (None, "the group is scored again: no clear label (yes, no) in 1 answers; the last: 'hm'")
    assert found(first) == [IN_PLAY, (None, "does not count: Judge: judge said no (0)"), why, YES]
    assert found(second) == [IN_PLAY, why, YES]


async def test_a_judge_that_fails_too_often_fails_the_group() -> None:
    one = player("no", "hm", "no", "hm", judge=1)
    played = await scored(one, 2)
    assert [member.failure.kind.value for member in played if member.failure] == ["judge"] * 2


@pytest.mark.parametrize("thread", ["judge/1", "judge/2"])
async def test_one_whose_replay_diverged_is_played_again_and_scored_with_the_others(thread: str) -> None:
    """It asks its judge something else than was recorded, or does not ask what was, until nobody waits for that any more."""
    played = await scored(player(nondeterminism=1), 4, e2=recorded(thread))
    assert [(one.status, one.episode.spec.try_) for one in played] == [("completed", int(n == 2)) for n in range(4)]
    assert [one.score.reward for one in played if one.score] == [1] * 4
    assert (None, "the group is scored again: the replay of another of its episodes diverged") in found(played[0])
    assert found(played[0]).count(YES) == 1
    assert list(played[2].causes) == [1] and played[2].causes[1].startswith("nondeterminism: ")


async def test_one_that_may_not_be_played_again_is_left_out_of_the_scoring() -> None:
    played = await scored(player(nondeterminism=0), 3, e0=recorded("judge/1"))
    assert [one.status for one in played] == ["failed", "completed", "completed"]
    failure = played[0].failure
    assert failure is not None and (failure.kind.value, failure.where) == ("environment", "replay")
    assert [one.score.reward for one in played[1:] if one.score] == [1, 1]


async def test_a_failure_of_the_scoring_that_is_not_of_one_replay_is_the_whole_groups() -> None:
    """An error in the scoring fails the whole group, also if one episode was replayed: none is scored alone."""

    class Broken(Judged):
        async def score_group(self, episodes: Sequence[Episode]) -> Any:
            raise LookupError("no such group")

    one = player(nondeterminism=1)
    broken = LeasePlayer(
        Stage(Broken(), one.stage.participants, one.stage.models, one.stage.limits), one.groups, None, None
    )
    played = await scored(broken, 3, e1=recorded("judge/1"))
    assert [member.status for member in played] == ["failed"] * 3
    assert {member.failure.message for member in played if member.failure} == {"LookupError: no such group"}
