"""Checks what a replay may not change: charges, effects, and when an episode's time is up."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from replayed import Plain, attempt, cut, words

from ray_gym import Environment, Episode, Message, Opening, Task
from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.journal.history import fence
from ray_gym.journal.journal import Journal
from ray_gym.models.base import CompletionRequest


class Paying(Plain):
    """Makes a payment that must not be made twice, after some talk, beside a second thread."""

    paid: list[str]

    async def run(self, episode: Episode) -> None:
        async def pay(key: str) -> str:
            self.paid.append(key)
            return "paid"

        await episode.turn("policy")
        thread = episode.open_thread("policy")
        episode.tell(thread, "think")
        await asyncio.gather(episode.effect("pay", pay, when_lost="fail"), episode.reply(thread))


async def test_an_effect_that_may_have_been_made_is_not_made_in_another_try(tmp_path: Path) -> None:
    environment = Paying()
    environment.paid = []
    first = await attempt(tmp_path, environment, words)
    assert first.played.status == "completed" and len(environment.paid) == 1
    before_effect = [record.thread for record in first.answered].index("effect pay")
    again = await attempt(tmp_path, environment, words, [cut(first, before_effect)])
    assert again.played.failure is not None and again.played.failure.kind == "infra"
    assert len(environment.paid) == 1 and again.played.episode.spec.try_ == 0


async def test_infrastructure_that_breaks_in_a_replay_is_no_nondeterminism(tmp_path: Path) -> None:
    def broken(request: CompletionRequest, rng: random.Random) -> Message:
        raise EpisodeFailure(FailureKind.INFRA, "model", "gone", retry=False)

    first = await attempt(tmp_path, Plain(), words)
    again = await attempt(tmp_path, Plain(), broken, [cut(first, 3)])
    assert again.played.failure is not None and again.played.failure.kind == "infra"
    assert again.played.episode.spec.try_ == 0


async def test_the_time_of_the_opening_is_the_same(tmp_path: Path) -> None:
    class Timed(Plain):
        def setup(self, task: Task, episode: Episode) -> dict[str, Any]:
            return {**super().setup(task, episode), "now": episode.now()}

        def opening(self, task: Task, state: dict[str, Any]) -> Opening:
            return Opening(messages={"policy": f"it is {state['now']}"})

    first = await attempt(tmp_path, Timed(), words)
    again = await attempt(tmp_path, Timed(), words, [cut(first, 2)])
    assert again.played.causes == {} and again.row == first.row


async def test_a_replay_is_not_ended_by_a_deadline_that_became_shorter(tmp_path: Path) -> None:
    class Slow(Plain):
        async def run(self, episode: Episode) -> None:
            await asyncio.sleep(0.05)
            await super().run(episode)

    first = await attempt(tmp_path, Slow(), words)
    again = await attempt(tmp_path, Slow(), words, [cut(first, 4)], episode_deadline_s=0.04)
    assert again.played.causes == {} and again.played.status == "completed"
    assert again.played.episode.stop is not None and again.played.episode.stop.reason == "deadline"
    assert again.played.episode.calls.log.replayed == 4, "what was recorded is kept"


async def test_an_error_that_the_environment_caught_is_not_asked_for_again(tmp_path: Path) -> None:
    class Careful(Plain):
        auxiliary = ("judge",)

        async def run(self, episode: Episode) -> None:
            try:
                await episode.ask("judge", "is it so?")
            except EpisodeFailure as error:
                episode.tell("policy", f"no judge: {error.failure.message}")
            await super().run(episode)

    def judge_breaks(request: CompletionRequest, rng: random.Random) -> Message:
        if request.thread.startswith("judge"):
            raise EpisodeFailure(FailureKind.ENVIRONMENT, "scripted player", f"no {random.random()}")
        return Message("assistant", f"{rng.random()}")

    first = await attempt(tmp_path, Careful(), judge_breaks)
    again = await attempt(tmp_path, Careful(), judge_breaks, [cut(first, 3)])
    assert again.played.causes == {} and again.row == first.row
    assert not any(thread.startswith("judge") for thread in again.model.calls)


async def test_an_effects_result_is_the_same_live_and_replayed(tmp_path: Path) -> None:
    class Typed(Plain):
        async def run(self, episode: Episode) -> None:
            async def make(key: str) -> Any:
                return {"pair": (1, 2)}

            result = await episode.effect("pair", make)
            episode.tell("policy", repr(result))
            await super().run(episode)

    first = await attempt(tmp_path, Typed(), words)
    again = await attempt(tmp_path, Typed(), words, [cut(first, 2)])
    assert again.played.causes == {} and again.row == first.row


async def test_a_zombie_makes_no_effect(tmp_path: Path) -> None:
    class Fenced(Paying):
        folder: Path

        async def run(self, episode: Episode) -> None:
            [path] = await asyncio.to_thread(lambda: list(self.folder.glob("*.journal")))
            await asyncio.to_thread(fence, path, "run")
            await super().run(episode)

    environment = Fenced()
    environment.paid, environment.folder = [], tmp_path
    lost = await attempt(tmp_path, environment, words)
    assert lost.played.failure is not None and "counts as lost" in lost.played.failure.message
    assert environment.paid == []


class Together(Plain):
    """Scores its episodes as a group, by a judge."""

    auxiliary = ("judge",)

    async def score_group(self, episodes: Sequence[Episode]) -> Sequence[float]:
        verdicts = [await episode.ask("judge", "how was it?") for episode in episodes]
        return [float(len(verdict.content)) for verdict in verdicts]


async def test_a_judge_of_a_group_is_asked_again_within_its_budget(tmp_path: Path) -> None:
    asked: list[str] = []

    def fails_once(request: CompletionRequest, rng: random.Random) -> Message:
        if request.thread.startswith("judge"):
            asked.append(request.thread)
            if len(asked) == 1:
                raise EpisodeFailure(FailureKind.ENVIRONMENT, "scripted player", "not now")
        return Message("assistant", "well")

    judged = await attempt(tmp_path, Together(), fails_once)
    assert judged.played.status == "completed" and judged.played.score is not None and len(asked) == 2
    again = await attempt(tmp_path, Together(), fails_once, [cut(judged, len(judged.answered))])
    assert again.row == judged.row and again.model.calls == []
    asked.clear()
    lost = await attempt(tmp_path, Together(), fails_once, retries={"judge": 0})
    assert lost.played.failure is not None and lost.played.failure.kind == "judge" and lost.played.score is None


async def test_a_group_is_not_scored_over_broken_infrastructure(tmp_path: Path) -> None:
    class Swallowing(Together):
        async def score_group(self, episodes: Sequence[Episode]) -> Sequence[float]:
            try:
                return await super().score_group(episodes)
            except Exception:
                return [0.0 for _ in episodes]

    def no_judge(request: CompletionRequest, rng: random.Random) -> Message:
        if request.thread.startswith("judge"):
            raise EpisodeFailure(FailureKind.INFRA, "model", "gone", retry=False)
        return Message("assistant", "well")

    lost = await attempt(tmp_path, Swallowing(), no_judge)
    assert lost.played.status == "failed" and lost.played.score is None
    assert lost.played.failure is not None and lost.played.failure.kind == "infra"


async def test_a_group_whose_replay_left_something_out_is_played_again(tmp_path: Path) -> None:
    class Shorter(Together):
        turns = 3

        async def run(self, episode: Episode) -> None:
            for _ in range(self.turns):
                await episode.turn("policy")
                episode.tell("policy", "more")

        async def score_group(self, episodes: Sequence[Episode]) -> Sequence[float]:
            return [1.0 for _ in episodes]

    first = await attempt(tmp_path, Shorter(), words)
    shorter = Shorter()
    shorter.turns = 1
    again = await attempt(tmp_path, shorter, words, [cut(first, 3)])
    assert again.played.status == "completed" and again.played.episode.spec.try_ == 1
    assert again.played.causes[1].startswith("nondeterminism")


@pytest.mark.parametrize("environment", [Plain(), Together()])
async def test_a_file_that_is_gone_costs_its_calls_and_not_the_episode(
    tmp_path: Path, environment: Environment[Any, Any]
) -> None:
    again = await attempt(tmp_path, environment, words, ["1-0.99.fenced"])
    assert again.played.status == "completed" and again.played.episode.calls.log.replayed == 0


def test_a_journal_of_the_run_is_not_written_twice(tmp_path: Path) -> None:
    Journal(tmp_path / "1-0.journal", "run", flush=False)
    with pytest.raises(FileExistsError):
        Journal(tmp_path / "1-0.journal", "run", flush=False)
