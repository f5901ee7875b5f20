"""What a trainer says of how it eats, checked against the config that it eats from."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ray_gym.config.sections import RunConfig
from ray_gym.errors import UserError
from ray_gym.stream.window import Window


@dataclass(frozen=True, slots=True)
class StreamOptions:
    max_staleness: int | None = None
    """A group of which a token is more versions old than this is dropped. None: none is too old."""
    groups_per_version: int | None = None
    """How many groups a trainer takes for each update of the weights: with it, no group is begun that would be too old in its turn."""
    min_group_size: int = 1
    """A group with fewer completed episodes than this is dropped."""
    max_open_groups: int | None = None
    """Begun and not yet acknowledged. Default: twice what is played at once, and two updates' worth at least."""
    epochs: int | None = None
    """Over `tasks`; None: for ever."""
    wait_s: float | None = None
    """For GPUs that the cluster does not have yet; None: it is refused without them."""

    def check(self, config: RunConfig) -> None:
        """Errors: UserError."""
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
        """Why a trainer at `version` is not to have a group; None if it is."""
        if completed < self.min_group_size:
            return "small"
        if self.max_staleness is not None and oldest is not None and version - oldest > self.max_staleness:
            return "stale"
        return None
