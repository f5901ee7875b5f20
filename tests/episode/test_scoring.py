"""Asks a judge while scoring, and scores groups or each of their episodes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from playing import Alone, ScriptModel, with_tokens

from ray_gym import Episode, Opening, Options, Participant, Task, Turn
from ray_gym.config.sections import LimitsSection
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.episode.stage import Stage
from ray_gym.errors import EpisodeFailure, FailureKind
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


class Blaming(Alone):
    """Blaming raises a failure of the policy in one of its hooks."""

    def __init__(self, hook: str, together: bool = False) -> None:
        super().__init__()
        self.hook, self.together = hook, together

    def scores_groups(self) -> bool:
        return self.together

    def _may_blame(self, hook: str) -> None:
        if hook == self.hook:
            raise EpisodeFailure(FailureKind.POLICY, "policy", "it cheated")

    def setup(self, task: Task, episode: Episode) -> None:
        self._may_blame("setup")

    def opening(self, task: Task, state: None) -> Opening:
        self._may_blame("opening")
        return Opening(messages={"policy": "Play."})

    def next_speaker(self, state: None, episode: Episode, turn: Turn) -> str | None:
        self._may_blame("next_speaker")
        return None

    def score(self, state: Any, episode: Episode) -> float:
        self._may_blame("score")
        return 0.5

    async def score_group(self, episodes: Sequence[Episode]) -> list[float]:
        self._may_blame("score_group")
        return [0.5 for _ in episodes]


@pytest.mark.parametrize("hook", ["score", "score_group", "setup", "opening"])
async def test_a_failure_of_the_policys_where_it_does_not_play_is_the_environments(hook: str) -> None:
    one, stage = await played(Blaming(hook, together=hook == "score_group"))
    failure = await score_group([one], stage) if hook == "score_group" else one.failure
    assert failure is not None and failure.kind == FailureKind.ENVIRONMENT and one.score is None
    assert failure.where.startswith(f"Blaming.{hook} (test_scoring.py:")
    instead = "return the reward" if hook.startswith("score") else "the policy has not played yet: raise it in `run`"
    assert "it cheated" in failure.message and instead in failure.message


async def test_a_failure_of_the_policys_where_it_plays_is_scored() -> None:
    one, _ = await played(Blaming("next_speaker"))
    assert one.status == "completed", one.failure
    assert one.score is not None and one.score.reward == 0.5
    assert one.failure is not None and one.failure.kind == FailureKind.POLICY
