"""Checks that rewards are in their range, highest for perfect players, and seldom highest for players that do nothing."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

from ray_gym.check.casts import NASTY_POLICY, NULL, PERFECT, RANDOM
from ray_gym.check.finding import Finding, shorten
from ray_gym.check.scenes import Play
from ray_gym.check.waiting import limit_waiting
from ray_gym.errors import FailureKind, placed
from ray_gym.play.play import Played, score, score_group

if TYPE_CHECKING:
    from ray_gym.check.evidence import Evidence

MOST_BY_NULL = 0.5
"""Share of the episodes in which a null policy may get the highest reward: there may be nothing to do in a task."""
MOST_BY_CHANCE = 0.8
"""Share of the episodes in which random or adversarial policies may get the highest reward."""
SLACK = 1e-6
_GIVE_JUDGES = "let `perfect` give a player for each judge"


async def look(evidence: Evidence) -> list[Finding]:
    """Checks the rewards of all plays: that they are in their range, highest for perfect players and seldom so for
    others, and that scoring again gives the same. It returns a finding for each kind of fault. Errors: WaitsForEver;
    EpisodeFailure if an episode can't be scored again.
    """
    environment = evidence.subject.make()
    where = f"{type(environment).__name__}.{'score_group' if environment.scores_groups() else 'score'}"
    found = [*_never_scored(evidence), *_out_of_range(evidence), *_perfect(evidence)]
    found += [problem for play in evidence.plays if (problem := await _score_again(evidence, play))][:1]
    if _is_open(evidence):
        found += [problem async for problem in _no_better_than_null(evidence)]
    else:
        found += _for_nothing(evidence)
    return [Finding(where, what, mend) for what, mend in found]


Problem = tuple[str, str]
"""A text that says what is wrong, and one that says how to mend it."""


def has_no_score(play: Play) -> bool:
    """Says whether an episode failed because `score` or `score_group` returned something that is no score."""
    failure = play.played.failure
    return failure is not None and failure.kind == FailureKind.ENVIRONMENT and "() returned " in failure.message


def _is_open(evidence: Evidence) -> bool:
    """Says whether no reward is known to be the highest, since the range has no end or whole groups are scored."""
    environment = evidence.subject.make()
    return environment.scores_groups() or not math.isfinite(environment.reward_range[1])


def _never_scored(evidence: Evidence) -> Iterator[Problem]:
    """Yields a problem if no episode has a score since the judges of all have failed: then nothing is known of `score`."""
    kinds = [play.played.failure.kind if play.played.failure else None for play in evidence.plays]
    by_judge = kinds.count(FailureKind.JUDGE)
    has_score = any(play.played.score is not None for play in evidence.plays)
    if by_judge and not has_score and FailureKind.ENVIRONMENT not in kinds:
        what = f"no episode was scored: {by_judge} of {len(kinds)} failed by judge, who plays at random here"
        yield what, _GIVE_JUDGES


def _out_of_range(evidence: Evidence) -> Iterator[Problem]:
    low, high = evidence.subject.make().reward_range
    for play in evidence.plays:
        if has_no_score(play) and (failure := play.played.failure):
            yield f"{shorten(failure.message)} ({play.scene})", "give a finite number for every episode"
            return
        for whose, reward in _rewards(play.played):
            if not low - SLACK <= reward <= high + SLACK:
                what = f"a reward of {reward:g}{whose}, out of the declared range {low:g} to {high:g} ({play.scene})"
                yield what, "keep to `reward_range`, or declare the range that it has"
                return


def _perfect(evidence: Evidence) -> Iterator[Problem]:
    environment = evidence.subject.make()
    for play in evidence.by(PERFECT):
        try:
            players = environment.perfect(evidence.subject.task(play.scene.task))
        except (Exception, SystemExit) as error:
            yield f"perfect() raises {placed(error)} (task {play.scene.task})", "make it give players for every task"
            return
        reward, high = _reward(play.played), environment.reward_range[1]
        if "policy" not in players:
            return
        if reward is None:
            failure = play.played.failure
            if failure is not None and failure.message.startswith("it returned "):
                return  # what a hook returned is told by the check of hooks
            what = f"{shorten(str(failure.message))} in {failure.where}" if failure else "no score"
            yield f"perfect players get no reward: {what} ({play.scene})", "mend the players of `perfect`, or the hook"
            return
        if not _is_open(evidence) and reward < high - SLACK:
            why = "".join(f"; undecided: {shorten(told)}" for told in play.played.episode.undecided[:1])
            what = f"perfect players get {reward:g}, not the highest reward, {high:g}{why} ({play.scene})"
            yield what, _GIVE_JUDGES if play.random_judges() else "mend `perfect`, `score` or `reward_range`"
            return


def _for_nothing(evidence: Evidence) -> Iterator[Problem]:
    high = evidence.subject.make().reward_range[1]
    for casts, most in (((NULL,), MOST_BY_NULL), ((RANDOM, NASTY_POLICY), MOST_BY_CHANCE)):
        plays = (play for play in evidence.by(*casts) if not play.random_judges())
        rewards = [reward for play in plays if (reward := _reward(play.played)) is not None]
        highest = sum(reward >= high - SLACK for reward in rewards)
        if rewards and highest > most * len(rewards):
            what = f"{' and '.join(casts)} got the highest reward in {highest} of {len(rewards)} episodes"
            yield what, "reward what was achieved: silence and noise should rarely get all of it"


async def _no_better_than_null(evidence: Evidence) -> AsyncIterator[Problem]:
    """Yields a problem for the first task in which perfect players get no higher reward than a null policy. It is for
    environments in which no reward is known to be the highest. Errors: WaitsForEver.
    """
    null = {play.scene.task: play for play in evidence.by(NULL)}
    environment = evidence.subject.make()
    for play in evidence.by(PERFECT):
        both = [play.played, null[play.scene.task].played]
        if play.random_judges() or null[play.scene.task].random_judges():
            continue
        if not environment.perfect(evidence.subject.task(play.scene.task)) or None in map(_reward, both):
            continue
        if environment.scores_groups():
            async with limit_waiting(play.stage.environment, f"scoring {play.scene}"):
                await score_group(both, play.stage)
            await evidence.theatre.close_environment(play.stage.environment)
        best, least = (played.score.reward if played.score else 0.0 for played in both)
        if best <= least:
            what = f"perfect players get {best:g}, a null policy {least:g} (task {play.scene.task})"
            yield what, "make the reward tell a good answer from none"
            return


async def _score_again(evidence: Evidence, play: Play) -> Problem | None:
    """Scores an episode of perfect players again, and returns a problem if the score differs, else None.

    Episodes that judges at random took part in, who may say something else, are not scored again, nor are those whose
    sandboxes are gone. Errors: WaitsForEver; EpisodeFailure if `score` fails now.
    """
    before, environment = play.played.score, play.stage.environment
    if play.scene.cast != PERFECT or before is None or environment.uses_sandbox or play.random_judges():
        return None
    again: object
    async with limit_waiting(environment, f"scoring {play.scene} again"):
        if environment.scores_groups():
            again = await score_group(play.group, play.stage) or play.played.score
        else:
            again = await score(play.played.episode)
    await evidence.theatre.close_environment(environment)  # scoring may have opened something again
    if again == before:
        return None
    return f"scored again, the same episode gets {again}, not {before} ({play.scene})", "change nothing in `score`"


def _reward(played: Played) -> float | None:
    """Returns the policy's reward of a completed episode; None for another episode, or without a score."""
    return played.score.reward if played.status == "completed" and played.score is not None else None


def _rewards(played: Played) -> list[tuple[str, float]]:
    """Returns the rewards of a completed episode: a text and the reward, for the policy and then for each other
    participant. The text is empty for the policy, else ` for NAME`. The list is empty without a score.
    """
    if _reward(played) is None or played.score is None:
        return []
    return [("", played.score.reward), *((f" for {name}", reward) for name, reward in played.score.others.items())]
