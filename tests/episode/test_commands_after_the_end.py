"""Checks what is told of a command after the end, and of a scripted player that exits."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest
from playing import Alone, play_script

from ray_gym import Episode, Message
from ray_gym.engines.scripted_model import ScriptedModel
from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.models.base import CompletionRequest, Sampling


class TurnsInScore(Alone):
    async def score(self, state: Any, episode: Episode) -> float:
        await episode.turn("policy")
        return 1.0


class TellsInScore(Alone):
    def score(self, state: Any, episode: Episode) -> float:
        episode.tell("policy", "well done")
        return 1.0


class TurnsInGroup(Alone):
    async def score(self, state: Any, episode: Episode) -> float:
        async with asyncio.TaskGroup() as group:
            group.create_task(episode.turn("policy"))
        return 1.0


@pytest.mark.parametrize("environment", [TurnsInScore, TellsInScore, TurnsInGroup])
async def test_a_command_after_the_end_is_a_fault_of_score(environment: type[Alone]) -> None:
    failure = (await play_script(environment(), ["42"])).played.failure
    assert failure is not None and failure.kind is FailureKind.ENVIRONMENT
    assert failure.where.startswith(f"{environment.__name__}.score (test_commands_after_the_end.py:")
    assert "EpisodeOver: completed" in failure.message and failure.message.endswith("asked by `episode.ask` here")


@pytest.mark.parametrize("raised", [SystemExit, KeyboardInterrupt, GeneratorExit, asyncio.CancelledError])
async def test_a_scripted_player_that_raises_what_is_no_error_is_named(raised: type[BaseException]) -> None:
    def leave(request: CompletionRequest, rng: random.Random) -> Message:
        raise raised(1)

    told = rf"scripted player \(test_commands_after_the_end.py:\d+\): {raised.__name__}: 1"
    with pytest.raises(EpisodeFailure, match=told):
        await ScriptedModel(leave, {}, 0).complete(CompletionRequest([Message("user", "hi")], Sampling(), "session", 0))
