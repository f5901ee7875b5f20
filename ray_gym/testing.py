"""Tests environments: plays one episode in process, without Ray, a model or a config.

The players are functions, as in `models: {name: {engine: scripted, ...}}`: the environment's own perfect ones, or
others in their place.

    def test_a_wrong_answer() -> None:
        played = asyncio.run(play_task(Sums(), SumTask(numbers=(1, 2)), {"policy": says("Answer: 4")}))
        assert reward_of(played) == 0
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, TypeVar

from ray_gym.aio.exits import keep_exits
from ray_gym.config.sections import LimitsSection, ParticipantSection
from ray_gym.engines.scripted_model import ScriptedModel
from ray_gym.environment import Environment
from ray_gym.episode.participant import Participant, require_participant
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.episode.stage import Stage
from ray_gym.messages import Message, tool_call_message
from ray_gym.models.base import CompletionRequest
from ray_gym.models.player import Player
from ray_gym.play.play import Played, play, score_group
from ray_gym.sandbox.supply import SandboxSupply
from ray_gym.task import Task, task_json
from ray_gym.tools.runner import ToolRunner

__all__ = ["Played", "Player", "call_of", "generated", "play_group", "play_task", "reward_of", "says", "stage_of"]

TaskT = TypeVar("TaskT", bound=Task)


def generated(environment: Environment[TaskT, Any], index: int, seed: int = 0) -> TaskT:
    """Returns task number `index` of the environment's generator; the same seed gives the same tasks."""
    return environment.generate(random.Random(f"{seed}/{index}"), index)


def says(*texts: str | Message) -> Player:
    """Makes a player that says these texts in order, then the last one over and over."""
    left = list(texts)

    def player(request: CompletionRequest, rng: random.Random) -> Message:
        said = left.pop(0) if len(left) > 1 else left[0]
        return said if isinstance(said, Message) else Message("assistant", said)

    return player


def call_of(name: str, arguments: str, call_id: str = "call") -> Message:
    """Makes a message that calls a tool; `arguments` is JSON text, perhaps malformed."""
    return tool_call_message(name, arguments, call_id)


async def play_task(
    environment: Environment[Any, Any],
    task: Task,
    players: Mapping[str, Player] | None = None,
    *,
    seed: int = 0,
    limits: Mapping[str, Any] | None = None,
    runner: ToolRunner | None = None,
    sandboxes: SandboxSupply | None = None,
    **participants: Mapping[str, Any],
) -> Played:
    """Plays and scores one episode. A failure of the environment or of a player is in `Played.failure`, and not raised.

    `players`, by participant, take the places of the environment's perfect ones. `limits` and further keyword arguments
    are the sections `limits` and `participants.NAME` of a config. `runner` runs the tools; without one, processes and
    threads that this episode's tools started end with it. `sandboxes`: those of an environment that uses them; None:
    sandboxes of bubblewrap. Errors: ValueError for a player or a section of an unknown participant; AssertionError for a
    participant without a player; UserError if it uses a sandbox, and this machine has no bubblewrap.
    """
    keep_exits()
    names = (*environment.participants, *environment.auxiliary)
    for name in (*(players or {}), *participants):
        require_participant(name, names, "play_task")
    cast = {**environment.perfect(task), **(players or {})}
    spec = EpisodeSpec(f"episode-{seed}", "group", "task", 0, seed, task_json(task))
    used = runner or ToolRunner()
    try:
        async with _sandboxes_of(environment, sandboxes) as places:
            stage = stage_of(environment, cast, LimitsSection(**(limits or {})), used, participants)
            return await play(spec, replace(stage, sandboxes=places))
    finally:
        if runner is None:
            await used.close()


@asynccontextmanager
async def _sandboxes_of(
    environment: Environment[Any, Any], given: SandboxSupply | None
) -> AsyncIterator[SandboxSupply | None]:
    """Gives the sandboxes of an environment for the block: those that are given, or new ones if it uses any."""
    if given is not None or not environment.uses_sandbox:
        yield given
        return
    made = await asyncio.to_thread(SandboxSupply.of_bubblewrap)
    try:
        yield made
    finally:
        await made.close()


async def play_group(
    environment: Environment[Any, Any],
    task: Task,
    casts: Sequence[Mapping[str, Player]],
    *,
    judges: Mapping[str, Player] | None = None,
) -> list[Played]:
    """Plays one episode of a task for each of `casts`, scores the episodes together (`score_group`) if the environment
    does so, and returns them. A cast gives players by participant; the environment's perfect ones play the others.

    `judges` are players of the auxiliary participants. Errors: ValueError for a player of an unknown participant;
    AssertionError if the group could not be scored, or if a participant has no player.
    """
    shared = dict(judges or {})
    async with _sandboxes_of(environment, None) as places:
        group = [
            await play_task(environment, task, {**cast, **shared}, seed=seed, sandboxes=places)
            for seed, cast in enumerate(casts)
        ]
        if environment.scores_groups():
            runner = ToolRunner()
            cast = {**environment.perfect(task), **casts[0], **shared}
            try:
                failure = await score_group(group, stage_of(environment, cast, LimitsSection(), runner, {}))
            finally:
                await runner.close()
            assert failure is None, failure
    return group


def reward_of(played: Played) -> float:
    """Returns the policy's reward. Errors: AssertionError for an episode that failed, with its failure."""
    assert played.status == "completed", played.failure
    assert played.score is not None
    return played.score.reward


def stage_of(
    environment: Environment[Any, Any],
    players: Mapping[str, Player],
    limits: LimitsSection,
    runner: ToolRunner | None,
    sections: Mapping[str, Mapping[str, Any]],
) -> Stage:
    """Makes the stage on which episodes are played, for tests that play or score episodes by other functions of the
    engine. `runner`: None makes a new one. `sections`: sections `participants.NAME` of a config, by name.

    Errors: AssertionError that names the participants without a player.
    """
    names = (*environment.participants, *environment.auxiliary)
    missing = [name for name in names if name not in players]
    assert not missing, f"no player for {', '.join(missing)}: perfect(task) gives none, and none was given"
    participants = {
        name: Participant.from_config(name, ParticipantSection(model=name, **sections.get(name, {})), limits)
        for name in names
    }
    models = {name: ScriptedModel(players[name], {}, 0) for name in names}
    return Stage(environment, participants, models, limits, runner or ToolRunner())
