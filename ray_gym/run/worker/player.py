"""Plays the leases of a worker: plays failed episodes again, and scores groups. It uses neither Ray nor files of
rows.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ray_gym.aio.backoff import pause_s
from ray_gym.config.sections import GroupsSection, RetriesSection
from ray_gym.episode.episode import Episode
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.episode.stage import Stage
from ray_gym.errors import EpisodeFailure, Failure, FailureKind, describe
from ray_gym.journal.call_log import CallLog
from ray_gym.journal.history import SCORING, History, HistoryReader
from ray_gym.journal.journal import Journal
from ray_gym.journal.records import Begun, EpisodeRecord, Intended, Over
from ray_gym.logs import speak_of
from ray_gym.play.play import Played, bare_episode, fail_episode, finish_played, play, score_group
from ray_gym.printable import cut
from ray_gym.run.lease import Lease
from ray_gym.run.worker.gathering import cut_off
from ray_gym.run.worker.group import GROUP, settle, to_play_again

logger = logging.getLogger(__name__)

NONDETERMINISM = "nondeterminism"
"""Prefix of the cause of a try that was made because a replay diverged."""


@dataclass(frozen=True, slots=True)
class LeasePlayer:
    """Plays leased episodes, with new tries after failures, and closes their groups."""

    stage: Stage
    """Environment, participants, models and limits of all episodes."""
    groups: GroupsSection
    """Rules for groups with failed episodes."""
    journal: Journal | None
    """Journal of this worker; None if the run keeps none."""
    histories: HistoryReader | None
    """Reader of older attempts' journals; None if the run keeps no journals."""

    async def play(self, lease: Lease) -> Played:
        """Plays an episode, and returns the result of its last try. The lease of a charged episode fails without being
        played.

        Errors: CancelledError. Any other Exception becomes a failed result.
        """
        if lease.charged is not None:
            return self.fail_lease(lease, lease.charged, "worker")
        try:
            return await self._play(lease)
        except EpisodeFailure as error:
            return self._fail_unplayed(lease.spec, error.failure)
        except Exception as error:
            return self.fail_lease(lease, describe(error))

    def give_up(self, lease: Lease, episode: Episode | None) -> Played:
        """Returns the result of an episode that is surplus in its group, with what was said in it until now.

        `episode`: its state; None if it was not begun.
        """
        self._record(Over(lease.spec.episode_id, lease.spec.attempt))
        return cut_off(episode or bare_episode(lease.spec, self.stage))

    def fail_lease(self, lease: Lease, why: str, where: str = "episode") -> Played:
        """Returns a failed result without events, for a lease that was not played or not to its end. Its failure is of
        kind environment, with `why` as the message and `where` as the place.
        """
        return self._fail_unplayed(lease.spec, Failure(FailureKind.ENVIRONMENT, where, why))

    def _fail_unplayed(self, spec: EpisodeSpec, failure: Failure) -> Played:
        """Returns a failed result without events, for an episode that was not played to its end."""
        return fail_episode(bare_episode(spec, self.stage), failure)

    async def close_group(self, group: list[Played]) -> list[Played]:
        """Closes a group whose episodes are all over, and returns its results.

        It plays failed episodes again as long as `groups` allows that, scores the group if the environment scores
        groups (then the results are sorted by repeat), and marks the completed episodes as dropped if `groups` says so.
        Errors: those of the journal (OSError); CancelledError.
        """
        while again := to_play_again(group, self.groups):
            group = await self._again(group, {id(one): _group_cause(one) for one in again})
        if self.stage.environment.scores_groups():
            group = await self._score_group(sorted(group, key=lambda one: one.episode.spec.repeat))
        settle(group, self.groups)
        return group

    async def _score_group(self, group: list[Played]) -> list[Played]:
        """Scores a group, and returns its results in the same order. After a failure of the judge it scores again, at
        most `retries.judge` times; after other failures, or if that was not enough, the completed episodes fail.

        Episodes whose replay diverged are played again first, as their retries allow, and the group is scored again.
        That ends, because a new try has nothing to replay.
        """
        retries, judged = self.stage.limits.retries, 0
        while True:
            self._record_all(group, lambda spec: Intended(spec.episode_id, spec.try_, spec.attempt, SCORING, 0))
            failure = await score_group(group, self.stage)
            self._record_all(group, lambda spec: Over(spec.episode_id, spec.attempt))
            whole = not any(one.episode.calls.log.diverged for one in group if one.status == "completed")
            if whole and failure is not None and failure.kind == FailureKind.JUDGE and judged < retries.judge:
                judged += 1
                _score_again(group, failure.message)
                continue
            closed = [_after_scoring(one) for one in group]
            diverged = [one for one, before in zip(closed, group, strict=True) if one is not before and one.diverged]
            if not diverged:
                return [_fail_with_group(one, failure) for one in closed] if failure else closed
            _score_again(closed, "the replay of another of its episodes diverged")
            causes = {id(one): _worth_another_try(one, retries) for one in diverged}
            group = await self._again(closed, {key: cause for key, cause in causes.items() if cause is not None})

    async def _again(self, group: list[Played], causes: Mapping[int, str]) -> list[Played]:
        """Returns the group in the same order, in which each result that has a cause is replaced by the result of a new
        try. `causes` has the causes by Python's `id` of the result.
        """

        async def one_more(one: Played) -> Played:
            cause = causes.get(id(one))
            spec = one.episode.spec
            speak_of(episode=spec.episode_id, attempt=spec.attempt)  # in a task of its own
            return one if cause is None else await self._tries(*self._new_try(spec, one.causes, cause))

        return list(await asyncio.gather(*(one_more(one) for one in group)))

    def _record_all(self, group: Sequence[Played], record: Callable[[EpisodeSpec], EpisodeRecord]) -> None:
        for one in group:
            self._record(record(one.episode.spec))

    async def _play(self, lease: Lease) -> Played:
        spec = lease.spec
        history = await self._history(lease)
        if spec.try_ != history.try_:
            spec = replace(spec, try_=history.try_)
        history.started_at = history.started_at or time.time()
        history.queued_at = None if lease.adopted else lease.queued_at
        self._record(Begun(spec.episode_id, spec.try_, spec.attempt, history.started_at, lease.adopted))
        return await self._tries(spec, history)

    async def _history(self, lease: Lease) -> History:
        """Reads the records of an episode's older attempts. If a journal is gone, or there is none, it returns an empty
        history, so that the episode starts anew. Errors: EpisodeFailure (infra) if a journal can't be read.
        """
        if not lease.adopted or self.histories is None:
            return History()
        try:
            return await asyncio.to_thread(self.histories.read, lease.spec.episode_id, lease.adopted)
        except FileNotFoundError as error:
            logger.warning("journal %s is gone; the episode starts anew", error.filename)
            return History()
        except OSError as error:
            raise EpisodeFailure(FailureKind.INFRA, "journal", describe(error)) from error

    async def _tries(self, spec: EpisodeSpec, history: History) -> Played:
        while True:
            log = CallLog(
                spec.episode_id,
                spec.try_,
                spec.attempt,
                self.journal,
                history,
                patience_s=self.stage.limits.episode_deadline_s,
            )
            played = await play(spec, self.stage, log, history.causes.get(spec.try_, ""))
            played.causes = history.causes
            cause = _worth_another_try(played, self.stage.limits.retries)
            if cause is None:
                self._record(Over(spec.episode_id, spec.attempt))
                return played
            spec, history = self._new_try(spec, history.causes, cause)
            await asyncio.sleep(pause_s(len(history.causes), first_s=0.1, longest_s=5))

    def _new_try(self, spec: EpisodeSpec, causes: dict[int, str], cause: str) -> tuple[EpisodeSpec, History]:
        spec = replace(spec, try_=spec.try_ + 1)
        logger.info("try %d of the episode: %s", spec.try_, cut(cause))
        history = History(spec.try_, now := time.time(), {**causes, spec.try_: cause})
        self._record(Begun(spec.episode_id, spec.try_, spec.attempt, now, cause=cause))
        return spec, history

    def _record(self, record: EpisodeRecord) -> None:
        if self.journal is not None:
            self.journal.append(record)


def _worth_another_try(played: Played, retries: RetriesSection) -> str | None:
    """Returns the cause of a new try as `kind: place: message`; None if the episode has not failed, or has no retries
    left for failures of its kind. Only diverged replays, and failures of the environment, a user or a judge, have
    retries.
    """
    failure = played.failure
    if failure is None or played.status != "failed":
        return None
    kind = NONDETERMINISM if played.diverged else failure.kind.value
    budget = {NONDETERMINISM: retries.nondeterminism, "user": retries.user, "judge": retries.judge}
    budget["environment"] = retries.environment
    used = sum(cause.startswith(f"{kind}:") for cause in played.causes.values())
    return f"{kind}: {failure.where}: {failure.message}" if used < budget.get(kind, 0) else None


def _after_scoring(one: Played) -> Played:
    """Returns an episode's result after its group was scored. A completed episode becomes a failed one if its replay
    diverged or its infrastructure broke; a result with another status is returned as it is.
    """
    if one.status != "completed":
        return one
    causes = one.causes
    ended = finish_played(one)
    ended.causes = causes
    return ended


def _fail_with_group(one: Played, failure: Failure) -> Played:
    """Returns a completed episode as failed, because its group could not be scored. A result with another status is
    returned as it is.
    """
    return replace(fail_episode(one.episode, failure), causes=one.causes) if one.status == "completed" else one


def _score_again(group: Sequence[Played], why: str) -> None:
    for one in group:
        if one.status == "completed":
            one.episode.score_again(f"the group is scored again: {why}")


def _group_cause(one: Played) -> str:
    return f"{GROUP}: {one.failure.where}: {one.failure.message}" if one.failure else GROUP
