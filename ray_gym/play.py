"""Plays one episode from its spec to its record. A bad episode is data: whatever is raised becomes a failure on the record."""

from __future__ import annotations

import asyncio
import inspect
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ray_gym.config import LimitsSection
from ray_gym.environment import Environment, Score, as_score
from ray_gym.episode import Episode, EpisodeSpec
from ray_gym.errors import EpisodeFailure, Failure, FailureKind, describe
from ray_gym.models.base import Model
from ray_gym.participant import Participant
from ray_gym.stop import EpisodeOver, StopReason
from ray_gym.tool_runner import ToolRunner


@dataclass(slots=True)
class Played:
    """An episode at its end. `score` is None where no score is deserved."""

    episode: Episode
    status: str
    score: Score | None
    failure: Failure | None
    ended_at: float = field(default_factory=time.time)
    active_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Stage:
    """All that episodes of a run have in common; one a worker."""

    environment: Environment[Any, Any]
    participants: Mapping[str, Participant]
    models: Mapping[str, Model]
    limits: LimitsSection
    tool_runner: ToolRunner = field(default_factory=ToolRunner)


async def play(spec: EpisodeSpec, stage: Stage) -> Played:
    """Never raises, cancellation apart."""
    environment = stage.environment
    try:
        task = environment.task_type.model_validate_json(spec.task)
    except Exception as error:
        # Rows were validated before the run: this is a worker that has other code than the driver.
        bare = Episode(
            spec, environment, environment.task_type.model_construct(), stage.participants, stage.models, stage.limits
        )
        return _failed(bare, Failure(FailureKind.DATA, "task", str(error)))
    episode = Episode(spec, environment, task, stage.participants, stage.models, stage.limits, stage.tool_runner)
    try:
        score = await _play(episode)
    except EpisodeFailure as error:
        return _failed(episode, error.failure)
    except Exception as error:
        return _failed(episode, Failure(FailureKind.ENVIRONMENT, "episode", describe(error)))
    return Played(episode, "completed", score, None, active_s=episode.elapsed_s())


async def _play(episode: Episode) -> Score:
    environment, limits = episode.environment, episode.limits
    with _blaming(environment, "setup"):
        async with asyncio.timeout(limits.call_deadline_s):
            episode.state = await _maybe_await(environment.setup(episode.task, episode))
    with _blaming(environment, "opening"):
        episode.begin(environment.opening(episode.task, episode.state))
    with _blaming(environment, "run"):
        await _run(episode)
    episode.end(StopReason.COMPLETED)
    with _blaming(environment, "score"):
        async with asyncio.timeout(limits.call_deadline_s):
            return as_score(await _maybe_await(environment.score(episode.state, episode)))


async def _run(episode: Episode) -> None:
    """The environment's control flow, until it returns, the episode has ended, or its time is up."""
    if episode.stopped:
        return
    try:
        async with asyncio.timeout(episode.limits.episode_deadline_s) as deadline:
            await episode.environment.run(episode)
    except EpisodeOver:
        if not episode.stopped:
            raise
    except TimeoutError:
        if not deadline.expired():
            raise
        episode.end(StopReason.DEADLINE, f"{episode.limits.episode_deadline_s:g} s")


@contextmanager
def _blaming(environment: Environment[Any, Any], hook: str) -> Iterator[None]:
    """Whatever the author's code raises is the environment's failure, at the hook of theirs where it came out."""
    try:
        yield
    except (EpisodeFailure, EpisodeOver, GeneratorExit):
        raise
    except BaseException as error:
        if isinstance(error, asyncio.CancelledError) and _is_cancelled():
            raise
        where = f"{type(environment).__name__}.{_inner_hook(error, environment) or hook}"
        raise EpisodeFailure(FailureKind.ENVIRONMENT, where, describe(error)) from error


def _is_cancelled() -> bool:
    """Whether this task is being cancelled, rather than that the author's code raised CancelledError."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _inner_hook(error: BaseException, environment: Environment[Any, Any]) -> str | None:
    """The last method of the environment in the traceback: `run` also goes through `relay`, `narrow` and `finished`."""
    names = [frame.name for frame in traceback.extract_tb(error.__traceback__) if hasattr(Environment, frame.name)]
    overridden = [
        name for name in names if getattr(type(environment), name, None) is not getattr(Environment, name, None)
    ]
    return overridden[-1] if overridden else None


def _failed(episode: Episode, failure: Failure) -> Played:
    episode.end(StopReason.FAILED, failure.message)
    return Played(episode, "failed", None, failure, active_s=episode.elapsed_s())


async def _maybe_await(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value
