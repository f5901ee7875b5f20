"""Defines a trainer's options for its stream, which are checked against the stream's config."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ray_gym.config.sections import RunConfig
from ray_gym.errors import UserError
from ray_gym.stream.window import Window


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """Options of a stream, given by its trainer."""

    max_staleness: int | None = None
    """Most versions that a token of a group may be older than the weights; else the group is dropped.

    None: no limit.
    """
    groups_per_version: int | None = None
    """Number of groups that the trainer takes for each update of the weights.

    If it is given, no group is begun that would be too old in its turn."""
    min_group_size: int = 1
    """Least number of completed episodes of a group; else the group is dropped."""
    max_open_groups: int | None = None
    """Most groups that are begun and not yet acknowledged.

    None: twice the number that is played at once, and two updates' worth at least."""
    epochs: int | None = None
    """Number of epochs over `tasks`; None: no end."""
    wait_s: float | None = None
    """Seconds to wait for GPUs that the cluster does not have yet; None: the stream is refused without them."""

    def check(self, config: RunConfig) -> None:
        """Checks the options by themselves and against the config. Errors: UserError."""
        for name, least in (
            ("max_staleness", 0),
            ("groups_per_version", 1),
            ("min_group_size", 1),
            ("epochs", 1),
            ("wait_s", 0),
        ):
            value = getattr(self, name)
            if value is not None and value < least:
                raise UserError(f"{name}: {value}, but it is at least {least}")
        repeats = config.tasks.repeats
        if self.min_group_size > repeats:
            raise UserError(
                f"min_group_size: {self.min_group_size}, but a group has tasks.repeats ({repeats}) episodes"
            )
        if self.groups_per_version is not None and self.max_staleness is None:
            raise UserError("groups_per_version: it bounds staleness, so max_staleness is needed beside it")
        least_open = self.groups_per_version or 1
        if self.max_open_groups is not None and self.max_open_groups < least_open:
            raise UserError(
                f"max_open_groups: {self.max_open_groups}, but a trainer that takes {least_open} groups an update would wait for ever"
            )
        if config.run.name is None:
            raise UserError("run.name: a stream needs one, under which its trainer comes back to it")
        if isinstance(config.limits.max_failed, float):
            raise UserError(
                "limits.max_failed: a stream has no last episode to take a share of; give a number, or null"
            )

    def max_open(self, config: RunConfig) -> int:
        if self.max_open_groups is not None:
            return self.max_open_groups
        return max(2 * math.ceil(config.fanout.concurrency / config.tasks.repeats), 2 * (self.groups_per_version or 1))

    def window(self, config: RunConfig) -> Window:
        ahead = None
        if self.max_staleness is not None and self.groups_per_version is not None:
            ahead = (self.max_staleness + 1) * self.groups_per_version
        return Window(self.max_open(config), ahead)

    def wrong_with(self, completed: int, oldest: int | None, version: int) -> str | None:
        """Returns the reason why a trainer at `version` must not get a group: "small", "stale", or None if it may.

        `completed` is the group's number of completed episodes, and `oldest` the oldest version of its tokens.
        """
        if completed < self.min_group_size:
            return "small"
        if self.max_staleness is not None and oldest is not None and version - oldest > self.max_staleness:
            return "stale"
        return None
