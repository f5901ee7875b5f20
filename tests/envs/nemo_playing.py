"""Defines what the tests of nemo_gym play: a counter's rows, and policies that call its tools."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from nemo_double import NemoDouble
from playing_tasks import call_of, play_task, says, stage_of

from ray_gym import Message
from ray_gym.config.sections import LimitsSection
from ray_gym.envs.nemo_gym import NemoGym
from ray_gym.envs.nemo_gym.row import NemoRow
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.models.base import Completion, CompletionRequest
from ray_gym.models.player import Player
from ray_gym.play.play import Played, play

TOOLS = [
    {"type": "function", "name": "increment_counter", "parameters": {"type": "object", "properties": {"count": {}}}},
    {"type": "function", "name": "get_counter_value", "description": "Read it.", "strict": True},
]


def counter_row(initial: int = 3, expected: int = 10, **parameters: Any) -> dict[str, Any]:
    asked = {"input": [{"role": "user", "content": f"Bring it to {expected}."}], "tools": TOOLS}
    return {"responses_create_params": asked | parameters, "initial_count": initial, "expected_count": expected}


def add(count: Any, call_id: str = "a") -> Message:
    return call_of("increment_counter", json.dumps({"count": count}), call_id)


def adds(count: int) -> Player:
    return says(add(count), "Done.")


@asynccontextmanager
async def playing(url: str, **options: Any) -> AsyncIterator[NemoGym]:
    """Yields the environment, with pauses that a test can wait for."""
    environment = NemoGym(NemoGym.Options(base_url=url, **options))
    environment.server.first_pause_s = 0.001
    try:
        yield environment
    finally:
        await environment.close()


async def play_row(
    double: NemoDouble, row: dict[str, Any], policy: Player, limits: dict[str, Any] | None = None, **options: Any
) -> Played:
    async with playing(double.url, **options) as environment:
        return await play_task(environment, NemoRow.model_validate(row), {"policy": policy}, limits=limits)


def failure_of(played: Played) -> tuple[str, str]:
    assert played.status == "failed" and played.failure is not None and played.score is None, played
    return played.failure.kind.value, played.failure.message


class Completing:
    """Imitates a model that gives whole completions, with the reason why they ended."""

    def __init__(self, complete: Callable[[CompletionRequest], Awaitable[Completion]]) -> None:
        self.complete = complete

    async def close(self) -> None:
        return None


async def play_completions(
    environment: NemoGym, row: dict[str, Any], complete: Callable[[CompletionRequest], Awaitable[Completion]]
) -> Played:
    stage = stage_of(environment, {"policy": adds(0)}, LimitsSection(), None, {})
    spec = EpisodeSpec("e", "g", "t", 0, 0, NemoRow.model_validate(row).model_dump_json())
    return await play(spec, replace(stage, models={"policy": Completing(complete)}))
