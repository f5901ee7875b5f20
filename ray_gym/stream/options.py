"""Defines the options of a stream, which are checked against the stream's config."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from ray_gym.config.sections import RunConfig
from ray_gym.errors import UserError
from ray_gym.models.versions import Versions
from ray_gym.stream.group import FinishedGroup
from ray_gym.stream.window import Window


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """Holds the options that a trainer gives its stream."""

    max_staleness: int | None = None
    """Most versions by which a group's tokens may be older than the weights.

    Older groups are dropped. None: no limit.
    """
    groups_per_version: int | None = None
    """Number of groups that the trainer takes for each update of the weights.

    It bounds how many groups begin ahead of the trainer (see `ray_gym.stream.window`), so that hardly any gets too old.
    It needs `max_staleness`. None: there is no such bound.
    """
    min_group_size: int = 1
    """Least number of completed episodes of a group. Smaller groups are dropped."""
    max_open_groups: int | None = None
    """Most groups that are begun and not acknowledged yet.

    None: twice the number of groups that are played at once, and at least twice `groups_per_version`, or twice
    `world_size` without that.
    """
    epochs: int | None = None
    """Number of epochs over the config's `tasks`; None: the stream has no end."""
    stale: Literal["drop", "withhold"] = "drop"
    """Says what happens to a group with tokens that are older than `max_staleness`. drop: it is not delivered; withhold: it
    is, and these tokens have a loss mask of 0 in `Group.samples`."""
    max_barren_groups: int | None = 100
    """Most groups in a row without a trainable sample, after which the stream fails and says why; None: no limit. Where
    the trained models give no token ids, groups without a completed episode count."""
    world_size: int = 1
    """Number of ranks that share the stream. `groups_per_version` and `max_open_groups` count the groups of all."""
    wait_s: float | None = None
    """Seconds to wait for GPUs that the cluster does not have yet, and for a first worker's CPUs, which others hold; None:
    `open_stream` fails without GPUs, and the stream if no worker has started within 20 s as none is free."""

    def check(self, config: RunConfig) -> None:
        """Checks the options, also against the config. Errors: UserError for a mistake in them, or in the config."""
        for name, least in (
            ("max_staleness", 0),
            ("groups_per_version", 1),
            ("min_group_size", 1),
            ("epochs", 1),
            ("max_open_groups", 1),
            ("world_size", 1),
            ("max_barren_groups", 1),
            ("wait_s", 0),
        ):
            value = getattr(self, name)
            kinds = (int, float) if name == "wait_s" else (int,)
            if value is not None and type(value) not in kinds:
                raise UserError(f"{name}: {value!r}, but it is a {'' if name == 'wait_s' else 'whole '}number")
            if value is not None and not value >= least:
                raise UserError(f"{name}: {value}, but it is at least {least}")
        repeats = config.tasks.repeats
        if repeats == 1 and config.groups.spread != "keep":
            raise UserError(
                "tasks.repeats: 1, and a group of one episode has no spread, so groups.spread leaves no group; give more repeats, "
                "or groups.spread: keep for a baseline that takes no group (ray_gym.advantages.raw_rewards)"
            )
        if self.min_group_size > repeats:
            raise UserError(
                f"min_group_size: {self.min_group_size}, but a group has tasks.repeats ({repeats}) episodes"
            )
        if self.stale not in ("drop", "withhold"):
            raise UserError(f"stale: {self.stale!r}, but it is drop or withhold")
        if self.stale == "withhold" and self.max_staleness is None:
            raise UserError("stale: tokens are withheld beyond max_staleness, so that is needed beside it")
        if self.groups_per_version is not None and self.max_staleness is None:
            raise UserError("groups_per_version: it bounds staleness, so max_staleness is needed beside it")
        for name in ("groups_per_version", "max_open_groups"):
            value = getattr(self, name)
            if value is not None and value < self.world_size:
                raise UserError(
                    f"{name}: {value}, but it counts the groups of all {self.world_size} ranks (world_size)"
                )
        least_open = self.groups_per_version or 1
        if self.max_open_groups is not None and self.max_open_groups < least_open:
            raise UserError(
                f"max_open_groups: {self.max_open_groups}, but a trainer that takes {least_open} groups an update would wait for ever"
            )
        _check_config(config)

    def max_open(self, config: RunConfig) -> int:
        """Returns how many groups may be begun and not acknowledged yet: `max_open_groups`, or its default."""
        if self.max_open_groups is not None:
            return self.max_open_groups
        at_once = math.ceil(config.fanout.concurrency / config.tasks.repeats)
        return 2 * max(at_once, self.groups_per_version or self.world_size)

    def window(self, config: RunConfig) -> Window:
        """Makes an empty window with the bounds that these options set."""
        ahead = None
        if self.max_staleness is not None and self.groups_per_version is not None:
            ahead = (self.max_staleness + 1) * self.groups_per_version
        return Window(self.max_open(config), ahead)

    def reason_to_drop(self, group: FinishedGroup, versions: Versions) -> str | None:
        """Returns the reason to drop a group, "small" or "stale"; None if a trainer whose models are at
        `versions` may get the group.
        """
        if group.completed < self.min_group_size:
            return "small"
        oldest = self.oldest_kept(versions) if self.stale == "drop" else None
        if oldest is not None and any(version < oldest[model] for model, version in group.versions.items()):
            return "stale"
        return None

    def is_too_old(self, group: FinishedGroup, versions: Versions) -> bool:
        """Says whether none of a group's tokens is new enough to be trained on by weights of `versions`."""
        oldest = self.oldest_kept(versions)
        if oldest is None or not group.newest:
            return False
        too_old = [version < oldest[model] for model, version in group.newest.items()]
        return all(too_old) or (self.stale == "drop" and self.reason_to_drop(group, versions) == "stale")

    def oldest_kept(self, versions: Versions) -> Versions | None:
        """Returns the oldest version of each model whose tokens are not stale for weights of `versions`; None: none
        are.
        """
        return None if self.max_staleness is None else versions.before(self.max_staleness)


def _check_config(config: RunConfig) -> None:
    """Checks that a stream can have what a config asks for. Errors: UserError."""
    if config.run.name is None:
        raise UserError("run.name: a stream needs one, under which its trainer comes back to it")
    if config.limits.max_cost is not None:
        raise UserError("limits.max_cost: only a run (ray-gym rollout) keeps it, and this is a stream; leave it out")
    if isinstance(config.limits.max_failed, float):
        raise UserError("limits.max_failed: a stream has no last episode to take a share of; give a number, or null")
