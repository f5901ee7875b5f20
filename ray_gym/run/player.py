"""Plays leases: every episode to its end, whatever becomes of its tries. Knows neither Ray nor files of rows."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, replace

from ray_gym.backoff import pause_s
from ray_gym.config import GroupsSection, RetriesSection
from ray_gym.errors import Failure, FailureKind, describe
from ray_gym.journal.call_log import CallLog
from ray_gym.journal.history import SCORING, History, HistoryReader
from ray_gym.journal.journal import Journal
from ray_gym.journal.records import Begun, Intended, Over, Record
from ray_gym.play import Played, Stage, bare_episode, failed, play, score_group
from ray_gym.run.group import settle, to_play_again
from ray_gym.run.lease import Lease
from ray_gym.spec import EpisodeSpec

NONDETERMINISM = "nondeterminism"


@dataclass(frozen=True, slots=True)
class Player:
    stage: Stage
    groups: GroupsSection
    journal: Journal | None
    histories: HistoryReader | None

    async def play(self, lease: Lease) -> Played:
        """The episode's last try. Never raises, cancellation apart."""
        if lease.charged is not None:
            return self.lost(lease, lease.charged, "worker")
        try:
            return await self._play(lease)
        except Exception as error:
            return self.lost(lease, describe(error))

    def lost(self, lease: Lease, why: str, where: str = "episode") -> Played:
        """An episode of which there is nothing to show."""
        return failed(bare_episode(lease.spec, self.stage), Failure(FailureKind.ENVIRONMENT, where, why))

    async def close_group(self, group: list[Played]) -> list[Played]:
        """All are over: those that failed may be played again, the whole is scored where the environment does that, and settled."""
        for _ in range(self.groups.extra_tries):
            again = to_play_again(group, self.groups)
            if not again:
                break
            fresh = await asyncio.gather(*(self._play_again(one) for one in again))
            group = [one for one in group if one not in again] + list(fresh)
        if self.stage.environment.scores_groups():
            group.sort(key=lambda one: one.episode.spec.repeat)
            for spec in (one.episode.spec for one in group):
                self._record(Intended(spec.episode_id, spec.try_, spec.attempt, SCORING, 0))
            await score_group(group, self.stage)
            for spec in (one.episode.spec for one in group):
                self._record(Over(spec.episode_id, spec.attempt))
        settle(group, self.groups)
        return group

    async def _play(self, lease: Lease) -> Played:
        spec = lease.spec
        history = History()
        if lease.adopted and self.histories is not None:
            history = await asyncio.to_thread(self.histories.read, spec.episode_id, lease.adopted)
        spec = replace(spec, try_=history.try_)
        self._record(Begun(spec.episode_id, spec.try_, spec.attempt, history.started_at or time.time(), lease.adopted))
        return await self._tries(spec, history)

    async def _play_again(self, before: Played) -> Played:
        cause = f"group: {before.failure.where}: {before.failure.message}" if before.failure else "group"
        spec = before.episode.spec
        return await self._tries(*self._new_try(spec, before.causes, cause))

    async def _tries(self, spec: EpisodeSpec, history: History) -> Played:
        while True:
            log = CallLog(
                spec.episode_id,
                spec.try_,
                spec.attempt,
                self.journal,
                history,
                patience_s=self.stage.limits.tool_deadline_s + 5,
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
        history = History(spec.try_, time.time(), {**causes, spec.try_: cause})
        self._record(Begun(spec.episode_id, spec.try_, spec.attempt, time.time(), cause=cause))
        return spec, history

    def _record(self, record: Record) -> None:
        if self.journal is not None:
            self.journal.append(record)


def _worth_another_try(played: Played, retries: RetriesSection) -> str | None:
    """Why the episode is to be played again from its start; None if it is over."""
    failure = played.failure
    if failure is None or played.status != "failed":
        return None
    kind = NONDETERMINISM if played.diverged else failure.kind.value
    budget = {NONDETERMINISM: retries.nondeterminism, "user": retries.user, "judge": retries.judge}
    budget["environment"] = retries.environment
    used = sum(cause.startswith(f"{kind}:") for cause in played.causes.values())
    return f"{kind}: {failure.where}: {failure.message}" if used < budget.get(kind, 0) else None
