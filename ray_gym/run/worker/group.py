"""Decides what happens to a group when all its episodes are over."""

from __future__ import annotations

from collections.abc import Sequence

from ray_gym.config.sections import GroupsSection
from ray_gym.errors import Failure
from ray_gym.play.play import Played

GROUP = "group"
"""Prefix of the cause of a try that was made because of the group."""


def to_play_again(group: Sequence[Played], rule: GroupsSection) -> list[Played]:
    """Returns the failed episodes that are played again.

    These are episodes of a group that waits, that failed by infrastructure, a user or a judge, and have extra tries
    left.
    """
    if rule.incomplete != "wait":
        return []
    return [
        one
        for one in group
        if one.failure
        and one.status == "failed"
        and one.failure.kind in ("infra", "user", "judge")
        and sum(cause.startswith(GROUP) for cause in one.causes.values()) < rule.extra_tries
    ]


def settle(group: Sequence[Played], rule: GroupsSection) -> None:
    """Releases a group, or drops it: then its completed episodes are marked as dropped. Also records the group's sizes
    in each episode.
    """
    completed = [one for one in group if one.status == "completed"]
    lost = [one.failure for one in group if one.status == "failed" and one.failure]
    for one in group:
        one.group_size, one.group_completed = len(group), len(completed)
    if not lost or (rule.incomplete != "drop" and len(completed) >= rule.minimum):
        return
    why = f"{len(lost)} of {len(group)} episodes failed, the first in {lost[0].where}: {lost[0].message}"
    for one in completed:
        one.status = "dropped"
        one.failure = Failure(lost[0].kind, "group", why)
