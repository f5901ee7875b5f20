"""One episode of an environment in process, by players that know its task: its perfect ones, or others in their place."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from ray_gym import Environment, Message, Participant, Task, ToolCall
from ray_gym.config import LimitsSection, ParticipantSection
from ray_gym.models.base import CompletionRequest
from ray_gym.models.scripted import Player, ScriptedModel
from ray_gym.play import Played, Stage, play, score_group
from ray_gym.spec import EpisodeSpec
from ray_gym.tool_runner import ToolRunner


def generated(environment: Environment[Any, Any], index: int, seed: int = 0) -> Any:
    return environment.generate(random.Random(f"{seed}/{index}"), index)


def says(*texts: str | Message) -> Player:
    """Says these in order, then the last one over and over."""
    left = list(texts)

    def player(request: CompletionRequest, rng: random.Random) -> Message:
        said = left.pop(0) if len(left) > 1 else left[0]
        return said if isinstance(said, Message) else Message("assistant", said)

    return player


def call_of(name: str, arguments: str, call_id: str = "call") -> Message:
    """A message that calls a tool; `arguments` is JSON text, perhaps malformed."""
    return Message("assistant", tool_calls=(ToolCall(call_id, name, arguments),))


def stage_of(
    environment: Environment[Any, Any],
    players: Mapping[str, Player],
    limits: LimitsSection,
    runner: ToolRunner | None,
    sections: Mapping[str, Mapping[str, Any]],
) -> Stage:
    names = (*environment.participants, *environment.auxiliary)
    participants = {
        name: Participant.from_config(name, ParticipantSection(model=name, **sections.get(name, {})), limits)
        for name in names
    }
    models = {name: ScriptedModel(players[name], {}, 0) for name in names}
    return Stage(environment, participants, models, limits, runner or ToolRunner())


async def play_task(
    environment: Environment[Any, Any],
    task: Task,
    players: Mapping[str, Player] | None = None,
    *,
    seed: int = 0,
    limits: Mapping[str, Any] | None = None,
    runner: ToolRunner | None = None,
    **participants: Mapping[str, Any],
) -> Played:
    """`players` take the places of perfect ones; keyword arguments are sections of `participants` in a config."""
    cast = {**environment.perfect(task), **(players or {})}
    stage = stage_of(environment, cast, LimitsSection(**(limits or {})), runner, participants)
    spec = EpisodeSpec(f"episode-{seed}", "group", "task", 0, seed, task.model_dump_json())
    return await play(spec, stage)


async def play_group(
    environment: Environment[Any, Any], task: Task, casts: list[Mapping[str, Player]], *, judges: Mapping[str, Player]
) -> list[Played]:
    """Episodes of one task that are scored together: one for each of `casts`."""
    group = []
    for seed, cast in enumerate(casts):
        group.append(await play_task(environment, task, {**cast, **judges}, seed=seed))
    if environment.scores_groups():
        stage = stage_of(environment, {**environment.perfect(task), **casts[0], **judges}, LimitsSection(), None, {})
        failure = await score_group(group, stage)
        assert failure is None, failure
    return group


def reward_of(played: Played) -> float:
    """Of an episode that was played and scored as it should be."""
    assert played.status == "completed", played.failure
    assert played.score is not None
    return played.score.reward
