"""Decides what happens to a group (the episodes of one task) when all its episodes are over."""

from __future__ import annotations

from collections.abc import Sequence

from ray_gym.config.sections import GroupsSection
from ray_gym.errors import Failure
from ray_gym.play.play import Played

GROUP = "group"
"""Prefix of the cause of a new try that a failed episode gets because its group waits for it."""


def to_play_again(group: Sequence[Played], rule: GroupsSection) -> list[Played]:
    """Returns the failed episodes of a group that get a new try; none unless `rule.incomplete` is "wait", and none if the
    group has enough completed ones.

    An episode gets one if its failure is of kind infra, user or judge, and it has had fewer than `rule.extra_tries`
    such tries.
    """
    if rule.incomplete != "wait" or sum(one.status == "completed" for one in group) >= needed_of(group, rule):
        return []
    return [
        one
        for one in group
        if one.failure
        and one.status == "failed"
        and one.failure.kind in ("infra", "user", "judge")
        and sum(cause.startswith(GROUP) for cause in one.causes.values()) < rule.extra_tries
    ]


def needed_of(group: Sequence[Played], rule: GroupsSection) -> int:
    """Returns the number of completed episodes that make a group; the others are `rule.extra`."""
    return len(group) - min(rule.extra, len(group) - 1)


def settle(group: Sequence[Played], rule: GroupsSection) -> None:
    """Records the group's size, and its number of completed episodes, in each episode, and decides whether the group is
    dropped. The size is the number of episodes that it needs; those beyond (`rule.extra`) stand in for failed ones.

    It is dropped if an episode failed, and either `rule.incomplete` is "drop" or fewer than `rule.minimum` episodes
    completed. Then each completed episode gets the status "dropped", and a failure that tells of the first failed
    episode.
    """
    completed = [one for one in group if one.status == "completed"]
    lost = [one.failure for one in group if one.status == "failed" and one.failure]
    needed = needed_of(group, rule)
    for one in group:
        one.group_size, one.group_completed = needed, len(completed)
    if (
        not lost
        or len(completed) == needed < len(group)
        or (rule.incomplete != "drop" and len(completed) >= rule.minimum)
    ):
        return
    why = f"{len(lost)} of {len(group)} episodes failed, the first in {lost[0].where}: {lost[0].message}"
    for one in completed:
        one.status = "dropped"
        one.failure = Failure(lost[0].kind, "group", why)
