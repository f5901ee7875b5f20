"""Plays one episode from its spec to its record. A bad episode is data: whatever is raised becomes a failure on the record."""

from __future__ import annotations

import inspect
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from ray_gym.config import LimitsSection
from ray_gym.environment import Environment, Score, as_score
from ray_gym.episode import Episode, EpisodeSpec
from ray_gym.errors import EpisodeFailure, Failure, FailureKind, describe
from ray_gym.models.base import Model
from ray_gym.participant import Participant
from ray_gym.stop import EpisodeOver, StopReason


@dataclass(slots=True)
class Played:
    """An episode at its end. `score` is None where no score is deserved."""

    episode: Episode
    status: str
    score: Score | None
    failure: Failure | None
    ended_at: float = field(default_factory=time.time)


@dataclass(frozen=True, slots=True)
class Stage:
    """All that episodes of a run have in common; one a worker."""

    environment: Environment[Any, Any]
    participants: Mapping[str, Participant]
    models: Mapping[str, Model]
    limits: LimitsSection


async def play(spec: EpisodeSpec, stage: Stage) -> Played:
    """Never raises, cancellation apart."""
    environment = stage.environment
    try:
        task = environment.task_type.model_validate_json(spec.task)
    except ValidationError as error:
        # Rows were validated before the run: this is a worker that has other code than the driver.
        bare = Episode(
            spec, environment, environment.task_type.model_construct(), stage.participants, stage.models, stage.limits
        )
        return _failed(bare, Failure(FailureKind.DATA, "task", str(error)))
    episode = Episode(spec, environment, task, stage.participants, stage.models, stage.limits)
    try:
        score = await _play(episode)
    except EpisodeFailure as error:
        return _failed(episode, error.failure)
    except Exception as error:
        return _failed(episode, Failure(FailureKind.ENVIRONMENT, _place(error), describe(error)))
    return Played(episode, "completed", score, None)


async def _play(episode: Episode) -> Score:
    environment = episode.environment
    episode.state = await _maybe_await(environment.setup(episode.task, episode))
    episode.begin(environment.opening(episode.task, episode.state))
    try:
        await environment.run(episode)
    except EpisodeOver:
        if not episode.stopped:
            raise
    episode.end(StopReason.COMPLETED)
    return as_score(await _maybe_await(environment.score(episode.state, episode)))


def _failed(episode: Episode, failure: Failure) -> Played:
    episode.end(StopReason.FAILED, failure.message)
    return Played(episode, "failed", None, failure)


async def _maybe_await(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


def _place(error: BaseException) -> str:
    """The innermost function of the traceback that is not ours, else the innermost: where an author should look."""
    frame = error.__traceback__
    place = "episode"
    while frame is not None:
        module = frame.tb_frame.f_globals.get("__name__", "")
        if not module.startswith("ray_gym.") or place == "episode":
            place = f"{module}.{frame.tb_frame.f_code.co_name}"
        frame = frame.tb_next
    return place
