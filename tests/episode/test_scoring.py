"""Asks a judge while scoring, and scores groups or each of their episodes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from playing import Alone, ScriptModel, with_tokens

from ray_gym import Episode, Options, Participant, Task
from ray_gym.config.sections import LimitsSection
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.episode.stage import Stage
from ray_gym.models.base import Completion, CompletionRequest, FinishReason, Sampling
from ray_gym.play.play import Played, play, score_group

LIMITS = LimitsSection()


async def played(environment: Alone, *judge: Any, limits: LimitsSection = LIMITS) -> tuple[Played, Stage]:
    names = (*environment.participants, *environment.auxiliary)
    participants = {name: Participant(name, name, Sampling(), False, 1, 1) for name in names}
    models = {"policy": ScriptModel(["hello"]), "judge": ScriptModel(list(judge))}
    stage = Stage(environment, participants, models, limits)
    return await play(EpisodeSpec("episode", "group", "task", 0, 0, Task().model_dump_json()), stage), stage


class Judged(Alone):
    auxiliary = ("judge",)

    def __init__(self, may_be_cut: bool) -> None:
        super().__init__()
        self.may_be_cut = may_be_cut

    async def score(self, state: Any, episode: Episode) -> float:
        answer = await episode.ask("judge", "How long is it?", may_be_cut=self.may_be_cut)
        return float(len(answer.content))


@pytest.mark.parametrize("reason", ["length", "context_full"])
async def test_a_judges_answer_that_was_cut_is_its_failure_unless_it_may_be(reason: FinishReason) -> None:
    one, _ = await played(Judged(may_be_cut=False), with_tokens("four", [8], [9], reason))
    assert one.score is None and one.failure is not None
    assert (one.failure.kind.value, one.failure.message) == ("judge", f"its answer was cut ({reason})")
    one, _ = await played(Judged(may_be_cut=True), with_tokens("four", [8], [9], reason))
    assert one.failure is None and one.score is not None and one.score.reward == 4


class Either(Alone):
    """An option says who scores."""

    class Options(Options):
        together: bool

    def scores_groups(self) -> bool:
        return bool(self.options.together)

    def score(self, state: Any, episode: Episode) -> float:
        return 1.0

    async def score_group(self, episodes: Sequence[Episode]) -> list[float]:
        return [2.0 for _ in episodes]


async def test_an_option_may_decide_whether_groups_are_scored() -> None:
    alone, _ = await played(Either(Either.Options(together=False)))
    assert alone.score is not None and alone.score.reward == 1
    together, stage = await played(Either(Either.Options(together=True)))
    assert together.status == "completed" and together.score is None
    assert await score_group([together], stage) is None
    assert together.score is not None and together.score.reward == 2  # type: ignore[unreachable]


class Compared(Alone):
    """The judge is asked by the last episode of a group."""

    auxiliary = ("judge",)

    async def score_group(self, episodes: Sequence[Episode]) -> list[float]:
        await episodes[-1].ask("judge", "Which is better?")
        return [1.0 for _ in episodes]


async def test_a_group_that_waits_for_a_judge_too_long_fails_by_the_judges_fault_whoever_asked() -> None:
    async def never(request: CompletionRequest) -> Completion:
        return await asyncio.Event().wait()  # type: ignore[return-value]

    first, stage = await played(Compared(), limits=LimitsSection(score_deadline_s=0.05))
    second, _ = await played(Compared(), never)
    failure = await score_group([first, second], stage)
    assert failure is not None and (failure.kind.value, failure.where) == ("judge", "judge")
    assert failure.message == "no result within score_deadline_s (0.05 s)"
