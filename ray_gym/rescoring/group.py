"""Scores the episodes of a group again, after each of them was played again by its record."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Collection, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from ray_gym.config.sections import GroupsSection
from ray_gym.episode.stage import Stage
from ray_gym.errors import EpisodeFailure, Failure, FailureKind
from ray_gym.play.play import Played, bare_episode, score, score_group
from ray_gym.rescoring.live import LiveModels
from ray_gym.rescoring.recorded import RecordedEpisode
from ray_gym.rescoring.replay import NotReplayable, ReplayedEpisode, play_again
from ray_gym.run.worker.group import needed_of, settle

Result = TypeVar("Result")


class ModelsNeeded(Exception):
    """Says that a question has to be asked live, and that no models are up. The group is scored once they are."""


@dataclass(slots=True)
class Rescored:
    """Holds the new result of a recorded episode."""

    recorded: RecordedEpisode
    played: Played
    """Result; of an episode that is copied, only its status, its failure and its group count."""
    is_scored: bool = False
    """True if the episode was scored again; False if its row is copied."""

    trained: Collection[str] = ()
    """Participants whose samples may be trained on."""

    @property
    def episode(self) -> ReplayedEpisode:
        """Returns the episode that was played again. Errors: TypeError for one that is copied."""
        if not isinstance(self.played.episode, ReplayedEpisode):
            raise TypeError("a copied episode was not played again")
        return self.played.episode

    @property
    def is_as_recorded(self) -> bool:
        """Says whether the episode was not scored again, and has its recorded status."""
        return not self.is_scored and self.played.status == self.recorded.status

    def trains(self, participant: str) -> bool:
        """Says whether samples of a participant are for training, as far as the episode and the config say."""
        return self.played.status == "completed" and participant in self.trained


@dataclass(frozen=True)
class GroupScorer:
    """Scores groups of recorded episodes again."""

    stage: Stage
    """Environment, participants, models and limits; its models are those that `live` stands in for."""
    groups: GroupsSection
    """Rules for groups with failed episodes."""
    live: LiveModels
    asked_anew: Collection[str] = ()
    """Auxiliary participants whose recorded answers don't count, since they are others now."""
    only_failed: bool = False
    """True if only episodes that failed by a judge are scored again."""
    slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(64))
    """Slots of the episodes that are played or scored at once."""

    def chosen(self, group: Sequence[RecordedEpisode]) -> list[RecordedEpisode]:
        """Returns the episodes of a group that are scored again."""
        scorable = [each for each in group if each.was_played]
        if not self.only_failed:
            return scorable
        failed = [each for each in scorable if each.failed_in_scoring]
        return scorable if failed and self.stage.environment.scores_groups() else failed

    async def score(self, group: Sequence[RecordedEpisode]) -> list[Rescored]:
        """Scores a group again, and returns the new results of its episodes in their order. Those that are not scored
        again are copied.

        Errors: NotReplayable for the first episode that can't be played again; ModelsNeeded.
        """
        wanted = self.chosen(group)
        replayed = [one for one in await _all(*map(self._replay, wanted)) if one is not None]
        if not replayed:
            return [self._copied(each) for each in group]
        chosen, episodes = [one[0] for one in replayed], [one[1] for one in replayed]
        if self.stage.environment.scores_groups():
            scored = await self._score_together(chosen, episodes)
        else:
            scored = await _all(*(self._score_one(*both) for both in zip(chosen, episodes, strict=True)))
        if not self.live.are_up and any(one.episode.log.asked_live for one in scored):
            raise ModelsNeeded
        by_id = {one.recorded.name: one for one in scored}
        results = [by_id.get(each.name) or self._copied(each) for each in group]
        self._settle(results)
        return results

    async def _replay(self, recorded: RecordedEpisode) -> tuple[RecordedEpisode, ReplayedEpisode] | None:
        """Plays an episode again. Returns None for one that failed by something else than its scoring after its end: in
        `run`, say. Errors: NotReplayable.
        """
        try:
            async with self.slots:
                return recorded, await play_again(recorded, self.stage, self.asked_anew)
        except NotReplayable:
            if (
                recorded.failure is not None
                and recorded.status == "failed"
                and recorded.failure.kind != FailureKind.JUDGE
            ):
                return None
            raise

    async def _score_one(self, recorded: RecordedEpisode, episode: ReplayedEpisode) -> Rescored:
        """Scores an episode. After a judge's failure it does so again, if that may help."""
        played = Played(episode, "completed", None, recorded.own_fault)
        async with self.slots:
            for tried in itertools.count(1):
                try:
                    score_now = await score(episode)
                except EpisodeFailure as error:
                    played.failure = error.failure
                else:
                    played.score, played.failure = score_now, recorded.own_fault
                    break
                if not self._may_help(played.failure, [episode], tried):
                    break
                episode.score_again(f"the episode is scored again: {played.failure.message}")
        _fail_if_unscored(played)
        return Rescored(recorded, played, True, self._trained)

    async def _score_together(
        self, chosen: Sequence[RecordedEpisode], episodes: Sequence[ReplayedEpisode]
    ) -> list[Rescored]:
        """Scores a whole group by the environment's `score_group`. After a judge's failure it does so again, if that may
        help.
        """
        pairs = sorted(zip(chosen, episodes, strict=True), key=lambda pair: pair[0].spec.repeat)
        group = [Played(episode, "completed", None, recorded.own_fault) for recorded, episode in pairs]
        failure: Failure | None = None
        for tried in itertools.count(1):
            async with self.slots:
                failure = await score_group(group, self.stage)
            if failure is None or not self._may_help(failure, episodes, tried):
                break
            for one in group:
                one.episode.score_again(f"the group is scored again: {failure.message}")
        for one in group:
            one.failure = failure or one.failure
            _fail_if_unscored(one)
        return [Rescored(recorded, one, True, self._trained) for (recorded, _), one in zip(pairs, group, strict=True)]

    @property
    def _trained(self) -> frozenset[str]:
        return frozenset(name for name, one in self.stage.participants.items() if one.trainable)

    def _may_help(self, failure: Failure, episodes: Sequence[ReplayedEpisode], tried: int) -> bool:
        """Says whether another scoring may mend a failure: it is a judge's, and retries are left. A scoring that only
        recorded answers decided is no try; another one asks live models, which is done for `only_failed` alone.
        """
        if failure.kind != FailureKind.JUDGE:
            return False
        if any(episode.log.asked_live for episode in episodes):
            return tried <= self.stage.limits.retries.judge + self.only_failed
        return self.only_failed

    def _copied(self, recorded: RecordedEpisode) -> Rescored:
        """Returns the recorded result of an episode, which is not scored again."""
        played = Played(bare_episode(recorded.spec, self.stage), recorded.status, None, recorded.failure)
        return Rescored(recorded, _with_recorded_group(played, recorded), False, self._trained)

    def _settle(self, results: Sequence[Rescored]) -> None:
        """Decides anew whether the group is dropped, if the record has the whole group."""
        for one in results:
            _with_recorded_group(one.played, one.recorded)
        sizes = {one.recorded.row["group_size"] for one in results} - {None}
        group = [one.played for one in results]
        if sizes != {needed_of(group, self.groups)}:
            return
        for one in results:
            if one.played.status == "dropped":
                one.played.status, one.played.failure = "completed", one.recorded.own_fault
        settle(group, self.groups)


async def _all(*awaitables: Awaitable[Result]) -> list[Result]:
    """Awaits all, and returns their results in order. Errors: the first of theirs, once all have ended."""
    results = await asyncio.gather(*awaitables, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return [result for result in results if not isinstance(result, BaseException)]


def _fail_if_unscored(played: Played) -> None:
    """Turns a result without a score, or one whose judge is out of reach, into a failed one."""
    broken = played.episode.calls.broken
    if broken is not None:
        played.failure = broken.failure
    if broken is not None or played.score is None:
        played.status, played.score = "failed", None


def _with_recorded_group(played: Played, recorded: RecordedEpisode) -> Played:
    """Gives a result the recorded size of its group, and number of completed episodes."""
    size, completed = recorded.row["group_size"], recorded.row["group_completed"]
    played.group_size, played.group_completed = size, completed
    return played
