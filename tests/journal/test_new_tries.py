"""Checks that an episode gets a new, recorded try if it can't be resumed or if its failure is not the policy's."""

from __future__ import annotations

import asyncio
import contextlib
import random
from pathlib import Path
from typing import Any

import pytest
from replayed import Judged, Plain, attempt, cut, words

from ray_gym import (
    Episode,
    Message,
    Task,
)
from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.models.base import Completion, CompletionRequest


async def test_who_asks_something_else_gets_a_new_try_that_says_so(tmp_path: Path) -> None:
    class Fickle(Plain):
        def setup(self, task: Task, episode: Episode) -> dict[str, Any]:
            return {**super().setup(task, episode), "secret": random.random()}

    first = await attempt(tmp_path, Fickle(), words)
    again = await attempt(tmp_path, Fickle(), words, [cut(first, 3)])
    assert again.played.status == "completed" and again.played.episode.spec.try_ == 1
    note = next(event.content for event in again.played.episode.events if event.kind == "note")
    assert "nondeterminism" in note and "asked something else than was recorded" in note
    assert again.played.episode.calls.log.replayed == 0 and again.model.calls
    none_left = await attempt(tmp_path, Fickle(), words, [cut(first, 3)], retries={"nondeterminism": 0})
    assert none_left.played.failure is not None and none_left.played.failure.where == "replay"
    assert none_left.played.failure.kind == "environment"


@pytest.mark.parametrize("swallow", [False, True])
async def test_who_leaves_a_call_out_is_found_out_too(tmp_path: Path, swallow: bool) -> None:
    class Skips(Plain):
        skip = False

        async def run(self, episode: Episode) -> None:
            try:
                for _ in range(3):
                    if not self.skip:
                        await episode.turn("policy")
                        episode.tell("policy", "more")
                    await asyncio.gather(*(self.draft(episode) for _ in range(2)))
            except Exception:
                if not swallow:
                    raise

        async def draft(self, episode: Episode) -> None:
            thread = episode.open_thread("user")
            episode.tell(thread, "a draft, please")
            await episode.reply(thread)

    first = await attempt(tmp_path, Skips(), words)
    skipping = Skips()
    skipping.skip = True
    again = await attempt(tmp_path, skipping, words, [cut(first, 5)], retries={"nondeterminism": 0})
    assert again.played.failure is not None and again.played.failure.where == "replay", "also when its code swallows it"


async def test_a_user_that_fails_gives_a_new_try_and_the_tries_are_remembered(tmp_path: Path) -> None:
    def silent_at_first(request: CompletionRequest, rng: random.Random) -> Message:
        silent = request.thread == "user" and len(tries) == 0
        if silent:
            tries.append(1)
        return Message("assistant", "" if silent else f"{rng.random()}")

    tries: list[int] = []
    first = await attempt(tmp_path, Plain(), silent_at_first)
    assert first.played.status == "completed" and first.played.episode.spec.try_ == 1
    assert first.played.causes[1].startswith("user: user")
    again = await attempt(tmp_path, Plain(), silent_at_first, [cut(first, len(first.answered))])
    assert again.row == first.row and again.answered == [], "the second try was resumed"


async def test_a_user_that_always_fails_is_left_out(tmp_path: Path) -> None:
    def mute(request: CompletionRequest, rng: random.Random) -> Message:
        return Message("assistant", "" if request.thread == "user" else "hello")

    lost = await attempt(tmp_path, Plain(), mute, retries={"user": 2})
    assert lost.played.failure is not None and lost.played.failure.kind == "user" and lost.played.score is None
    assert lost.played.episode.spec.try_ == 2


async def test_a_users_code_that_raises_is_the_environments_and_not_tried_again(tmp_path: Path) -> None:
    def broken(request: CompletionRequest, rng: random.Random) -> Message:
        if request.thread == "user":
            raise EpisodeFailure(FailureKind.ENVIRONMENT, "scripted player (mine.py:3)", "KeyError: 'boom'")
        return Message("assistant", "hello")

    lost = await attempt(tmp_path, Plain(), broken, retries={"user": 2})
    failure = lost.played.failure
    assert failure is not None and (failure.kind, failure.where) == ("environment", "user")
    assert failure.message == "scripted player (mine.py:3): KeyError: 'boom'"
    assert lost.played.episode.spec.try_ == 0


async def test_a_judge_that_fails_is_not_the_policys_fault(tmp_path: Path) -> None:
    def cut_short(request: CompletionRequest, rng: random.Random) -> Completion:
        judged = request.thread.startswith("judge")
        return Completion(Message("assistant", "well"), finish_reason="length" if judged else "stop")

    lost = await attempt(tmp_path, Judged(), cut_short, retries={"judge": 1})
    assert lost.played.failure is not None and lost.played.failure.kind == "judge" and lost.played.score is None
    assert lost.played.episode.spec.try_ == 1


async def test_infrastructure_is_asked_again_and_never_scores(tmp_path: Path) -> None:
    broken: list[str] = []

    def flaky(request: CompletionRequest, rng: random.Random) -> Message:
        broken.append(request.thread)
        if len(broken) % 2:
            raise EpisodeFailure(FailureKind.INFRA, "model", "gone")
        return Message("assistant", "hello")

    class Swallowing(Plain):
        async def run(self, episode: Episode) -> None:
            with contextlib.suppress(EpisodeFailure):
                await episode.turn("policy")

    fine = await attempt(tmp_path, Swallowing(), flaky)
    assert fine.played.status == "completed" and broken == ["policy", "policy"]
    lost = await attempt(tmp_path, Swallowing(), flaky, retries={"infra": 0})
    assert lost.played.failure is not None and lost.played.failure.kind == "infra" and lost.played.score is None
