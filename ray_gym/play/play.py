"""Plays one episode from its specification to its result. Any exception becomes a failure in the result."""

from __future__ import annotations

import inspect
import time
import traceback
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any

from ray_gym.aio.clock import ActiveClock, share_clock
from ray_gym.aio.leaked import is_end_from_outside, no_leaked_cancellation, running_task
from ray_gym.config.interpolations import failure_unfilled
from ray_gym.environment import Environment
from ray_gym.episode.awaiting import require_awaited
from ray_gym.episode.blame import fault_of
from ray_gym.episode.episode import Episode
from ray_gym.episode.rules import Rules
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.episode.stage import Stage
from ray_gym.errors import EpisodeFailure, Failure, FailureKind, wrong_return
from ray_gym.journal.call_log import CallLog
from ray_gym.sandbox.sandbox import SandboxGone
from ray_gym.score import Score, as_score
from ray_gym.stop import EpisodeOver, StopReason
from ray_gym.strict_types import read_back
from ray_gym.tools.calling import engines_own
from ray_gym.tools.tool import Tool


@dataclass(slots=True)
class Played:
    """Holds an episode at its end, with its score or its failure."""

    episode: Episode
    status: str
    """One of completed, failed, cancelled, and dropped (with its group)."""
    score: Score | None
    """The policy's score; None if the episode failed, was cancelled or is not scored yet."""
    failure: Failure | None
    """Failure that ended the episode, or the policy's own fault in an episode that is scored; None if there is none."""
    diverged: str | None = None
    """Difference between a replay and the record; None if there is none."""
    causes: dict[int, str] = field(default_factory=dict)
    """Reasons for which earlier tries were given up, by the number of the try."""
    group_size: int = 1
    """Number of episodes in the group."""
    group_completed: int = 1
    """Number of episodes of the group that were completed."""
    ended_at: float = field(default_factory=time.time)
    """Unix time in seconds."""
    active_s: float = 0.0
    """Seconds that the episode was played, over all attempts, without pauses."""


async def play(spec: EpisodeSpec, stage: Stage, log: CallLog | None = None, cause: str = "") -> Played:
    """Plays one try of an episode, from its start or resumed by the log, and returns the result. Raises nothing but
    CancelledError.

    `cause` says why the try before it was given up. If the environment scores whole groups, `score_group` has to give
    the score.
    """
    environment = stage.environment
    try:
        episode = new_episode(spec, stage, log)
    except EpisodeFailure as error:
        return fail_episode(bare_episode(spec, stage), error.failure)
    if cause:
        episode.note(f"try {spec.try_}: {cause}")
    try:
        own_fault = await play_to_end(episode)
        deserved = None if environment.scores_groups() else await score(episode)
        played = Played(episode, "completed", deserved, own_fault, active_s=episode.elapsed_s())
    except EpisodeFailure as error:
        played = fail_episode(episode, error.failure)
    except Exception as error:
        played = fail_episode(episode, Failure.of(error, "episode"))
    finally:
        await episode.leave()
    return played if environment.scores_groups() else finish_played(played)


def finish_played(played: Played) -> Played:
    """Returns the final result of an episode that is over: failed if infrastructure broke or its replay diverged, even
    if the environment handled the exception. A replay has also diverged if it did not ask for all recorded answers,
    unless a deadline ended the episode.
    """
    episode = played.episode
    if not episode.calls.broken and (episode.stop is None or episode.stop.reason != StopReason.DEADLINE):
        episode.calls.log.end()
    return fail_if_broken(played)


def fail_if_broken(played: Played) -> Played:
    """Returns a failed result if infrastructure broke or the replay diverged, even if the environment handled the
    exception; otherwise returns the result as it is.
    """
    calls = played.episode.calls
    if calls.broken:
        return fail_episode(played.episode, calls.broken.failure)
    if calls.log.diverged:
        return fail_episode(played.episode, Failure(FailureKind.ENVIRONMENT, "replay", calls.log.diverged))
    return played


def new_episode(spec: EpisodeSpec, stage: Stage, log: CallLog | None = None, kind: type[Episode] = Episode) -> Episode:
    """Makes the episode of a specification, with its task, and adds it to the stage's episodes under way. `kind`: class
    of the episode.

    Errors: EpisodeFailure (data) if the task is not one of the environment's.
    """
    try:
        task = read_back(spec.task, stage.environment.task_type)
    except Exception as error:
        # Rows were validated before the run: this is a worker that has other code than the driver.
        raise EpisodeFailure(FailureKind.DATA, "task", str(error)) from error
    episode = kind(spec, stage, task, log)
    stage.under_way.add(episode)
    return episode


def bare_episode(spec: EpisodeSpec, stage: Stage) -> Episode:
    """Makes an episode without a task, for the result of an episode that could not be played."""
    return Episode(spec, stage, stage.environment.task_type.model_construct())


def fail_episode(episode: Episode, failure: Failure) -> Played:
    """Ends an episode with a failure, and returns the result. If it has ended already, its stop stays as it is. The
    result's failure shows values of the config as its file has them, with ${...}.
    """
    failure = failure_unfilled(failure, episode.filled_in)
    episode.end(StopReason.FAILED, failure.message)
    diverged = None if episode.calls.broken else episode.calls.log.diverged
    return Played(episode, "failed", None, failure, diverged=diverged, active_s=episode.elapsed_s())


async def play_to_end(episode: Episode) -> Failure | None:
    """Sets the episode up and plays it. Returns the policy's own fault, if that ended the episode: such an episode is
    scored. None means that there was none. Errors: EpisodeFailure for any other fault.
    """
    await set_up(episode)
    try:
        with blame_environment(episode.environment, "run"):
            await _run(episode)
    except EpisodeOver:  # perhaps of a group of exceptions
        if not episode.stopped:
            raise
        require_awaited(episode)
    except EpisodeFailure as error:
        if error.failure.kind != FailureKind.POLICY:
            raise
        episode.end(StopReason.POLICY_FAILED, error.failure.message)
        return error.failure
    episode.end(StopReason.COMPLETED)
    return None


async def set_up(episode: Episode) -> None:
    """Makes the state, the tools and the first messages of an episode by the environment's hooks. Errors:
    EpisodeFailure if a hook raises or takes too long.
    """
    environment, limits = episode.environment, episode.limits
    with blame_environment(environment, "setup"):
        given = environment.setup(episode.task, episode)
        episode.state = await _await_hook(given, episode, "call_deadline_s", limits.call_deadline_s)
    if environment.uses_sandbox and episode.sandbox.is_given:
        await episode.sandbox.open()
        with blame_environment(environment, "furnish"):
            given = environment.furnish(episode.state, episode)
            await _await_hook(given, episode, "call_deadline_s", limits.call_deadline_s)
    with blame_environment(environment, "tools_for"):
        episode.bring_tools(_tools_in(environment.tools_for(episode.task, episode.state), environment))
    with blame_environment(environment, "opening"):
        episode.begin(environment.opening(episode.task, episode.state))
    require_awaited(episode)


def _tools_in(given: object, environment: Rules) -> list[Tool]:
    """Returns the tools that `tools_for` gave. Errors: EpisodeFailure (environment) if it gave anything else."""
    found = list(given) if isinstance(given, Iterable) else [given]
    tools = [tool for tool in found if isinstance(tool, Tool)]
    if not isinstance(given, Iterable) or len(tools) < len(found):
        raise wrong_return(environment, "tools_for", given, "a list of Tool, which tool_by_schema() makes")
    return tools


async def _run(episode: Episode) -> None:
    """Runs the environment's `run` until it returns, the episode has ended, or its deadline has passed.

    Errors: EpisodeOver if the end came while it ran; exceptions of `run`.
    """
    if episode.stopped:
        return
    deadline_s = episode.limits.episode_deadline_s
    try:
        async with episode.clock.limit(deadline_s) as deadline:
            playing = episode.environment.run(episode)
            if not inspect.isawaitable(playing):
                raise wrong_return(episode.environment, "run", playing, "a coroutine: write it with async def")
            await playing
            require_awaited(episode)
        if deadline.expired():  # and its code ignored that
            episode.end(StopReason.DEADLINE, f"{deadline_s:g} s")
    except TimeoutError:
        if not deadline.expired():
            raise
        episode.end(StopReason.DEADLINE, f"{deadline_s:g} s")


async def score(episode: Episode) -> Score:
    """Returns the environment's score of an episode that has ended.

    Errors: EpisodeFailure if `score` raises, takes too long or returns no score, or if a judge fails.
    """
    environment = episode.environment
    episode.begin_scoring()
    with blame_environment(environment, "score"):
        given = environment.score(episode.state, episode)
        given = await _await_hook(given, episode, "score_deadline_s", episode.limits.score_deadline_s)
        require_awaited(episode)
        return _read_score(given, environment, "score() returned")


def _read_score(given: Any, environment: Rules, returned: str) -> Score:
    """Returns the score that a hook returned. `returned`: the words before a wrong value in errors. Errors: as of
    `as_score`, and ValueError if its other rewards are of the policy, or of a participant that the environment does not
    have.
    """
    score = as_score(given, returned)
    if "policy" in score.others:
        raise ValueError(f"{returned} another reward for the policy: give it as `reward`")
    names = (*environment.participants, *environment.auxiliary)
    for name in score.others:
        if name not in names:
            raise ValueError(f"{returned} a reward for {name!r}, and the participants are {', '.join(names)}")
    return score


async def _await_hook(result: Any, episode: Episode, limit: str, seconds: float) -> Any:
    """Returns the result of an environment's hook, and awaits it within `seconds` if it is awaitable.

    Errors: TimeoutError that names the limit; EpisodeFailure (judge) if a judge was being asked then; exceptions of the
    hook.
    """
    if not inspect.isawaitable(result):
        return result
    async with _limit_time(episode.clock, [episode], limit, seconds):
        return await result


@asynccontextmanager
async def _limit_time(
    clock: ActiveClock, episodes: Sequence[Episode], limit: str, seconds: float
) -> AsyncIterator[None]:
    """Limits the block to a number of seconds of the clock. Errors: TimeoutError that names the limit; EpisodeFailure
    (judge) if a judge was being asked.
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
    """Scores the completed episodes of a group by the environment's `score_group`, and sets the `score` of each.

    Raises nothing but CancelledError.
    Returns the failure for which none of them could be scored; None if they were, or if there are none.
    """
    environment = stage.environment
    played = [one for one in group if one.status == "completed"]
    episodes = [one.episode for one in played]
    if not played:
        return None
    try:
        with blame_environment(environment, "score_group"):
            for episode in episodes:
                episode.begin_scoring()
            with share_clock([episode.clock for episode in episodes]) as clock:
                async with _limit_time(clock, episodes, "score_deadline_s", stage.limits.score_deadline_s):
                    scoring: Any = environment.score_group(episodes)
                    given = await scoring if inspect.isawaitable(scoring) else scoring
            for episode in episodes:
                require_awaited(episode)
            if not isinstance(given, Iterable) or isinstance(given, str | Mapping):
                raise wrong_return(environment, "score_group", given, "a list with a score for each episode")
            scores = [
                _read_score(each, environment, f"for episodes[{index}], score_group() returned")
                for index, each in enumerate(given)
            ]
            if len(scores) != len(played):
                raise ValueError(f"score_group() returned {len(scores)} scores for {len(played)} episodes")
    except EpisodeFailure as error:
        return error.failure
    for one, deserved in zip(played, scores, strict=True):
        one.score = deserved
    return None


_GIVE_A_REWARD = "there is no score to keep with it: return the reward that the policy deserves instead"
_NOBODY_PLAYED = "the policy has not played yet: raise it in `run` or a tool, or a failure of another kind"
INSTEAD_OF_POLICYS = {
    "score": _GIVE_A_REWARD,
    "score_group": _GIVE_A_REWARD,
    **dict.fromkeys(("setup", "furnish", "tools_for", "opening"), _NOBODY_PLAYED),
}
"""Remedy of a failure of the policy's that was raised in a hook that may not, by the hook."""
_ASK_INSTEAD = "the episode is over, so that nobody speaks or acts any more: a model is asked by `episode.ask` here"
INSTEAD_OF_COMMANDS = dict.fromkeys(("score", "score_group"), _ASK_INSTEAD)
"""Remedy of a command after the end, by the hook. Other hooks may be at work when the episode ends."""


class blame_environment:
    """Turns exceptions of the environment's code in the block into an EpisodeFailure (environment) that names the hook.

    EpisodeFailure, EpisodeOver, the end of the coroutine (GeneratorExit) and the cancellation of the task pass
    unchanged; but a failure of the policy's is the environment's where the policy does not play (INSTEAD_OF_POLICYS), and
    so is the end of the episode where that is known (INSTEAD_OF_COMMANDS).
    """

    __slots__ = ("_environment", "_hook", "_leaked", "_task")

    def __init__(self, environment: Rules, hook: str) -> None:
        self._environment, self._hook, self._task = environment, hook, running_task()
        self._leaked = no_leaked_cancellation()

    def __enter__(self) -> None:
        self._leaked.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._leaked.__exit__(kind, error, traceback)
        if error is None:
            return
        own = engines_own(error)
        instead = self._remedy(own)
        if own is not None and instead is None:
            if own is not error:
                raise own from error
            return
        if is_end_from_outside(error, self._task):
            return
        if isinstance(error, SandboxGone):
            raise EpisodeFailure(FailureKind.INFRA, "sandbox", str(error)) from error
        hook = _inner_hook(error, self._environment) or self._hook
        where, code = f"{type(self._environment).__name__}.{hook}", getattr(type(self._environment), hook, None)
        failure = Failure.of(error, where, code=code)
        if instead is not None:
            failure = replace(failure, message=f"{failure.message}: {instead}")
        raise EpisodeFailure.of(failure) from error

    def _remedy(self, error: EpisodeFailure | EpisodeOver | None) -> str | None:
        """Returns what to do instead of what the hook may not; None where the error passes as it is, or is not ours."""
        if isinstance(error, EpisodeOver):
            return INSTEAD_OF_COMMANDS.get(self._hook)
        is_policys = error is not None and error.failure.kind == FailureKind.POLICY
        return INSTEAD_OF_POLICYS.get(self._hook) if is_policys else None


def _inner_hook(error: BaseException, environment: Rules) -> str | None:
    """Returns the name of the last overridden method of the environment in the traceback; None if there is none. It may
    be another than the hook that was called, since `run` also calls `relay`, `narrow` and `finished`.
    """
    hooks = {
        getattr(inspect.unwrap(getattr(method, "__func__", method)), "__code__", None): name
        for cls in type(environment).__mro__
        if issubclass(cls, Environment) and cls is not Environment
        for name, method in vars(cls).items()
        if callable(getattr(method, "__func__", method)) and hasattr(Environment, name)
    }
    raised = [hooks[frame.f_code] for frame, _ in traceback.walk_tb(error.__traceback__) if frame.f_code in hooks]
    return raised[-1] if raised else None
