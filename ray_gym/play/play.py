"""Plays one episode from its spec to its record. A bad episode is data: whatever is raised becomes a failure on the record."""

from __future__ import annotations

import asyncio
import inspect
import time
import traceback
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from ray_gym.aio.clock import ActiveClock, share_clock
from ray_gym.environment import Environment
from ray_gym.episode.blame import fault_of
from ray_gym.episode.episode import Episode
from ray_gym.episode.rules import Rules
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.episode.stage import Stage
from ray_gym.errors import EpisodeFailure, Failure, FailureKind, describe
from ray_gym.journal.call_log import CallLog
from ray_gym.score import Score, as_score
from ray_gym.stop import EpisodeOver, StopReason


@dataclass(slots=True)
class Played:
    """Holds an episode at its end. `score` is None where no score is deserved."""

    episode: Episode
    status: str
    score: Score | None
    failure: Failure | None
    diverged: str | None = None
    """Set when a replay went another way than what was recorded."""
    causes: dict[int, str] = field(default_factory=dict)
    """Reasons, by number of the try, for which the tries before it were given up."""
    group_size: int = 1
    group_completed: int = 1
    ended_at: float = field(default_factory=time.time)
    active_s: float = 0.0


async def play(spec: EpisodeSpec, stage: Stage, log: CallLog | None = None, cause: str = "") -> Played:
    """Plays one try of an episode, from its start or resumed. `cause` says why the try before it was given up.

    Never raises, cancellation apart. An environment that scores whole groups leaves the score to `score_group`.
    """
    environment = stage.environment
    try:
        episode = new_episode(spec, stage, log)
    except EpisodeFailure as error:
        return fail_episode(bare_episode(spec, stage), error.failure)
    if cause:
        episode.note(f"try {spec.try_}: {cause}")
    try:
        own_fault = await _play_to_end(episode)
        deserved = None if environment.scores_groups() else await score(episode)
        played = Played(episode, "completed", deserved, own_fault, active_s=episode.elapsed_s())
    except EpisodeFailure as error:
        played = fail_episode(episode, error.failure)
    except Exception as error:
        played = fail_episode(episode, Failure(FailureKind.ENVIRONMENT, "episode", describe(error)))
    return played if environment.scores_groups() else finish_played(played)


def finish_played(played: Played) -> Played:
    """Closes the log of an episode of which nothing more will be asked: a replay must have asked for all that was
    recorded, unless something else ended the episode.
    """
    episode = played.episode
    if not episode.calls.broken and (episode.stop is None or episode.stop.reason != StopReason.DEADLINE):
        episode.calls.log.end()
    return fail_if_broken(played)


def fail_if_broken(played: Played) -> Played:
    """Fails an episode whose infrastructure broke, or whose replay diverged, whatever the environment made of it."""
    calls = played.episode.calls
    if calls.broken:
        return fail_episode(played.episode, calls.broken.failure)
    if calls.log.diverged:
        return fail_episode(played.episode, Failure(FailureKind.ENVIRONMENT, "replay", calls.log.diverged))
    return played


def new_episode(spec: EpisodeSpec, stage: Stage, log: CallLog | None = None) -> Episode:
    """Makes the episode of a spec, with its task. Errors: EpisodeFailure (data)."""
    try:
        task = stage.environment.task_type.model_validate_json(spec.task)
    except Exception as error:
        # Rows were validated before the run: this is a worker that has other code than the driver.
        raise EpisodeFailure(FailureKind.DATA, "task", str(error)) from error
    episode = Episode(spec, stage, task, log)
    stage.under_way.add(episode)
    return episode


def bare_episode(spec: EpisodeSpec, stage: Stage) -> Episode:
    """Returns an episode of which nothing was played."""
    return Episode(spec, stage, stage.environment.task_type.model_construct())


def fail_episode(episode: Episode, failure: Failure) -> Played:
    episode.end(StopReason.FAILED, failure.message)
    diverged = None if episode.calls.broken else episode.calls.log.diverged
    return Played(episode, "failed", None, failure, diverged=diverged, active_s=episode.elapsed_s())


async def _play_to_end(episode: Episode) -> Failure | None:
    """Sets the episode up and plays it. Returns the policy's own fault, which ends an episode that is scored all the
    same.
    """
    await set_up(episode)
    try:
        with blaming(episode.environment, "run"):
            await _run(episode)
    except EpisodeFailure as error:
        if error.failure.kind != FailureKind.POLICY:
            raise
        episode.end(StopReason.POLICY_FAILED, error.failure.message)
        return error.failure
    episode.end(StopReason.COMPLETED)
    return None


async def set_up(episode: Episode) -> None:
    """Makes the state, and what is there before anyone speaks. Errors: EpisodeFailure."""
    environment, limits = episode.environment, episode.limits
    with blaming(environment, "setup"):
        given = environment.setup(episode.task, episode)
        episode.state = await _await_hook(given, episode, "call_deadline_s", limits.call_deadline_s)
    with blaming(environment, "tools_for"):
        episode.bring_tools(environment.tools_for(episode.task, episode.state))
    with blaming(environment, "opening"):
        episode.begin(environment.opening(episode.task, episode.state))


async def _run(episode: Episode) -> None:
    """Runs the environment's control flow, until it returns, the episode has ended, or its time is up."""
    if episode.stopped:
        return
    deadline_s = episode.limits.episode_deadline_s
    try:
        async with episode.clock.limit(deadline_s) as deadline:
            await episode.environment.run(episode)
        if deadline.expired():  # and its code took no notice
            episode.end(StopReason.DEADLINE, f"{deadline_s:g} s")
    except EpisodeOver:
        if not episode.stopped:
            raise
    except TimeoutError:
        if not deadline.expired():
            raise
        episode.end(StopReason.DEADLINE, f"{deadline_s:g} s")


async def score(episode: Episode) -> Score:
    environment = episode.environment
    episode.begin_scoring()
    with blaming(environment, "score"):
        given = environment.score(episode.state, episode)
        return as_score(await _await_hook(given, episode, "score_deadline_s", episode.limits.score_deadline_s))


async def _await_hook(result: Any, episode: Episode, limit: str, seconds: float) -> Any:
    """Returns the result of a hook: at once, or within the limit."""
    if not inspect.isawaitable(result):
        return result
    async with _limit_time(episode.clock, [episode], limit, seconds):
        return await result


@asynccontextmanager
async def _limit_time(
    clock: ActiveClock, episodes: Sequence[Episode], limit: str, seconds: float
) -> AsyncIterator[None]:
    """Limits the block to so many seconds of the clock. Errors: TimeoutError, which names the limit if it was this one,
    or the fault of a judge that did not answer.
    """
    for episode in episodes:
        episode.asking.clear()
    try:
        async with clock.limit(clock.elapsed_s + seconds) as deadline:
            yield
    except TimeoutError as error:
        if not deadline.expired():
            raise
        message = f"no result within {limit} ({seconds:g} s)"
        asked = [participant for episode in episodes for participant in episode.asking.values()]
        if asked:
            raise fault_of(asked[0], message, judges=True) from error
        raise TimeoutError(message) from error


async def score_group(group: Sequence[Played], stage: Stage) -> Failure | None:
    """Scores the episodes of a group that were played to their end, by the environment's `score_group`. Never raises,
    cancellation apart.

    Returns why none of them could be scored, if so.
    """
    environment = stage.environment
    played = [one for one in group if one.status == "completed"]
    episodes = [one.episode for one in played]
    if not played:
        return None
    try:
        with blaming(environment, "score_group"):
            for episode in episodes:
                episode.begin_scoring()
            with share_clock([episode.clock for episode in episodes]) as clock:
                async with _limit_time(clock, episodes, "score_deadline_s", stage.limits.score_deadline_s):
                    scores = [as_score(given) for given in await environment.score_group(episodes)]
            if len(scores) != len(played):
                raise ValueError(f"score_group() returned {len(scores)} scores for {len(played)} episodes")
    except EpisodeFailure as error:
        return error.failure
    for one, deserved in zip(played, scores, strict=True):
        one.score = deserved
    return None


class blaming:
    """Turns whatever the author's code raises into the environment's failure, at the hook where it came out."""

    __slots__ = ("_environment", "_hook")

    def __init__(self, environment: Rules, hook: str) -> None:
        self._environment, self._hook = environment, hook

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if error is None or isinstance(error, EpisodeFailure | EpisodeOver | GeneratorExit):
            return
        if isinstance(error, asyncio.CancelledError) and _is_cancelled():
            return
        where = f"{type(self._environment).__name__}.{_inner_hook(error, self._environment) or self._hook}"
        raise EpisodeFailure(FailureKind.ENVIRONMENT, where, describe(error)) from error


def _is_cancelled() -> bool:
    """Says whether this task is being cancelled, rather than that the author's code raised CancelledError."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _inner_hook(error: BaseException, environment: Rules) -> str | None:
    """Returns the last method of the environment in the traceback: `run` also goes through `relay`, `narrow` and
    `finished`.
    """
    names = [frame.name for frame in traceback.extract_tb(error.__traceback__) if hasattr(Environment, frame.name)]
    overridden = [
        name for name in names if getattr(type(environment), name, None) is not getattr(Environment, name, None)
    ]
    return overridden[-1] if overridden else None
